/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: data files of lines. */
#pragma once

#include "base/base.h"

/* The line at hand, for messages. */
struct lines {
  void *to; /* what the lines are read into */
  const char *path;
  unsigned line;
  struct err *e;
};

/* Reads one line that is not empty; it may be changed. */
typedef int (*lines_take)(struct lines *at, char *line);

/* -EINVAL, with the file, the line, what is wrong and the word that is. */
int lines_bad(const struct lines *at, const char *what, const char *word);

/*
 * Each line of TEXT, which is changed, without spaces at its start and without what is behind a #; those that are empty
 * then are left out. PATH is for messages.
 */
int lines_parse(const char *path, char *text, lines_take take, void *to, struct err *e) MUST_USE;

/* The same from the file at PATH; its bytes are mixed into *HASH. */
int lines_read(const char *path, lines_take take, void *to, uint64_t *hash, struct err *e) MUST_USE;

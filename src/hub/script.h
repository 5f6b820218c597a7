/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room: a program that decides. It gets each question as a line of JSON on its standard input, and answers
 * with a line: 1, y or yes for a fault, anything else for none. The line may say which question it is to: #12 yes. One
 * that chooses may read several before it answers, and always says it.
 */
#pragma once

#include "hub/hub.h"

struct hub_script {
  pid_t pid;
  int in, out;          /* its standard input and output; -1: none */
  struct text to, from; /* not written yet; not a whole line yet */
};

int script_start(struct hub_script *s, const char *command, struct err *e) MUST_USE;
void script_end(struct hub_script *s);
/* Writes what it can. 0, or -EPIPE if it reads no more. */
int script_flush(struct hub_script *s) MUST_USE;
/* Reads what there is. 0, or -EPIPE if it says no more. */
int script_read(struct hub_script *s) MUST_USE;
/* Is there something for it that it has not read yet? */
bool script_unread(const struct hub_script *s);

struct script_word {
  bool says, numbered;
  uint64_t number;
};

/* True and the next answer, if there is a whole line. */
bool script_answer(struct hub_script *s, struct script_word *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the outside world could see of a run: how it ended, what it wrote, which files it left behind. And whether two
 * runs looked the same.
 *
 * Some of that varies from run to run of the same command. What several runs without faults show is learned as a mask:
 * times, addresses and numbers that differ, the names of temporary files, the order of lines. Nothing is masked that
 * did not differ.
 */
#pragma once

#include "base/base.h"

enum observe_kind { OBSERVE_FILE, OBSERVE_FOLDER, OBSERVE_LINK, OBSERVE_OTHER, OBSERVE_DELETED };

/* A file that is not as it was before the run. */
struct observe_entry {
  const char *path;
  enum observe_kind kind;
  unsigned mode;
  uint64_t size, hash; /* of the content, or of the link's target */
  const char *head;    /* the first bytes of the content, or the link's target, NUL behind them; NULL if not known */
  size_t n_head;
  bool spare; /* nobody misses it */
};

struct observe_stream {
  const char *at; /* NUL behind it */
  size_t n;
  uint64_t more; /* so many bytes came behind these, and were not read */
};

enum { OBSERVE_OUT, OBSERVE_ERROR, OBSERVE_STREAMS };

/* All zero is a valid, empty observation; everything lives in the arena. */
struct observation {
  struct arena arena;
  int status; /* as of waitpid */
  struct observe_stream streams[OBSERVE_STREAMS];
  VEC(struct observe_entry) entries; /* sorted by path once observe_finish was called */
};

void observation_done(struct observation *o);

/* Reads what a descriptor's file holds, at most LIMIT bytes. */
int observe_stream(struct observation *o, unsigned which, int fd, size_t limit) MUST_USE;
/*
 * Adds the changes in an upper folder of an overlay over the folder AT: whiteouts are deletions. What is just as in
 * AT itself is no change. Names of which IGNORE is the start are left out; IGNORE may be NULL.
 */
int observe_layer(struct observation *o, const char *at, int fd, const char *ignore) MUST_USE;
/* The folder and all in it is spare: a cache, for what can be made again. Who cannot keep anything there goes on. */
void observe_spare(struct observation *o, const char *folder);
/* So are files in the folder itself whose names match one of these patterns of the shell. */
void observe_spare_named(struct observation *o, const char *folder, const char *const *patterns, size_t n);
void observe_finish(struct observation *o);

/* How much of a stream, of names or contents is not compared; each includes those before it. */
enum observe_level {
  OBSERVE_EXACT,
  OBSERVE_NO_ADDRESSES, /* 0x7ffe… */
  OBSERVE_NO_TEMPORARY, /* names in /tmp and the like */
  OBSERVE_NO_NUMBERS,   /* digits: times, dates, process numbers, sizes */
  OBSERVE_NO_ORDER,     /* lines are compared as a set, without numbers */
  OBSERVE_NOTHING,
};

/* What is the same of all files together whose names vary in one way; each includes those before it. */
enum observe_alike {
  ALIKE_NUMBER,
  ALIKE_KINDS, /* files, folders, links, and how many of each are empty */
  ALIKE_CONTENTS,
};

/* A file whose content varies. With all of it masked, whether it is empty is compared, unless that varies too. */
struct observe_content {
  const char *path;
  enum observe_level level;
  bool empty;
};

struct observe_mask {
  struct arena arena;
  enum observe_level streams[OBSERVE_STREAMS];
  VEC(struct observe_content) contents;
  VEC(const char *) names;    /* patterns with * of names that vary */
  VEC(uint8_t) alike;         /* of each of them, an enum observe_alike */
  bool cut[OBSERVE_STREAMS];  /* there was more than is compared */
  bool more[OBSERVE_STREAMS]; /* ... and how much of it varies */
};

void observe_mask_done(struct observe_mask *m);

/*
 * Learns from N runs of the same command what varies. 0, or -EAGAIN if they differ in more than can be told, with the
 * first difference in WHAT; also says in WHAT, a line each, what is masked.
 */
int observe_learn(const struct observation *runs, size_t n, struct observe_mask *ret, struct text *what) MUST_USE;

enum observe_difference {
  DIFFERS_STATUS = 1,
  DIFFERS_OUT = 2,
  DIFFERS_ERROR = 4,
  DIFFERS_FILES = 8,
  DIFFERS_LOSS = 16,   /* with DIFFERS_FILES: something that A left behind is not there, or has another content */
  DIFFERS_LITTER = 32, /* without DIFFERS_FILES: more in folders for temporary files, anything in caches */
  DIFFERS_MORE = 64,   /* with DIFFERS_FILES: only files that A does not have, wherever they are */
  DIFFERS_MODES = 128, /* with DIFFERS_FILES: only who may do what with files that both have */
};

/* In which ways B is not as A; the first lines of each are added to WHAT, which may be NULL. */
unsigned observe_compare(const struct observation *a, const struct observation *b, const struct observe_mask *mask,
                         struct text *what);

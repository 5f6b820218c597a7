/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault space: what can be tried. Its points are experiments, and each of them is a list of injections into one
 * test of the subject.
 *
 * Everything here is data that owns nothing: injections and their bytes live where they were made, most often in the
 * arena of a struct space, for as long as the campaign lasts.
 */
#pragma once

#include "base/base.h"

/*
 * What one injector is told to do. Only the injector reads the bytes; everybody else knows an injection by its key,
 * which is the same in every run of the same program, so that a campaign that is resumed recognizes it.
 */
struct injection {
  uint32_t injector; /* index in the campaign's list of injectors */
  uint32_t size;     /* of the bytes */
  uint64_t key;
  const void *bytes;
};

/* One run of one test with its injections, which may be none. */
struct experiment {
  uint32_t test; /* index in the subject's list of tests */
  uint32_t n;
  const struct injection *injections;
};

/* The same for two experiments with the same injections in the same order into the same test, and never 0. */
uint64_t experiment_key(const struct experiment *x);
/* The key of the experiment without its last injection. */
uint64_t experiment_prefix_key(const struct experiment *x);
/* The same, as an experiment: it shares X's injections. */
struct experiment experiment_prefix(const struct experiment *x);

/* What is known about a failing call: how its effects are to be judged. */
enum expect_trait {
  TRAIT_PASSES = 1,   /* the fault does not stay: to make it come every time would be unfair */
  TRAIT_ANSWERS = 2,  /* it says how the world is: that the program goes on in another way is no failure */
  TRAIT_LOSES = 4,    /* what was written before may be gone: that nothing changed is no comfort */
  TRAIT_RARE_END = 8, /* it looks like the end of the input, and hardly ever comes: as `quiet` */
  TRAIT_LEAVES = 16,  /* what was to be removed stays: files that are there besides are no failure */
  TRAIT_GUARDS = 32,  /* the call is about who may do what: another mode of a file is a failure */
};

/* What an injector says to the judge about an experiment. */
struct expectation {
  int error;       /* errno of the last injection; 0 if there is none */
  unsigned traits; /* enum expect_trait */
  bool quiet;      /* callers conventionally ignore this call's errors: no finding as long as no file is lost */
  bool excused;    /* ... nor then */
  bool indirect;   /* a library of a language makes the call for the program */
};

/*
 * The expectation of an experiment with one more injection. That a program goes on in another way because of what an
 * earlier injection ANSWERS excuses what that one does alone, which the experiment must not look like; it does not
 * excuse what the last one does there.
 */
struct expectation expectation_join(const struct expectation *before, const struct expectation *last);

/* A point of the space: an experiment that can be made, and what is known about it beforehand. */
struct candidate {
  struct experiment x;
  uint32_t place; /* candidates of one place, such as a call stack, tend to fail alike; from 0 */
  uint64_t site;  /* places with the same one are reached by the same instruction; 0 if that is not known */
  uint64_t time;  /* which time the place is reached: those with the same place and time differ in the fault alone */
  int weight;     /* how much speaks for it: the higher the sooner */
  struct expectation expect;
};

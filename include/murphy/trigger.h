/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers of your own for murphy scenarios.
 *
 * A trigger decides, inside of the program that is tested, whether a call of a library function fails. This header is
 * all that one needs: write a function that answers, name its class with MURPHY_TRIGGER, and build a shared object of
 * it (`cc -shared -fPIC $(pkg-config --cflags murphy) -o mine.so mine.c`). murphy looks for classes that a scenario
 * names in the shared objects of `murphy run --triggers DIR`, of the folders in MURPHY_TRIGGERS, and of the one that
 * comes with murphy. docs/triggers.md goes through it step by step.
 *
 * What a trigger may do. It runs in somebody else's program, in the middle of a call, in any thread, and also in signal
 * handlers if the program makes calls in them:
 *   - it may call anything that is safe there. Its own calls of library functions are never made to fail and never
 *     counted (those that its own libraries make are).
 *   - errno and all registers are kept by murphy. Locks are not: do not wait for one that the program may hold.
 *   - state that several threads use must be changed with atomic operations, or be thread-local.
 *   - export nothing else: names of a trigger could stand before those of the program (-fvisibility=hidden).
 *   - a crash in it ends the program; murphy says then whose it was.
 *
 * Structures only ever grow at their end. `size` says how much of one the other side knows: a field behind it is not
 * there. A class of another version is refused.
 */
#ifndef MURPHY_TRIGGER_H
#define MURPHY_TRIGGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MURPHY_TRIGGER_VERSION 1

/* An argument of the trigger in XML: <low>1024</low>. Parts of an argument are named "frame.line". */
struct murphy_trigger_arg {
  const char *name, *value;
};

/* A trigger as a scenario declares it: <trigger id="…" class="…">. There may be several of one class. */
struct murphy_trigger {
  uint32_t size;
  uint32_t n_args;
  const char *id;
  const struct murphy_trigger_arg *args;
  void *state;                 /* `state_size` bytes, 0 at first; on a cache line of their own */
  const char *problem;         /* for init to set: why it refuses; one line */
  struct murphy_trigger *next; /* murphy's */
};

/* A call that was intercepted. It and what it points to are valid until eval returns. */
struct murphy_call {
  uint32_t size;
  uint32_t n_args;      /* how many arguments the function is known to have (numargs in XML), at most 6; 0: not known */
  const char *function; /* "read": as programmers know it */
  const char *symbol;   /* "__read_chk": as it was called */
  const uint64_t *args; /* the first 6, if it has as many; whole registers: cast them to what they are */
  const void *caller;   /* return address of the call */
};

struct murphy_trigger_class {
  uint32_t size, version;
  const char *name;
  size_t state_size; /* of each trigger of this class */
  /* Once, before the program's main, and before eval. 0, or anything else to refuse: see `problem`. May be NULL. */
  int (*init)(struct murphy_trigger *t);
  /* For each call of a function that refers to the trigger: not 0 if it is to fail. */
  int (*eval)(struct murphy_trigger *t, const struct murphy_call *call);
  /* When the process exits in good order; no eval behind it. May be NULL. */
  void (*done)(struct murphy_trigger *t);
  struct murphy_trigger *triggers; /* murphy's: all of this class */
  uint32_t ended;                  /* murphy's: no eval any more */
};

/* What a class has at least: it was so long in the first version of this header. */
#define MURPHY_TRIGGER_CLASS_SIZE (offsetof(struct murphy_trigger_class, ended) + sizeof(uint32_t))

/* The argument NAME, or OTHERWISE if the scenario has none. */
static inline const char *murphy_trigger_text(const struct murphy_trigger *t, const char *name, const char *otherwise) {
  for (uint32_t i = 0; i < t->n_args; i++) {
    const char *a = t->args[i].name, *b = name;
    while (*a && *a == *b)
      a++, b++;
    if (*a == *b) return t->args[i].value;
  }
  return otherwise;
}

/* The argument NAME as a decimal number into *RET, which stays if there is none. Not 0, and says why, if it is none. */
static inline int murphy_trigger_number(struct murphy_trigger *t, const char *name, int64_t *ret) {
  const char *s = murphy_trigger_text(t, name, NULL);
  int64_t n = 0;
  int minus = s && *s == '-', digits = 0, over = 0;
  if (!s) return 0;
  for (s += minus; *s >= '0' && *s <= '9'; s++, digits++) {
    over |= __builtin_mul_overflow(n, (int64_t)10, &n);
    over |=
        minus ? __builtin_sub_overflow(n, (int64_t)(*s - '0'), &n) : __builtin_add_overflow(n, (int64_t)(*s - '0'), &n);
  }
  if (*s || !digits || over) {
    t->problem = "an argument that should be a number is none";
    return -1;
  }
  *ret = n;
  return 0;
}

/*
 * Names a class: MURPHY_TRIGGER(MyTrigger, .eval = my_eval, .state_size = sizeof(struct my_state)). Scenarios then say
 * class="MyTrigger". A shared object may have several. C++ wants the fields in the order of the structure.
 */
#define MURPHY_TRIGGER(class_name, ...)                                                                                \
  extern struct murphy_trigger_class murphy_trigger_##class_name;                                                      \
  __attribute__((destructor)) static void murphy_trigger_end_##class_name(void) {                                      \
    struct murphy_trigger_class *c = &murphy_trigger_##class_name;                                                     \
    __atomic_store_n(&c->ended, 1, __ATOMIC_RELEASE);                                                                  \
    for (struct murphy_trigger *t = c->triggers; t && c->done; t = t->next)                                            \
      c->done(t);                                                                                                      \
  }                                                                                                                    \
  __attribute__((visibility("default"))) struct murphy_trigger_class murphy_trigger_##class_name = {                   \
      .size = sizeof(struct murphy_trigger_class),                                                                     \
      .version = MURPHY_TRIGGER_VERSION,                                                                               \
      .name = #class_name,                                                                                             \
      __VA_ARGS__}

#ifdef __cplusplus
}
#endif

#endif

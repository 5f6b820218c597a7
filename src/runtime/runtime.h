/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmurphy-rt.so: what decides, inside the target, whether a call fails.
 *
 * Rules for everything in this room, because it runs at any point of somebody else's program:
 *   - memory is mapped (rt_map) at the start, and later only where programs are started or the list of modules outgrows
 *     its room; no lock is taken; no stdio. No function of others is called but the ones that a fault or a hook is
 *     about, and three that take no lock: _dl_find_object, __errno_location, the vDSO's clock. errno, random numbers
 *     and buffers of the target stay as they are.
 *   - no vector or x87 register is touched: the room is compiled for general registers only, so that arguments in the
 *     others pass through unsaved.
 *   - system calls are made raw (rt_system). On the way of an injection, where a filter may forbid them, there is none
 *     but what a rule asks for (a descriptor's kind) and, on stacks that libc has not made, rt_sigprocmask, which tells
 *     whether a page can be read; a fork's child asks once who it is.
 *   - in doubt the call is passed through. Nothing here exits or aborts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

#define RT_HIDDEN __attribute__((visibility("hidden")))
/* On the way of every question: the linker puts such code together, so that it is on few pages. */
#define RT_HOT __attribute__((hot))

/*
 * A call that reached a gate, as enter.S lays it down on the stack; start.c asserts the offsets that it knows.
 */
struct rt_call {
  uint64_t args[6];           /* rdi, rsi, rdx, rcx, r8, r9 */
  uint64_t rax;               /* al: how many vector registers a variadic call uses */
  uint64_t r10;               /* static chain */
  uint64_t rbp;               /* the caller's, untouched so far */
  uint64_t index;             /* of the function in the plan */
  uint64_t real;              /* out: where the real function is */
  uint64_t retval;            /* out: of the fault, or of the hook; for RT_THEN first in: what the real call returned */
  uint64_t rdx;               /* the second half of that */
  uint64_t number;            /* of this call of the function in this process image, from 1; 0 if not known yet */
  uint64_t rule;              /* that fired */
  uint32_t fault;             /* that was chosen */
  uint32_t order;             /* ... by this order of the area, from 1; 0: by none */
  const uint64_t *sp;         /* where the return address stands; arguments 6 and up follow it */
  uint64_t words;             /* out, for RT_THEN: how many of these can be read */
  const struct rt_term *term; /* out, for RT_ASK: what is to be asked */
  uint64_t question;          /* the rest is for enter.S, which asks: a struct rt_question, */
  uint64_t error;             /* errno */
  uint64_t told[5];           /* and a struct murphy_call */
};

/* How many words of the stack RT_THEN copies at most, and on a stack that may be a small one; enter.S knows them. */
enum { RT_SOME_WORDS = 128, RT_MANY_WORDS = 1024 };

/* What enter.S does next. */
enum rt_action {
  RT_PASS,      /* jump to the real function, all registers as they came */
  RT_RETURN,    /* return `retval` in rax */
  RT_RETURN_FP, /* return its bits in xmm0 */
  RT_THEN,      /* make the real call, then ask rt_after */
  RT_ASK,       /* ask the trigger of `term`, then go on to rt_judge_terms with what comes behind the answer */
};

static inline uint64_t rt_return_address(const struct rt_call *c) { return c->sp[0]; }

/* How calls of a function are counted; count.h says why. */
enum rt_counting {
  RT_TALLY,   /* nobody asks, but the log */
  RT_GRANTED, /* rules that only count */
  RT_ONE,     /* numbers are asked for, together with other things */
};

/* What a call must be like for its rule to hold; guard.h. */
struct rt_guard {
  uint32_t caller; /* it comes from the set caller - 1 of places; 0: from anywhere */
  uint8_t wanted;  /* how the argument compares with the number, of RT_LESS, RT_EQUAL, RT_GREATER; 0: anyhow */
  uint8_t argument;
  uint8_t shift; /* 32 if the lower half of it is meant, with its sign; else 0 */
  int64_t number;
};

/* What must be known about a function when it is called, on a cache line of its own. */
struct rt_function {
  uint64_t given; /* numbers that were given away, to calls and to threads */
  uint32_t how;   /* of enum rt_counting */
  uint32_t rule, n_rules;
  uint16_t hook;   /* of enum wire_hook */
  uint8_t shared;  /* its rules change state that rules of other functions use: it must be asked for ever */
  uint8_t guarded; /* has a guard */
  struct rt_guard guard;
  uint64_t real;               /* where the real function is; 0 if that, or the call's number, needs a closer look */
  const struct rt_plugin *ask; /* who is asked first, if that is the first thing to do; or NULL */
  const struct rt_term *terms; /* its rules in another form; or NULL: terms.h */
} __attribute__((aligned(64)));

/*
 * What belongs to a thread: its counts, one for each function (NULL if it has none yet); where it says in the area
 * which trigger it is in (not NULL if it has counts, but perhaps somebody else's by now); the question that it is in,
 * or NULL.
 */
struct rt_self {
  struct wire_allowance *mine;
  struct wire_asking *mark;
  struct rt_question *asking;
};
extern __thread struct rt_self rt_self __attribute__((tls_model("initial-exec"))) RT_HIDDEN;

/* In `rt.ready`, in this order; enter.S knows that all below RT_OFF must be started. */
enum rt_ready { RT_NEW, RT_STARTING, RT_OFF, RT_READY };

/* Everything the runtime knows; once it is ready, constant but for `busy` and what its pointers lead to. */
struct rt {
  uint32_t ready; /* of enum rt_ready; first, for enter.S */
  uint32_t busy;  /* not 0: a call needs more than its rules: RT_BUSY_* */
  struct wire_entry *entries;
  const struct wire_plan *plan; /* checked */
  struct rt_function *functions;
  const struct wire_rule *rules; /* what the plan has, as pointers */
  const uint32_t *code;
  const int64_t *numbers;
  uint64_t *slots;        /* plan->slots of them; shared by all threads */
  struct wire_area *area; /* there once it is ready */
  struct wire_shim *shim;
};
enum {
  RT_BUSY_OFF = 1,     /* not ready */
  RT_BUSY_MODULES = 2, /* a library was being opened: the list of modules may be another */
  RT_BUSY_COUNT = 4,   /* WIRE_COUNT */
  RT_BUSY_POINTS = 8,  /* WIRE_POINTS */
  RT_BUSY_EARLY = 16,  /* a fork server is wanted, and main has not been reached */
};
extern struct rt rt RT_HIDDEN;

/* An array of the plan by its span: rt_array(functions, struct wire_function)[i]. */
#define rt_array(span, type) ((const type *)((const char *)rt.plan + rt.plan->span.at))
#define rt_area_array(span, type) ((type *)((char *)rt.area + rt.area->span.at))
static inline const char *rt_text(uint32_t at) { return (const char *)rt.plan + rt.plan->text.at + at; }

/* Calls FUNCTION(A, B), code of somebody else, and keeps the vector registers that it may use. */
uint64_t rt_foreign(uint64_t function, uint64_t a, uint64_t b) RT_HIDDEN;

/* The number of this process, from 1; a fork's child gets its own when it is first asked for. */
uint32_t rt_process(void) RT_HIDDEN;

/*
 * What must not be called in the target does not compile there; unit tests, which link this too, may. The headers that
 * name such functions come first.
 */
#ifdef MURPHY_RUNTIME
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#pragma GCC poison malloc calloc realloc free alloca printf fprintf snprintf puts fopen fputs mmap munmap syscall
#pragma GCC poison exit _exit abort rand random srand getenv setenv dlsym dlopen dlerror backtrace pthread_mutex_lock
#pragma GCC poison errno strlen strcmp strcpy memcpy memset getpid gettid clock_gettime
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers about stacks that have been walked before.
 *
 * A walk from a call outwards depends on the call's return address, on where it stands, perhaps on rbp, and on the
 * words of the stack that the walk reads: return addresses, and those saved rbp by which a frame above is found. If all
 * these are what they were, so are the frames, and what was found out about them. To compare the words takes a few
 * instructions for each; to walk, some forty.
 *
 * A thread has a table of its own, for its own stack only: as long as it lives, all words of that can be read. The
 * handler of a signal may change an entry under who is reading it, which `serial` tells.
 */
#pragma once

#include "rt_walk.h"

#define RT_MEMO_WORDS 44
#define RT_MEMOS 64
#define RT_MEMO_CHAINS 64
#define RT_MEMO_SHIFT 58 /* a hash's bits above are its chain */
#define RT_MEMO_TRIES 8
#define RT_MEMO_CANDIDATES 64
#define RT_MEMO_LAST 4 /* candidates of one place: who asks in turns would drive each other out of a single one */

struct rt_memo_word {
  const uint64_t *at;
  uint64_t value;
};

struct rt_memo {
  uint64_t key;                  /* where the return address stands, and above bit 48 what was asked; 0: none */
  uint64_t pc;                   /* the return address */
  uint64_t rbp, rbp_mask;        /* the caller's; the mask is 0 if it does not matter */
  const struct rt_modules *list; /* of which all this is true */
  uint64_t version;
  uint32_t serial; /* odd while it is being written */
  uint16_t n;      /* a multiple of 4 */
  bool answer;
  uint8_t next; /* in its chain: index plus 1; 0: none */
  struct rt_memo_word words[RT_MEMO_WORDS];
} __attribute__((aligned(64)));

/*
 * Entries are taken in order, so that few of them are on few pages. A chain may be torn by a handler: then something is
 * not found.
 */
struct rt_memos {
  struct rt_memo at[RT_MEMOS];
  uint8_t chains[RT_MEMO_CHAINS]; /* the first of each: index plus 1 */
  uint32_t used, chance;
  /* Hashes of what was asked before and is not kept: it is when it is asked again. */
  uint32_t candidates[RT_MEMO_CANDIDATES][RT_MEMO_LAST];
};

/* The words that a walk has read so far. */
struct rt_record {
  unsigned n; /* more than RT_MEMO_WORDS: cannot be kept */
  bool rbp_matters;
  const uint64_t *rbp_at; /* where the frame's rbp was read and has not mattered yet; NULL: it is the caller's still */
  bool rbp_noted;
  struct rt_memo_word words[RT_MEMO_WORDS];
};

/* Once, when the plan is there. */
void rt_memo_start(void) RT_HIDDEN;
/* Is the stack of C, about which WHAT was asked, worth to be kept? */
bool rt_memo_worth(const struct rt_call *c, uint32_t what) RT_HIDDEN;
/* A walk has gone from a frame with STEP and RBP to one with SP and PC, or, if not UP, has ended there. */
void rt_memo_step(struct rt_record *r, uint64_t step, uint64_t rbp, uint64_t sp, uint64_t pc, bool up) RT_HIDDEN;
/* The ANSWER to WHAT, found by a walk that has read R in the list of modules LIST. */
void rt_memo_keep(const struct rt_call *c, uint32_t what, struct rt_record *r, const struct rt_modules *list,
                  uint64_t version, bool answer) RT_HIDDEN;

/* The thread's; NULL if it has none. */
extern __thread struct rt_memos *rt_memos __attribute__((tls_model("initial-exec"))) RT_HIDDEN;

static inline uint64_t rt_memo_key(const struct rt_call *c, uint32_t what) {
  return (uint64_t)c->sp | (uint64_t)what << 48;
}
static inline uint64_t rt_memo_hash(uint64_t key, uint64_t pc) { return (key ^ pc << 17) * 0x9e3779b97f4a7c15u; }

/* How the words differ from what they were; 0: not at all. */
RT_RAW_INLINE uint64_t rt_memo_differs(const struct rt_memo *m, const struct rt_call *c) {
  uint64_t differs = (m->rbp ^ c->rbp) & m->rbp_mask;
  for (const struct rt_memo_word *w = m->words, *end = w + m->n; w < end; w += 4)
    differs |= (*w[0].at ^ w[0].value) | (*w[1].at ^ w[1].value) | (*w[2].at ^ w[2].value) | (*w[3].at ^ w[3].value);
  return differs;
}

/* The ANSWER of M, which had SERIAL before its key and address were found to be those of C, if it still is one. */
RT_RAW_INLINE bool rt_memo_holds(const struct rt_memo *m, const struct rt_call *c, uint32_t serial, int *ret_answer) {
  const struct rt_modules *list = rt_modules_now();
  if (serial & 1 || m->list != list || m->version != rt_load(&list->version)) return false;
  uint64_t differs = rt_memo_differs(m, c);
  *ret_answer = m->answer;
  __atomic_signal_fence(__ATOMIC_SEQ_CST); /* all that comes first */
  return differs == 0 && rt_load(&m->serial) == serial;
}

/* What is known to be the answer to WHAT; -1 if nothing is. One call may be made below several stacks. */
RT_RAW_INLINE int rt_memo_find(const struct rt_call *c, uint32_t what) {
  const struct rt_memos *all = rt_memos;
  if (__builtin_expect(!all, 0)) return -1;
  uint64_t key = rt_memo_key(c, what), pc = c->sp[0];
  unsigned i = all->chains[rt_memo_hash(key, pc) >> RT_MEMO_SHIFT];
  for (int tries = RT_MEMO_TRIES, answer; i > 0 && tries > 0; tries--) {
    const struct rt_memo *m = &all->at[i - 1];
    uint32_t serial = rt_load(&m->serial);
    if (m->key == key && m->pc == pc && rt_memo_holds(m, c, serial, &answer)) return answer;
    i = m->next;
  }
  return -1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about stacks that have been walked before: how they come into the table. */
#include "memo.h"

#include "bounds.h"

#define THREADS 128  /* that have a table */
#define WHATS 0xffff /* questions that a key has room for */

__thread struct rt_memos *rt_memos __attribute__((tls_model("initial-exec")));

static struct rt_memos *tables;
static uint64_t owners[THREADS]; /* thread pointers; a later thread may have the same */

void rt_memo_start(void) {
  if (!tables && rt.plan->patterns.n > 0) tables = rt_map(THREADS * sizeof *tables);
}

/*
 * What is in the table of a thread that has ended is about a stack that may be gone. Cleared by words: a handler that
 * comes in between finds the table not there yet, and takes it itself.
 */
static struct rt_memos *take(struct rt_memos *t) {
  for (unsigned i = 0; i < RT_MEMO_CHAINS; i++)
    t->chains[i] = 0;
  for (unsigned i = 0; i < t->used && i < RT_MEMOS; i++)
    t->at[i].serial = 0;
  t->used = 0;
  return rt_memos = t;
}

static __attribute__((noinline)) struct rt_memos *find_table(void) {
  uint64_t self = rt_thread_pointer();
  unsigned first = (unsigned)(self * 0x9e3779b97f4a7c15u >> 40);
  for (unsigned k = 0; k < THREADS; k++) {
    uint64_t *owner = &owners[(first + k) % THREADS], found = rt_load(owner);
    if (found == self || (found == 0 && rt_swap_if(owner, &found, self))) return take(&tables[owner - owners]);
  }
  return NULL;
}

/* Who asks for the first time is not kept: most of them never come again, and it would take memory. */
RT_RAW bool rt_memo_worth(const struct rt_call *c, uint32_t what) {
  struct rt_memos *all = rt_memos;
  if (!tables || what > WHATS || (!all && !(all = find_table()))) return false;
  if (rt_bounds_of((uint64_t)(c->sp + 1)).high == 0) return false;
  uint64_t hash = rt_memo_hash(rt_memo_key(c, what), c->sp[0]); /* WHAT is in the upper bits alone */
  uint32_t *last = all->candidates[(hash >> 48) % RT_MEMO_CANDIDATES], self = (uint32_t)(hash >> 32);
  for (unsigned i = 0; i < RT_MEMO_LAST; i++)
    if (last[i] == self) return true;
  for (unsigned i = RT_MEMO_LAST - 1; i > 0; i--)
    last[i] = last[i - 1];
  last[0] = self;
  return false;
}

static void note(struct rt_record *r, const uint64_t *at, uint64_t value) {
  if (r->n < RT_MEMO_WORDS) r->words[r->n] = (struct rt_memo_word){at, value};
  r->n++;
}

/* A frame is found by RBP: that must be the same. */
static void rbp_matters(struct rt_record *r, uint64_t rbp) {
  if (r->rbp_noted) return;
  if (r->rbp_at)
    note(r, r->rbp_at, rbp);
  else
    r->rbp_matters = true;
  r->rbp_noted = true;
}

/* Other kinds of steps read more, or depend on more; a walk that ends other than in the outermost frame does, too. */
void rt_memo_step(struct rt_record *r, uint64_t step, uint64_t rbp, uint64_t sp, uint64_t pc, bool up) {
  uint64_t kind = STEP_KIND(step), back = (step >> STEP_RBP_AT & 0xfff) * 8;
  if (kind == STEP_END) return;
  if (!up || (kind != STEP_RSP && kind != STEP_RBP && kind != STEP_FRAME)) {
    r->n = RT_MEMO_WORDS + 1;
    return;
  }
  if (kind != STEP_RSP) rbp_matters(r, rbp);
  if (kind == STEP_FRAME) back = 16;
  note(r, (const uint64_t *)sp - 1, pc + 1);
  if (back == 0) return;
  r->rbp_at = (const uint64_t *)(sp - back);
  r->rbp_noted = false;
}

/* Takes entry I out of the chain of HASH. */
static void unlink_memo(struct rt_memos *all, uint64_t hash, unsigned i) {
  uint8_t *from = &all->chains[hash >> RT_MEMO_SHIFT];
  for (unsigned tries = RT_MEMO_TRIES; *from != 0 && *from != i + 1 && tries > 0; tries--)
    from = &all->at[*from - 1].next;
  if (*from == i + 1) *from = all->at[i].next;
}

/*
 * The entry to be written: a new one; or, when there are none, any: in a fixed order, a few too many would all give
 * way.
 */
static unsigned place_for(struct rt_memos *all) {
  if (all->used < RT_MEMOS) return all->used++;
  all->chance = all->chance * 1664525 + 1013904223;
  return (all->chance >> 16) % RT_MEMOS;
}

/* An entry that somebody was writing when a signal came is left to him, and for ever if the handler has jumped away. */
RT_RAW void rt_memo_keep(const struct rt_call *c, uint32_t what, struct rt_record *r, const struct rt_modules *list,
                         uint64_t version, bool answer) {
  struct rt_memos *all = rt_memos;
  if (!all || r->n > RT_MEMO_WORDS) return;
  uint64_t key = rt_memo_key(c, what), hash = rt_memo_hash(key, c->sp[0]);
  unsigned place = place_for(all);
  struct rt_memo *m = &all->at[place];
  uint32_t serial = rt_load(&m->serial);
  if (serial & 1 || !rt_swap_if(&m->serial, &serial, serial + 1)) return;
  unlink_memo(all, rt_memo_hash(m->key, m->pc), place);
  /* Up to a multiple of 4 by a word that can always be read. */
  while (r->n % 4 != 0)
    note(r, c->sp, c->sp[0]);
  for (unsigned i = 0; i < r->n; i++)
    m->words[i] = r->words[i];
  m->key = key;
  m->pc = c->sp[0];
  m->rbp = c->rbp;
  m->rbp_mask = r->rbp_matters ? ~0ull : 0;
  m->list = list;
  m->version = version;
  m->n = (uint16_t)r->n;
  m->answer = answer;
  rt_store(&m->serial, serial + 2);
  uint8_t *chain = &all->chains[hash >> RT_MEMO_SHIFT];
  m->next = *chain;
  *chain = (uint8_t)(place + 1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions, as automata that look at each byte once.
 *
 *   alternatives = sequence { "|" sequence }
 *   sequence     = { piece { "*" | "+" | "?" | "{" least [ "," [ most ] ] "}" } }
 *   piece        = "(" alternatives ")" | "[" set "]" | "." | "\" character | character | "^" | "$"
 *
 * The expression is looked for anywhere in the text; ^ and $ are its start and end. First a graph is made whose edges
 * without a byte are free (Thompson); then sets of its nodes become the states of the automaton. Bytes that no set of
 * the expression tells apart are one class.
 */
#include "scenario/model.h"

#include <errno.h>
#include <string.h>

#define NODES_MAX 4000
#define REPEATS_MAX 255 /* POSIX: RE_DUP_MAX */
#define STATES_MAX 1000
#define DEPTH_MAX 50
#define WORDS ((NODES_MAX + 63) / 64)

struct bytes {
  uint64_t bits[4];
};

static bool has(const struct bytes *b, unsigned c) { return b->bits[c / 64] >> (c % 64) & 1; }
static void put(struct bytes *b, unsigned c) { b->bits[c / 64] |= 1ull << (c % 64); }

enum node_kind { NODE_FREE, NODE_BYTE, NODE_START, NODE_END, NODE_DONE };

struct node {
  uint8_t kind;
  int16_t out[2]; /* -1: none */
  struct bytes bytes;
};

struct set {
  uint64_t bits[WORDS];
};

struct regex {
  const char *pattern;
  size_t at;
  unsigned depth;
  struct node *nodes;
  int n;
  const char *why;
};

/* A piece of the graph: where it starts, and the free node at which it ends. */
struct piece {
  int first, last;
};

static int fail(struct regex *r, const char *why) {
  r->why = why;
  return -EINVAL;
}

static int add(struct regex *r, enum node_kind kind, int a, int b) {
  if (r->n == NODES_MAX) return fail(r, "this regular expression is too long (write several rules)");
  r->nodes[r->n] = (struct node){.kind = (uint8_t)kind, .out = {(int16_t)a, (int16_t)b}};
  return r->n++;
}

/* A node of KIND with a free one behind it. */
static int add_piece(struct regex *r, enum node_kind kind, struct bytes bytes, struct piece *ret) {
  int last = add(r, NODE_FREE, -1, -1), first = last < 0 ? last : add(r, kind, last, -1);
  if (first < 0) return first;
  r->nodes[first].bytes = bytes;
  *ret = (struct piece){first, last};
  return 0;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int read_alternatives(struct regex *r, struct piece *ret);

/* Names of classes that there are not must not be taken for sets of their letters. */
static bool is_class(const struct regex *r) { return r->pattern[r->at] == '[' && r->pattern[r->at + 1] == ':'; }

static bool read_class(struct regex *r, struct bytes *to) {
  size_t n = 0;
  const char *ranges = wire_class(r->pattern + r->at, &n);
  for (const char *s = ranges; s && *s; s += 2)
    for (unsigned c = (unsigned char)s[0]; c <= (unsigned char)s[1]; c++)
      put(to, c);
  r->at += n;
  return ranges;
}

/* A character of a set: itself, or as [.x.] or [=x=]. */
static int read_element(struct regex *r, unsigned *ret) {
  const char *p = r->pattern + r->at;
  bool named = p[0] == '[' && (p[1] == '.' || p[1] == '=');
  if (named && (!p[2] || p[3] != p[1] || p[4] != ']'))
    return fail(r, "this names no single character (write it as it is)");
  *ret = (unsigned char)(named ? p[2] : p[0]);
  r->at += named ? 5 : 1;
  return 0;
}

static int read_range(struct regex *r, struct bytes *to) {
  unsigned low, high;
  size_t start = r->at;
  int e = read_element(r, &low);
  if (e < 0) return e;
  high = low;
  const char *p = r->pattern + r->at;
  if (p[0] == '-' && p[1] && p[1] != ']') {
    r->at++;
    e = read_element(r, &high);
  }
  if (e < 0) return e;
  if (high < low) {
    r->at = start;
    return fail(r, "this range is empty (write the smaller one first)");
  }
  for (unsigned c = low; c <= high; c++)
    put(to, c);
  return 0;
}

static int read_set(struct regex *r, struct bytes *ret) {
  const char *p = r->pattern;
  struct bytes in = {{0}};
  size_t start = r->at;
  bool not = p[++r->at] == '^';
  r->at += not ;
  for (size_t first = r->at; p[r->at] && (p[r->at] != ']' || r->at == first);) {
    if (read_class(r, &in)) continue;
    if (is_class(r)) return fail(r, no_such_class);
    int e = read_range(r, &in);
    if (e < 0) return e;
  }
  if (!p[r->at]) {
    r->at = start;
    return fail(r, "this set has no end (write ] behind it, or \\\\[ for the character)");
  }
  r->at++;
  for (unsigned i = 0; i < 4; i++)
    ret->bits[i] = not ? ~in.bits[i] : in.bits[i];
  return 0;
}

static int read_group(struct regex *r, struct piece *ret) {
  size_t start = r->at++;
  if (++r->depth > DEPTH_MAX) return fail(r, "this regular expression is nested too deeply");
  int e = read_alternatives(r, ret);
  r->depth--;
  if (e < 0) return e;
  if (r->pattern[r->at] != ')') {
    r->at = start;
    return fail(r, "this group has no end (write ) behind it, or \\\\( for the character)");
  }
  r->at++;
  return 0;
}

/* Such have meanings behind a backslash that differ from tool to tool. */
static bool is_special(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr("<>`'", c));
}

static int read_piece(struct regex *r, struct piece *ret) {
  struct bytes bytes = {{0}};
  char c = r->pattern[r->at];
  if (c == '(') return read_group(r, ret);
  if (c == '*' || c == '+' || c == '?' || c == '{')
    return fail(r, "there is nothing to repeat (write .*, or \\\\* for the character)");
  if (c == '^' || c == '$') {
    r->at++;
    return add_piece(r, c == '^' ? NODE_START : NODE_END, bytes, ret);
  }
  if (c == '[') {
    int e = read_set(r, &bytes);
    return e < 0 ? e : add_piece(r, NODE_BYTE, bytes, ret);
  }
  bool escaped = c == '\\' && r->pattern[r->at + 1];
  if (escaped && is_special(r->pattern[r->at + 1]))
    return fail(r, "this is not known in a regular expression (write a set: [a-z], [[:digit:]])");
  if (escaped) c = r->pattern[++r->at];
  r->at++;
  if (c == '.' && !escaped)
    memset(&bytes, 0xff, sizeof bytes);
  else
    put(&bytes, (unsigned char)c);
  return add_piece(r, NODE_BYTE, bytes, ret);
}

static int repeat(struct regex *r, struct piece *p, char how) {
  int last = add(r, NODE_FREE, -1, -1), first = last < 0 ? last : add(r, NODE_FREE, p->first, how == '+' ? -1 : last);
  if (first < 0) return first;
  r->nodes[p->last].out[0] = (int16_t)last;
  if (how != '?') r->nodes[p->last].out[1] = (int16_t)p->first;
  *p = (struct piece){first, last};
  return 0;
}

/* The same again: all nodes from LO up to HI are its own. */
static int copy_piece(struct regex *r, int lo, int hi, struct piece p, struct piece *ret) {
  int shift = r->n - lo;
  for (int i = lo; i < hi; i++) {
    const struct node from = r->nodes[i];
    int made = add(r, (enum node_kind)from.kind, from.out[0] < 0 ? -1 : from.out[0] + shift,
                   from.out[1] < 0 ? -1 : from.out[1] + shift);
    if (made < 0) return made;
    r->nodes[made].bytes = from.bytes;
  }
  *ret = (struct piece){p.first + shift, p.last + shift};
  return 0;
}

/* The digits that stand here; -1 if there are none. */
static int read_count(struct regex *r) {
  int n = -1;
  for (char c; (c = r->pattern[r->at]) >= '0' && c <= '9' && n <= REPEATS_MAX; r->at++)
    n = (n < 0 ? 0 : n) * 10 + (c - '0');
  return n;
}

/* {LEAST,MOST}; *MOST is -1 if there is no limit. */
static int read_bounds(struct regex *r, int *least, int *most) {
  size_t start = r->at++;
  *least = *most = read_count(r);
  if (r->pattern[r->at] == ',') {
    r->at++;
    *most = read_count(r);
  }
  bool ended = r->pattern[r->at] == '}' && *least >= 0;
  bool large = *least > REPEATS_MAX || *most > REPEATS_MAX, empty = *most >= 0 && *most < *least;
  if (ended && !large && !empty) {
    r->at++;
    return 0;
  }
  r->at = start;
  return fail(r, large ? "there are at most 255 repetitions"
                 : empty
                     ? "the second number is smaller than the first (write {2,5})"
                     : "numbers of repetitions were expected (write {3}, {2,} or {2,5}, or \\\\{ for the character)");
}

/* P, whose nodes are those from LO on, LEAST to MOST times. */
static int repeat_counted(struct regex *r, int lo, int least, int most, struct piece *p) {
  int hi = r->n, copies = most > least ? most : least, e = 0;
  struct piece all = {0, 0}, next = *p, pure = *p;
  if (copies == 0 && most == 0) {
    int node = add(r, NODE_FREE, -1, -1);
    *p = (struct piece){node, node};
    return node < 0 ? node : 0;
  }
  if (copies == 0) return repeat(r, p, '*');
  /* The piece itself comes last: it is what all others are copies of. */
  for (int i = 0; i < copies && e >= 0; i++) {
    next = pure;
    if (i + 1 < copies) e = copy_piece(r, lo, hi, pure, &next);
    if (e >= 0 && i >= least) e = repeat(r, &next, '?');
    if (e >= 0 && most < 0 && i + 1 == copies) e = repeat(r, &next, '+');
    if (e < 0) break;
    if (i > 0) r->nodes[all.last].out[0] = (int16_t)next.first;
    all = (struct piece){i > 0 ? all.first : next.first, next.last};
  }
  *p = all;
  return e;
}

/* A piece, with all that says how often. */
static int read_repeated(struct regex *r, struct piece *ret) {
  int lo = r->n, least, most, e = read_piece(r, ret);
  for (char c; e >= 0 && (c = r->pattern[r->at]) && strchr("*+?{", c);) {
    if (c == '{') {
      e = read_bounds(r, &least, &most);
      if (e >= 0) e = repeat_counted(r, lo, least, most, ret);
    } else {
      e = repeat(r, ret, c);
      r->at++;
    }
  }
  return e;
}

static int read_sequence(struct regex *r, struct piece *ret) {
  int node = add(r, NODE_FREE, -1, -1);
  struct piece all = {node, node};
  while (node >= 0 && r->pattern[r->at] && r->pattern[r->at] != '|' && r->pattern[r->at] != ')') {
    struct piece next;
    int e = read_repeated(r, &next);
    if (e < 0) return e;
    r->nodes[all.last].out[0] = (int16_t)next.first;
    all.last = next.last;
  }
  *ret = all;
  return node < 0 ? node : 0;
}

static int read_alternatives(struct regex *r, struct piece *ret) {
  struct piece all;
  int e = read_sequence(r, &all);
  while (e >= 0 && r->pattern[r->at] == '|') {
    struct piece next;
    r->at++;
    e = read_sequence(r, &next);
    int last = e < 0 ? e : add(r, NODE_FREE, -1, -1),
        first = last < 0 ? last : add(r, NODE_FREE, all.first, next.first);
    if (first < 0) return first;
    r->nodes[all.last].out[0] = r->nodes[next.last].out[0] = (int16_t)last;
    all = (struct piece){first, last};
  }
  if (e >= 0) *ret = all;
  return e;
}

/* --- the graph of the whole --------------------------------------------------------------------------------------- */

/* Any bytes may stand before it and behind it. */
static int read_all(struct regex *r, int *ret_first) {
  struct piece p, any;
  struct bytes all;
  memset(&all, 0xff, sizeof all);
  int e = read_alternatives(r, &p);
  if (e >= 0 && r->pattern[r->at]) e = fail(r, "')' closes nothing (write \\\\) for the character)");
  if (e >= 0) e = add_piece(r, NODE_BYTE, all, &any);
  if (e >= 0) e = repeat(r, &any, '*');
  int done = e < 0 ? e : add(r, NODE_DONE, -1, -1);
  if (done < 0) return done;
  r->nodes[any.last].out[0] = (int16_t)p.first;
  r->nodes[p.last].out[0] = (int16_t)done;
  *ret_first = any.first;
  return 0;
}

/* --- states ------------------------------------------------------------------------------------------------------- */

/* NODE, and all that is free from it: past ^ at the START of the text, past $ at its END. */
static void close_over(const struct regex *r, int node, bool start, bool end, struct set *to) {
  if (node < 0 || to->bits[node / 64] >> (node % 64) & 1) return;
  to->bits[node / 64] |= 1ull << (node % 64);
  const struct node *n = &r->nodes[node];
  bool passed = n->kind == NODE_FREE || (n->kind == NODE_START && start) || (n->kind == NODE_END && end);
  for (int i = 0; i < 2 && passed; i++)
    close_over(r, n->out[i], start, end, to);
}

static bool in_set(const struct set *s, int node) { return s->bits[node / 64] >> (node % 64) & 1; }

/* What a state says: found already, or found if the text ends here. */
static unsigned judge(const struct regex *r, const struct set *s, bool start) {
  struct set at_end = {{0}};
  for (int i = 0; i < r->n; i++) {
    if (!in_set(s, i)) continue;
    if (r->nodes[i].kind == NODE_DONE) return WIRE_STATE_MATCHES | WIRE_STATE_SETTLED;
    close_over(r, i, start, true, &at_end);
  }
  for (int i = 0; i < r->n; i++)
    if (r->nodes[i].kind == NODE_DONE && in_set(&at_end, i)) return WIRE_STATE_MATCHES;
  return 0;
}

/* Which bytes behave alike: each gets the number of its class. */
static unsigned classify(const struct regex *r, uint8_t of[256], uint8_t sample[256]) {
  unsigned n = 0;
  for (unsigned c = 0; c < 256; c++) {
    unsigned k = 0;
    for (; k < n; k++) {
      bool same = true;
      for (int i = 0; i < r->n && same; i++)
        same = r->nodes[i].kind != NODE_BYTE || has(&r->nodes[i].bytes, c) == has(&r->nodes[i].bytes, sample[k]);
      if (same) break;
    }
    if (k == n) sample[n++] = (uint8_t)c;
    of[c] = (uint8_t)k;
  }
  return n;
}

struct automaton {
  VEC(struct set) states;
  VEC(uint16_t) table; /* behind the head */
  unsigned n_classes;
};

static int find_state(struct automaton *a, const struct set *s) {
  for (size_t i = 0; i < a->states.n; i++)
    if (memcmp(&a->states.at[i], s, sizeof *s) == 0) return (int)i;
  if (a->states.n == STATES_MAX) return -E2BIG;
  if (vec_push(&a->states, *s) < 0) return -ENOMEM;
  return (int)a->states.n - 1;
}

static int follow(const struct regex *r, struct automaton *a, size_t from, unsigned byte) {
  struct set next = {{0}};
  for (int i = 0; i < r->n; i++)
    if (in_set(&a->states.at[from], i) && r->nodes[i].kind == NODE_BYTE && has(&r->nodes[i].bytes, byte))
      close_over(r, r->nodes[i].out[0], false, false, &next);
  return find_state(a, &next);
}

static int build(const struct regex *r, int first, const uint8_t *sample, struct automaton *a) {
  struct set start = {{0}};
  close_over(r, first, true, false, &start);
  int e = find_state(a, &start);
  for (size_t i = 0; i < a->states.n && e >= 0; i++) {
    unsigned what = judge(r, &a->states.at[i], i == 0);
    if (vec_push(&a->table, (uint16_t)what) < 0) return -ENOMEM;
    for (unsigned k = 0; k < a->n_classes && e >= 0; k++) {
      e = what & WIRE_STATE_SETTLED ? (int)i : follow(r, a, i, sample[k]);
      if (e >= 0 && vec_push(&a->table, (uint16_t)e) < 0) e = -ENOMEM;
    }
  }
  return e < 0 ? e : 0;
}

static int copy(struct arena *arena, const struct automaton *a, const uint8_t of[256], const uint16_t **ret,
                size_t *ret_n) {
  size_t n = WIRE_TABLE_HEAD + a->table.n;
  uint16_t *t = arena_alloc(arena, n * sizeof *t);
  if (!t) return -ENOMEM;
  t[0] = (uint16_t)a->states.n;
  t[1] = (uint16_t)a->n_classes;
  for (unsigned c = 0; c < 256; c++)
    t[2 + c] = of[c];
  memcpy(t + WIRE_TABLE_HEAD, a->table.at, a->table.n * sizeof *t);
  *ret = t;
  *ret_n = n;
  return 0;
}

int regex_compile(struct arena *arena, const char *pattern, const uint16_t **ret, size_t *ret_n, const char **ret_why,
                  size_t *ret_at) {
  uint8_t of[256], sample[256];
  struct automaton a = {0};
  struct regex r = {.pattern = pattern, .nodes = arena_alloc(arena, NODES_MAX * sizeof *r.nodes)};
  int first = 0, e = r.nodes ? read_all(&r, &first) : -ENOMEM;
  if (e >= 0) {
    a.n_classes = classify(&r, of, sample);
    e = build(&r, first, sample, &a);
  }
  if (e >= 0) e = copy(arena, &a, of, ret, ret_n);
  vec_done(&a.states);
  vec_done(&a.table);
  *ret_why = e == -E2BIG ? "this regular expression needs too many states (write several rules)" : r.why ? r.why : "";
  *ret_at = e == -E2BIG ? 0 : r.at;
  return e;
}

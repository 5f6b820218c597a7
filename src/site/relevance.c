/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads data/relevance and data/aliases. A line that is not understood is an error with its position.
 */
#include "site/relevance_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (16u << 20)
#define WORDS_MAX 32

struct reader {
  struct relevance *r;
  const char *name;
  unsigned line;
  struct err *e;
};

static int bad(const struct reader *rd, const char *what, const char *word) {
  return err_set(rd->e, -EINVAL, "%s:%u: %s '%s'", rd->name, rd->line, what, word);
}

/* --- words -------------------------------------------------------------------------------------------------------- */

static const char *const likelihoods[] = {"contrived", "rare", "possible", "common"};
static const char *const causes[] = {"memory",  "limit", "disk",   "hardware", "network", "peer", "permission",
                                     "missing", "race",  "signal", "input",    "config",  "bug"};
static const char *const consequences[] = {"harmless", "leak", "wrong-result", "crash", "security", "data-loss"};
static const char *const effects[] = {"?", "ok", "error", "crash", "wrong"};
static const char *const subjects[SUBJECTS] = {"file",    "dir",       "socket",  "pipe",   "tty",     "nonblocking",
                                               "written", "unwritten", "stdout",  "stderr", "handler", "any-handler",
                                               "flushed", "failed",    "pending", "remote"};

static int word_in(const struct reader *rd, const char *word, const char *const *words, size_t n, const char *what) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(word, words[i]) == 0) return (int)i;
  return bad(rd, what, word);
}

static int read_number(const struct reader *rd, const char *word, int64_t *ret) {
  uint64_t v;
  if (map_get(&rd->r->constants, hash_string(word), &v)) {
    *ret = (int64_t)v;
    return 0;
  }
  return number_parse(word, ret) < 0 ? bad(rd, "neither a number nor a constant:", word) : 0;
}

static int read_argument(const struct reader *rd, const char *word, unsigned *ret) {
  int64_t n;
  if (number_parse(word, &n) < 0 || n < 0 || n >= 64) return bad(rd, "not the number of an argument:", word);
  *ret = (unsigned)n;
  return 0;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* argN=VALUES and the like, argN:fixed, argN:date. */
static int read_argument_test(const struct reader *rd, char *word, struct test *t) {
  size_t digits = strspn(word + 3, "0123456789");
  char op = word[3 + digits], *rest = word + 3 + digits + 1;
  if (!digits || !op || !strchr("=!&~:", op)) return bad(rd, "not a test:", word);
  word[3 + digits] = 0;
  unsigned arg = 0;
  int r = read_argument(rd, word + 3, &arg);
  if (r < 0) return r;
  t->op = op;
  t->arg = (uint8_t)arg;
  t->subject = op == ':' && strcmp(rest, "date") == 0 ? ARGUMENT_DATE : ARGUMENT_FIXED;
  if (op == ':') return t->subject || strcmp(rest, "fixed") == 0 ? 0 : bad(rd, "not 'fixed' or 'date':", rest);
  t->first = (uint32_t)rd->r->values.n;
  for (char *value; (value = strsep(&rest, ",")) != NULL;) {
    int64_t n;
    r = read_number(rd, value, &n);
    if (r >= 0) r = vec_push(&rd->r->values, n);
    if (r < 0) return r;
  }
  t->n = (uint32_t)rd->r->values.n - t->first;
  return 0;
}

/* TEST...: all must hold; a word with | holds if one of its tests does. */
static int read_tests(const struct reader *rd, char *const *words, size_t n, struct rule *rule) {
  rule->first_test = (uint32_t)rd->r->tests.n;
  for (size_t i = 0; i < n; i++)
    for (char *rest = words[i], *word; (word = strsep(&rest, "|")) != NULL;) {
      struct test t = {.or_next = rest != NULL};
      int r = strncmp(word, "arg", 3) == 0 ? read_argument_test(rd, word, &t)
                                           : word_in(rd, word, subjects, SUBJECTS, "not a test:");
      if (r < 0) return r;
      if (!t.op) t.subject = (uint8_t)r;
      if (vec_push(&rd->r->tests, t) < 0) return -ENOMEM;
    }
  rule->n_tests = (uint32_t)rd->r->tests.n - rule->first_test;
  return 0;
}

/* --- facts -------------------------------------------------------------------------------------------------------- */

typedef int (*add_name)(const struct reader *, const char *, void *);

static int one_name(const struct reader *rd, const char *name, add_name add, void *context) {
  int r = map_put(&rd->r->known, hash_string(name), 1);
  return r < 0 ? r : add(rd, name, context);
}

/* Calls ADD for each name of the list, which is cut up; @NAME is all names of a group. */
static int each_name(const struct reader *rd, char *names, add_name add, void *context) {
  for (char *rest = names, *name; (name = strsep(&rest, ",")) != NULL;) {
    uint64_t group;
    if (!*name) return bad(rd, "a name is missing in", names);
    int r = 0;
    if (*name != '@')
      r = one_name(rd, name, add, context);
    else if (!map_get(&rd->r->groups, hash_string(name + 1), &group))
      return bad(rd, "no group of this name above:", name);
    else
      for (const char *s = (const char *)(uintptr_t)group; *s && r >= 0; s += strlen(s) + 1)
        r = one_name(rd, s, add, context);
    if (r < 0) return r;
  }
  return 0;
}

static int add_member(const struct reader *rd, const char *name, void *context) {
  (void)rd;
  text_add_bytes(context, name, strlen(name) + 1);
  return ((struct text *)context)->failed ? -ENOMEM : 0;
}

/* group NAME NAMES */
static int read_group(const struct reader *rd, char **words, size_t n) {
  struct text members = {0};
  if (n != 3) return bad(rd, "not 'NAME NAMES' behind", words[0]);
  int r = each_name(rd, words[2], add_member, &members);
  /* The NUL behind the text ends the list. */
  char *kept = r < 0 ? NULL : arena_memdup(&rd->r->arena, members.at, members.n + 1);
  if (r >= 0) r = kept ? map_put(&rd->r->groups, hash_string(words[1]), (uintptr_t)kept) : -ENOMEM;
  text_done(&members);
  return r;
}

static int add_rule(const struct reader *rd, const char *name, void *context) {
  struct rule rule = *(const struct rule *)context;
  rule.name = hash_string(name);
  return vec_push(&rd->r->rules, rule);
}

/* An errno, =VALUE, - or *, as a rule's error. */
static int read_error(const struct reader *rd, const char *word, struct rule *rule) {
  rule->any = strcmp(word, "*") == 0;
  rule->error = 0;
  rule->code = false;
  if (rule->any || strcmp(word, "-") == 0) return 0;
  if (*word == '=') {
    rule->code = true;
    return read_number(rd, word + 1, &rule->retval);
  }
  rule->error = errno_number(word);
  return rule->error ? 0 : bad(rd, "not an errno:", word);
}

/* The rule for each of the names and each of the errors. */
static int add_rules(const struct reader *rd, const char *names, char *errors, struct rule *rule) {
  int r = 0;
  for (char *rest = errors, *error; r >= 0 && (error = strsep(&rest, ",")) != NULL;) {
    char *copy = arena_strdup(&rd->r->arena, names);
    if (!copy) return -ENOMEM;
    r = read_error(rd, error, rule);
    if (r >= 0) r = each_name(rd, copy, add_rule, rule);
  }
  return r < 0 ? r : 0;
}

/* fail NAMES ERRORS LIKELIHOOD [when CAUSE] [if TEST...] */
static int read_fail(const struct reader *rd, char **words, size_t n) {
  struct rule rule = {.kind = RULE_FAIL};
  if (n < 4) return bad(rd, "too little behind", words[0]);
  int r = word_in(rd, words[3], likelihoods, COUNT(likelihoods), "not a likelihood:");
  if (r < 0) return r;
  rule.value = (uint8_t)r;
  size_t at = 4;
  if (at + 1 < n && strcmp(words[at], "when") == 0) {
    r = word_in(rd, words[at + 1], causes, COUNT(causes), "not a cause:");
    if (r < 0) return r;
    rule.cause = (uint8_t)(r + 1);
    at += 2;
  }
  if (at < n && strcmp(words[at], "if") != 0) return bad(rd, "not understood:", words[at]);
  if (at < n) r = read_tests(rd, words + at + 1, n - at - 1, &rule);
  return r < 0 ? r : add_rules(rd, words[1], words[2], &rule);
}

/* lost NAMES ERRORS [if TEST...] */
static int read_lost(const struct reader *rd, char **words, size_t n) {
  struct rule rule = {.kind = RULE_LOST};
  if (n < 3) return bad(rd, "too little behind", words[0]);
  if (n > 3 && strcmp(words[3], "if") != 0) return bad(rd, "not understood:", words[3]);
  int r = n > 4 ? read_tests(rd, words + 4, n - 4, &rule) : 0;
  return r < 0 ? r : add_rules(rd, words[1], words[2], &rule);
}

/* short NAMES LIKELIHOOD [if TEST...] */
static int read_short(const struct reader *rd, char **words, size_t n) {
  struct rule rule = {.kind = RULE_SHORT};
  if (n < 3) return bad(rd, "too little behind", words[0]);
  if (n > 3 && strcmp(words[3], "if") != 0) return bad(rd, "not understood:", words[3]);
  int r = word_in(rd, words[2], likelihoods, COUNT(likelihoods), "not a likelihood:");
  if (r < 0) return r;
  rule.value = (uint8_t)r;
  r = n > 4 ? read_tests(rd, words + 4, n - 4, &rule) : 0;
  return r < 0 ? r : each_name(rd, words[1], add_rule, &rule);
}

/* unnoticed NAMES CLASS [if TEST... else CLASS] */
static int read_unnoticed(const struct reader *rd, char **words, size_t n) {
  struct rule rule = {.kind = RULE_UNNOTICED};
  if (n < 3) return bad(rd, "too little behind", words[0]);
  int r = word_in(rd, words[2], consequences, COUNT(consequences), "not a class:");
  if (r < 0) return r;
  rule.value = rule.otherwise = (uint8_t)r;
  if (n > 3) {
    if (n < 7 || strcmp(words[3], "if") != 0 || strcmp(words[n - 2], "else") != 0)
      return bad(rd, "not understood (as in if TEST else CLASS):", words[3]);
    r = word_in(rd, words[n - 1], consequences, COUNT(consequences), "not a class:");
    if (r < 0) return r;
    rule.otherwise = (uint8_t)r;
    r = read_tests(rd, words + 4, n - 6, &rule);
    if (r < 0) return r;
  }
  return each_name(rd, words[1], add_rule, &rule);
}

static int add_mark(const struct reader *rd, const char *name, void *context) {
  struct map *marked = context;
  (void)rd;
  return map_put(marked, hash_string(name), 1);
}

static int add_end(const struct reader *rd, const char *name, void *context) {
  return map_put(&rd->r->again_ends, relevance_pair(context, name), 1);
}

/* again NAMES [NAMES]; ENDS: the second names, or NULL. */
static int add_again(const struct reader *rd, const char *name, void *ends) {
  int r = map_put(&rd->r->again, hash_string(name), 1);
  if (r < 0 || !ends) return r;
  char *names = arena_strdup(&rd->r->arena, ends), *first = arena_strdup(&rd->r->arena, name);
  return names && first ? each_name(rd, names, add_end, first) : -ENOMEM;
}

/* ignore NAMES [if TEST...] */
static int read_ignore(const struct reader *rd, char **words, size_t n) {
  struct rule rule = {.kind = RULE_IGNORE};
  if (n > 2 && strcmp(words[2], "if") != 0) return bad(rd, "not understood:", words[2]);
  int r = n > 3 ? read_tests(rd, words + 3, n - 3, &rule) : 0;
  for (uint32_t i = 0; i < rule.n_tests && r >= 0; i++) {
    const struct test *t = &rd->r->tests.at[rule.first_test + i];
    if (t->op || t->subject != ABOUT_FAILED) continue;
    char *names = arena_strdup(&rd->r->arena, words[1]);
    r = names ? each_name(rd, names, add_mark, &rd->r->after_failure) : -ENOMEM;
  }
  return r < 0 ? r : each_name(rd, words[1], add_rule, &rule);
}

struct put {
  struct map *map;
  uint64_t salt, value;
};

static int add_to_map(const struct reader *rd, const char *name, void *context) {
  const struct put *p = context;
  (void)rd;
  return map_put(p->map, hash_mix(hash_string(name) + p->salt), p->value);
}

/* null NAMES ARGS EFFECT, minus NAMES ARGS EFFECT */
static int read_effect(const struct reader *rd, char **words, size_t n, bool null) {
  if (n != 4) return bad(rd, "not 'NAMES ARGS EFFECT' behind", words[0]);
  int effect = word_in(rd, words[3], effects, COUNT(effects), "not an effect:");
  if (effect < 0) return effect;
  for (char *rest = words[2], *word; (word = strsep(&rest, ",")) != NULL;) {
    unsigned arg = 0;
    char *names = arena_strdup(&rd->r->arena, words[1]);
    if (!names) return -ENOMEM;
    int r = read_argument(rd, word, &arg);
    struct put put = {&rd->r->effects, effect_salt(arg, null), (uint64_t)effect};
    if (r >= 0) r = each_name(rd, names, add_to_map, &put);
    if (r < 0) return r;
  }
  return 0;
}

/* FACT NAMES ARG ... */
static int read_role(const struct reader *rd, char **words, size_t n, struct map *map) {
  unsigned arg = 0;
  if (n < 3) return bad(rd, "too little behind", words[0]);
  bool variable = strcmp(words[2], "stdout") == 0 || strcmp(words[2], "stdin") == 0;
  int r = variable ? 0 : read_argument(rd, words[2], &arg);
  if (variable) arg = words[2][3] == 'o' ? ARG_STDOUT : ARG_STDIN;
  struct put put = {map, 0, arg};
  return r < 0 ? r : each_name(rd, words[1], add_to_map, &put);
}

static int add_now_offset(const struct reader *rd, const char *name, void *context) {
  return map_put(&rd->r->now_offsets, hash_mix(hash_string(name) + *(const uint64_t *)context), 1);
}

/* Each of the offsets for each of the names. */
static int read_now_offsets(const struct reader *rd, const char *names, char *offsets) {
  int r = 0;
  for (char *rest = offsets, *word; r >= 0 && (word = strsep(&rest, ",")) != NULL;) {
    int64_t offset;
    char *again = arena_strdup(&rd->r->arena, names);
    if (!again) return -ENOMEM;
    if (number_parse(word, &offset) < 0 || offset < 0) return bad(rd, "not an offset:", word);
    r = each_name(rd, again, add_now_offset, &(uint64_t){(uint64_t)offset});
  }
  return r;
}

/* now NAMES [ARG [OFFSETS]] */
static int read_now(const struct reader *rd, char **words, size_t n) {
  char zero[] = "0";
  int r = n > 2 ? read_now_offsets(rd, words[1], n > 3 ? words[3] : zero) : 0;
  if (r < 0) return r;
  if (n > 2) return read_role(rd, words, n, &rd->r->now_behind);
  return each_name(rd, words[1], add_mark, &rd->r->now);
}

static int add_teller(const struct reader *rd, const char *name, void *context) {
  int r = map_put(&rd->r->told_by, relevance_pair(context, name), 1);
  return r < 0 ? r : map_put(&rd->r->tellers, hash_string(name), 1);
}

static int add_tellers(const struct reader *rd, const char *name, void *tellers) {
  char *names = arena_strdup(&rd->r->arena, tellers), *first = arena_strdup(&rd->r->arena, name);
  return names && first ? each_name(rd, names, add_teller, first) : -ENOMEM;
}

/* kept NAMES ARG NAMES */
static int read_kept(const struct reader *rd, char **words, size_t n) {
  char *names = arena_strdup(&rd->r->arena, words[1]);
  int r = names ? read_role(rd, words, n, &rd->r->kept) : -ENOMEM;
  return r >= 0 && n > 3 ? each_name(rd, names, add_tellers, words[3]) : r;
}

/* reads, writes, flushes, closes and on NAMES ARG; all but the last are asked for by themselves, too. */
static int read_descriptor(const struct reader *rd, char **words, size_t n) {
  struct relevance *to = rd->r;
  struct map *also = NULL;
  if (strcmp(words[0], "reads") == 0) also = &to->readers;
  if (strcmp(words[0], "writes") == 0) also = &to->writers;
  if (strcmp(words[0], "flushes") == 0) also = &to->flushers;
  if (strcmp(words[0], "closes") == 0) also = &to->closers;
  if (also) {
    char *again[] = {words[0], arena_strdup(&rd->r->arena, words[1]), n > 2 ? words[2] : NULL};
    int r = again[1] ? read_role(rd, again, n, also) : -ENOMEM;
    if (r < 0) return r;
  }
  return read_role(rd, words, n, &rd->r->descriptors);
}

static int add_opener(const struct reader *rd, const char *name, void *context) {
  return map_put(&rd->r->openers, hash_string(name), (uintptr_t)context);
}

/* opens NAMES PLACE THING KIND ACCESS */
static int read_opens(const struct reader *rd, char **words, size_t n) {
  static const char *const accesses[] = {"read", "write", "flags:", "mode:", "like:", "both"};
  if (n != 6) return bad(rd, "not 'NAMES PLACE THING KIND ACCESS' behind", words[0]);
  struct relevance_opener *o = arena_zalloc(&rd->r->arena, sizeof *o);
  if (!o) return -ENOMEM;
  o->result = strcmp(words[2], "ret") == 0;
  o->kind = SUBJECTS;
  for (unsigned i = 0; i <= ABOUT_TTY; i++)
    if (strcmp(words[4], subjects[i]) == 0) o->kind = (uint8_t)i;
  o->path = strcmp(words[4], "path") == 0;
  for (size_t i = 0; i < COUNT(accesses); i++) {
    size_t length = strlen(accesses[i]);
    if (strncmp(words[5], accesses[i], length) != 0) continue;
    unsigned arg = 0;
    int r = words[5][length] ? read_argument(rd, words[5] + length, &arg) : 0;
    if (r < 0) return r;
    o->access = (uint8_t)i;
    o->access_arg = (uint8_t)arg;
    return each_name(rd, words[1], add_opener, o);
  }
  return bad(rd, "not a kind of access:", words[5]);
}

static int read_constant(const struct reader *rd, char **words, size_t n) {
  int64_t v;
  if (n != 3) return bad(rd, "not 'NAME VALUE' behind", words[0]);
  if (number_parse(words[2], &v) < 0) return bad(rd, "not a number:", words[2]);
  return map_put(&rd->r->constants, hash_string(words[1]), (uint64_t)v);
}

static int read_fact(const struct reader *rd, char **words, size_t n) {
  const char *fact = words[0];
  if (n < 2) return bad(rd, "nothing stands behind", fact);
  if (strcmp(fact, "constant") == 0) return read_constant(rd, words, n);
  if (strcmp(fact, "fail") == 0) return read_fail(rd, words, n);
  if (strcmp(fact, "unnoticed") == 0) return read_unnoticed(rd, words, n);
  if (strcmp(fact, "ignore") == 0) return read_ignore(rd, words, n);
  if (strcmp(fact, "lost") == 0) return read_lost(rd, words, n);
  if (strcmp(fact, "short") == 0) return read_short(rd, words, n);
  if (strcmp(fact, "answer") == 0) return each_name(rd, words[1], add_mark, &rd->r->answers);
  if (strcmp(fact, "nothing") == 0) return each_name(rd, words[1], add_mark, &rd->r->nothing);
  if (strcmp(fact, "now") == 0) return read_now(rd, words, n);
  if (strcmp(fact, "again") == 0) return each_name(rd, words[1], add_again, n > 2 ? words[2] : NULL);
  if (strcmp(fact, "absent") == 0) return each_name(rd, words[1], add_mark, &rd->r->absent);
  if (strcmp(fact, "kept") == 0) return read_kept(rd, words, n);
  if (strcmp(fact, "forgets") == 0) return read_role(rd, words, n, &rd->r->forgetters);
  static const char *const roles[] = {"reads", "writes", "flushes", "closes", "on"};
  for (size_t i = 0; i < COUNT(roles); i++)
    if (strcmp(fact, roles[i]) == 0) return read_descriptor(rd, words, n);
  if (strcmp(fact, "group") == 0) return read_group(rd, words, n);
  if (strcmp(fact, "null") == 0 || strcmp(fact, "minus") == 0) return read_effect(rd, words, n, *fact == 'n');
  if (strcmp(fact, "opens") == 0) return read_opens(rd, words, n);
  return bad(rd, "not a fact about errors:", fact);
}

/* IMPORTED WRITTEN [ARGUMENTS] */
static int read_alias(const struct reader *rd, char **words, size_t n) {
  struct alias *a = arena_zalloc(&rd->r->arena, sizeof *a);
  if (!a) return -ENOMEM;
  if (n != 2 && n != 3) return bad(rd, "not 'IMPORTED WRITTEN [ARGUMENTS]':", words[0]);
  a->written = arena_strdup(&rd->r->arena, words[1]);
  a->imported = arena_strdup(&rd->r->arena, words[0]);
  if (!a->written || !a->imported) return -ENOMEM;
  if (n == 2) {
    a->follow = true;
  } else {
    size_t length = strlen(words[2]);
    if (length && words[2][length - 1] == '+') {
      a->follow = true;
      words[2][length - 1] = 0;
    }
    for (char *rest = words[2], *word; (word = strsep(&rest, ",")) != NULL;) {
      unsigned arg = 0;
      if (a->n == COUNT(a->at)) return bad(rd, "too many arguments:", words[0]);
      int r = strcmp(word, "-") == 0 ? 0 : read_argument(rd, word, &arg);
      if (r < 0) return r;
      a->at[a->n++] = strcmp(word, "-") == 0 ? -1 : (int8_t)arg;
    }
  }
  *(rd->r->last_alias ? rd->r->last_alias : &rd->r->first_alias) = a;
  rd->r->last_alias = &a->next;
  return map_put(&rd->r->aliases, hash_string(words[0]), (uintptr_t)a);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

static int read_lines(struct reader *rd, char *bytes, int (*read)(const struct reader *, char **, size_t)) {
  for (char *rest = bytes, *line; (line = strsep(&rest, "\n")) != NULL;) {
    char *words[WORDS_MAX], *save = NULL;
    size_t n = 0;
    rd->line++;
    if (*line == '#') continue;
    for (char *word = strtok_r(line, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
      if (n == WORDS_MAX) return bad(rd, "too many words behind", words[0]);
      words[n++] = word;
    }
    int r = n ? read(rd, words, n) : 0;
    if (r < 0) return r;
  }
  return 0;
}

int relevance_parse(struct relevance *r, const char *name, char *bytes, struct err *e) {
  struct reader rd = {.r = r, .name = name, .e = e};
  return read_lines(&rd, bytes, read_fact);
}

int relevance_parse_aliases(struct relevance *r, const char *name, char *bytes, struct err *e) {
  struct reader rd = {.r = r, .name = name, .e = e};
  return read_lines(&rd, bytes, read_alias);
}

int relevance_new(struct relevance **ret) {
  struct relevance *r = calloc(1, sizeof *r);
  if (!r) return -ENOMEM;
  *ret = r;
  return 0;
}

void relevance_free(struct relevance *r) {
  if (!r) return;
  struct map *maps[] = {&r->constants, &r->known,       &r->answers,    &r->nothing,     &r->kept,
                        &r->groups,    &r->descriptors, &r->effects,    &r->openers,     &r->aliases,
                        &r->writers,   &r->closers,     &r->again,      &r->again_ends,  &r->told_by,
                        &r->absent,    &r->now,         &r->now_behind, &r->now_offsets, &r->dates,
                        &r->readers,   &r->flushers,    &r->tellers,    &r->forgetters,  &r->after_failure};
  for (size_t i = 0; i < COUNT(maps); i++)
    map_done(maps[i]);
  map_done(&r->rules_of);
  map_done(&r->fails);
  vec_done(&r->rules);
  vec_done(&r->tests);
  vec_done(&r->values);
  arena_done(&r->arena);
  free(r);
}

static int load_one(struct relevance *r, const char *data, const char *name,
                    int (*parse)(struct relevance *, const char *, char *, struct err *), struct err *e) {
  struct text path = {0};
  char *bytes = NULL;
  size_t size = 0;
  text_addf(&path, "%s/%s", data, name);
  int ret = path.failed ? -ENOMEM : file_read(path.at, DATA_MAX, &bytes, &size, e);
  if (ret >= 0) ret = parse(r, path.at, bytes, e);
  free(bytes);
  text_done(&path);
  return ret;
}

int relevance_load(const char *data, struct relevance **ret, struct err *e) {
  struct relevance *r = NULL;
  int error = relevance_new(&r);
  if (error >= 0) error = load_one(r, data, "relevance", relevance_parse, e);
  if (error >= 0) error = load_one(r, data, "aliases", relevance_parse_aliases, e);
  if (error >= 0) error = relevance_ready(r);
  if (error < 0)
    relevance_free(r);
  else
    *ret = r;
  return error;
}

int relevance_load_aliases(const char *data, struct relevance **ret, struct err *e) {
  struct relevance *r = NULL;
  int error = relevance_new(&r);
  if (error >= 0) error = load_one(r, data, "aliases", relevance_parse_aliases, e);
  if (error < 0)
    relevance_free(r);
  else
    *ret = r;
  return error;
}

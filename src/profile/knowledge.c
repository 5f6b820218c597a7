/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the data files know: errors of system calls (kernel/NAME.errors), and what is known about functions (functions).
 */
#include "profile/analyse.h"
#include "profile/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MORE "..." /* the last word of a list that is not all */

/* ARG=VALUE|VALUE...] or ARG!VALUE], behind an errno's opening bracket. */
static int read_condition(struct lines *at, int error, char *text) {
  struct knowledge *k = at->to;
  size_t n = strlen(text);
  if (n < 4) return lines_bad(at, "not a condition (as in [4!-1] or [1=6|7]):", text);
  struct errno_condition c = {.error = (uint8_t)error, .arg = (uint8_t)(text[0] - '0'), .only = text[1] == '='};
  if (text[n - 1] != ']' || c.arg >= FLOW_ARGS || (!c.only && text[1] != '!'))
    return lines_bad(at, "not a condition (as in [4!-1] or [1=6|7]):", text);
  text[n - 1] = 0;
  for (char *rest = text + 2, *word; (word = strsep(&rest, "|")) != NULL;) {
    int64_t value;
    if (number_parse(word, &value) < 0 || value < INT32_MIN || value > UINT32_MAX)
      return lines_bad(at, "not a number:", word);
    c.value = (int32_t)value;
    if (vec_push(&k->conditions, c) < 0) return -ENOMEM;
  }
  return 0;
}

/* ERRNO[CONDITION]; or ..., if the list is not all. */
static int read_errno(struct lines *at, char *word, struct known_errors *to) {
  if (to->more) return lines_bad(at, "not the last word:", MORE);
  to->more = strcmp(word, MORE) == 0;
  if (to->more) return 0;
  char *condition = strchr(word, '[');
  if (condition) *condition++ = 0;
  int e = errno_number(word);
  if (!e) return lines_bad(at, "not an errno:", word);
  errno_set_add(&to->set, e);
  return condition ? read_condition(at, e, condition) : 0;
}

/* NUMBER NAME ERRNO... */
static int read_syscall(struct lines *at, char *line) {
  struct knowledge *k = at->to;
  char *save = NULL, *word = strtok_r(line, " \t", &save);
  struct known_errors errors = {.first_condition = (uint32_t)k->conditions.n};
  int64_t number;
  if (number_parse(word, &number) < 0 || number < 0 || number >= SYSCALL_MAX)
    return lines_bad(at, "not a system call's number:", word);
  word = strtok_r(NULL, " \t", &save);
  if (!word) return lines_bad(at, "a name is missing behind", line);
  while ((word = strtok_r(NULL, " \t", &save)) != NULL) {
    int r = read_errno(at, word, &errors);
    if (r < 0) return r;
  }
  if (map_get(&k->syscalls, (uint64_t)number, NULL)) return lines_bad(at, "a second line for system call", line);
  errors.n_conditions = (uint32_t)k->conditions.n - errors.first_condition;
  int r = map_put(&k->syscalls, (uint64_t)number, k->errors.n);
  return r < 0 ? r : vec_push(&k->errors, errors);
}

/* success KIND NAME */
static int read_success(struct lines *at, const char *kind, char **save) {
  static const char *const kinds[] = {"never", "zero", "number", "count", "length", "character", "pointer", "value"};
  struct knowledge *k = at->to;
  const char *name = strtok_r(NULL, " \t", save);
  for (size_t i = 0; i < COUNT(kinds); i++) {
    if (strcmp(kind, kinds[i]) != 0) continue;
    if (!name) return lines_bad(at, "a name is missing behind", kind);
    return map_put(&k->success, hash_string(name), SUCCESS_NEVER + i);
  }
  return lines_bad(at, "not a kind of success:", kind);
}

/* error VALUE NAME */
static int read_told(struct lines *at, const char *value, char **save) {
  struct knowledge *k = at->to;
  struct told_error t;
  const char *name = strtok_r(NULL, " \t", save);
  if (number_parse(value, &t.value) < 0) return lines_bad(at, "not a number:", value);
  if (!name) return lines_bad(at, "a name is missing behind", value);
  t.name = hash_string(name);
  return vec_push(&k->told, t);
}

/* An argument's number, or a stream of libc. */
static int read_argument(struct lines *at, enum calling_fact fact, const char *word, uint64_t *ret) {
  int64_t n;
  bool in = strcmp(word, "stdin") == 0, out = strcmp(word, "stdout") == 0;
  if (fact == CALL_STREAM && (in || out))
    n = in ? STREAM_STDIN : STREAM_STDOUT;
  else if (fact == CALL_BY_ERRNO)
    return number_parse(word, (int64_t *)ret) < 0 ? lines_bad(at, "not a number:", word) : 0;
  else if (number_parse(word, &n) < 0 || n < 0 || n > 15)
    return lines_bad(at, "not the number of an argument:", word);
  *ret = (uint64_t)n;
  return 0;
}

/* KIND NAME, or KIND N NAME where the fact is about an argument or a value. */
static int read_calling(struct lines *at, const char *kind, const char *word, char **save) {
  static const struct {
    const char *word;
    bool argument;
  } kinds[] = {
      [CALL_TWICE] = {"twice", false},        [CALL_STRUCT] = {"struct", false},
      [CALL_FLOAT] = {"float", false},        [CALL_RETURNED] = {"returned", false},
      [CALL_DONE] = {"done", false},          [CALL_DESCRIPTOR] = {"descriptor", true},
      [CALL_SIZE] = {"size", true},           [CALL_STREAM] = {"stream", true},
      [CALL_CLEARED] = {"cleared", true},     [CALL_EMPTIED] = {"emptied", true},
      [CALL_ARGUMENTS] = {"arguments", true}, [CALL_LENGTH] = {"length", true},
      [CALL_ITEMS] = {"items", true},         [CALL_VECTOR] = {"vector", true},
      [CALL_MESSAGE] = {"message", true},     [CALL_THROWS] = {"throws", false},
      [CALL_PATH] = {"path", true},           [CALL_FLAGS] = {"flags", true},
      [CALL_MODE] = {"mode", true},           [CALL_VARIADIC] = {"variadic", false},
      [CALL_CODE] = {"code", true},           [CALL_MISNAMED] = {"misnamed", true},
      [CALL_BY_ERRNO] = {"by-errno", true},   [CALL_FILE] = {"file", true},
      [CALL_RETURNS] = {"returns", true},     [CALL_FORESEEN] = {"foreseen", false},
      [CALL_FLUSHED] = {"flushed", true},     [CALL_OBJECT] = {"object", false},
      [CALL_ONLY] = {"only", false},          [CALL_STARTS] = {"starts", true},
      [CALL_HANDS] = {"hands", true},         [CALL_WHENCE] = {"whence", true},
      [CALL_FILLS] = {"fills", true},
  };
  struct knowledge *k = at->to;
  for (unsigned i = 0; i < COUNT(kinds); i++) {
    if (strcmp(kind, kinds[i].word) != 0) continue;
    uint64_t n = 1;
    const char *name = kinds[i].argument ? strtok_r(NULL, " 	", save) : word;
    if (!name) return lines_bad(at, "a name is missing behind", word);
    int r = kinds[i].argument ? read_argument(at, i, word, &n) : 0;
    uint64_t hash = hash_string(name), facts = 0;
    (void)map_get(&k->called, hash, &facts);
    if (r >= 0) r = map_put(&k->called, hash, facts | 1ull << i);
    return r < 0 ? r : map_put(&k->calling, calling_key_of(i, hash), n);
  }
  return lines_bad(at, "not a fact about functions:", kind);
}

/* noreturn, infallible, errno and no-errno NAME, error VALUE NAME, success KIND NAME, and how it is called */
static int read_function(struct lines *at, char *line) {
  struct knowledge *k = at->to;
  char *save = NULL, *fact = strtok_r(line, " 	", &save), *name = strtok_r(NULL, " 	", &save);
  if (!name) return lines_bad(at, "a name is missing behind", fact);
  if (strcmp(fact, "noreturn") == 0) return map_put(&k->noreturn, hash_string(name), 1);
  if (strcmp(fact, "infallible") == 0) return map_put(&k->infallible, hash_string(name), 1);
  if (strcmp(fact, "errno") == 0) return map_put(&k->errnos, hash_string(name), KNOWN_ADDRESS);
  if (strcmp(fact, "no-errno") == 0) return map_put(&k->errnos, hash_string(name), KNOWN_LEFT_ALONE);
  if (strcmp(fact, "error") == 0) return read_told(at, name, &save);
  if (strcmp(fact, "success") == 0) return read_success(at, name, &save);
  return read_calling(at, fact, name, &save);
}

int knowledge_read_errors(struct knowledge *k, const char *path, struct err *e) {
  return lines_read(path, read_syscall, k, &k->hash, e);
}

int knowledge_parse_errors(struct knowledge *k, const char *name, char *text, struct err *e) {
  k->hash = hash_mix(k->hash ^ hash_string(text));
  return lines_parse(name, text, read_syscall, k, e);
}

static int load_functions(struct knowledge *k, const char *folder, struct err *e) {
  struct text path = {0};
  text_addf(&path, "%s/functions", folder);
  int r = path.failed ? -ENOMEM : lines_read(path.at, read_function, k, &k->hash, e);
  text_done(&path);
  return r;
}

static int give(struct knowledge *k, int r, struct knowledge *ret) {
  if (r < 0)
    knowledge_done(k);
  else
    *ret = *k;
  return r;
}

int knowledge_load(const char *folder, bool no_cache, struct knowledge *ret, struct err *e) {
  struct knowledge k = {0};
  int r = knowledge_load_kernel(folder, no_cache, &k, e);
  if (r >= 0) r = load_functions(&k, folder, e);
  return give(&k, r, ret);
}

int knowledge_load_functions(const char *folder, struct knowledge *ret, struct err *e) {
  struct knowledge k = {0};
  return give(&k, load_functions(&k, folder, e), ret);
}

void knowledge_done(struct knowledge *k) {
  map_done(&k->syscalls);
  map_done(&k->noreturn);
  map_done(&k->errnos);
  map_done(&k->success);
  map_done(&k->infallible);
  map_done(&k->called);
  map_done(&k->calling);
  vec_done(&k->told);
  vec_done(&k->errors);
  vec_done(&k->conditions);
  free(k->kernel);
  free(k->kernel_note);
}

/* Does what is known of the arguments rule the errno out? */
static bool ruled_out(const struct knowledge *k, const struct known_errors *errors, const struct solver_syscall *call,
                      unsigned error) {
  bool only = false, met = false;
  for (uint32_t i = 0; i < errors->n_conditions; i++) {
    const struct errno_condition *c = &k->conditions.at[errors->first_condition + i];
    if (c->error != error || !(call->known >> c->arg & 1)) continue;
    bool equal = (int32_t)call->values[c->arg] == c->value;
    if (!c->only && equal) return true;
    only |= c->only;
    met |= c->only && equal;
  }
  return only && !met;
}

enum solver_known knowledge_syscall(void *knowledge, const struct solver_syscall *call, uint64_t bits[3]) {
  const struct knowledge *k = knowledge;
  uint64_t i;
  if (!map_get(&k->syscalls, call->number, &i)) return SOLVER_UNKNOWN;
  const struct known_errors *errors = &k->errors.at[i];
  if (errors->more && errno_set_empty(&errors->set)) return SOLVER_UNKNOWN;
  memcpy(bits, errors->set.bits, sizeof errors->set.bits);
  for (unsigned e = 1; call->known && errors->n_conditions && e <= ERRNO_MAX; e++)
    if (bits[e / 64] >> (e % 64) & 1 && ruled_out(k, errors, call, e)) bits[e / 64] &= ~(1ull << (e % 64));
  return errors->more ? SOLVER_PARTLY : SOLVER_KNOWN;
}

unsigned knowledge_syscall_args(void *knowledge, uint64_t number) {
  const struct knowledge *k = knowledge;
  unsigned args = 0;
  uint64_t i;
  if (!map_get(&k->syscalls, number, &i)) return 0;
  const struct known_errors *errors = &k->errors.at[i];
  for (uint32_t c = 0; c < errors->n_conditions; c++)
    args |= 1u << k->conditions.at[errors->first_condition + c].arg;
  return args;
}

bool knowledge_infallible(void *knowledge, const char *name) {
  const struct knowledge *k = knowledge;
  return map_get(&k->infallible, hash_string(name), NULL);
}

bool knowledge_noreturn(void *knowledge, const char *name) {
  const struct knowledge *k = knowledge;
  return map_get(&k->noreturn, hash_string(name), NULL);
}

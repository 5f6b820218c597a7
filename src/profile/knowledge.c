/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the data files know: errors of system calls (kernel/NAME.errors), and what is known about functions (functions).
 *
 * Lines of words; # starts a comment. A line that is not understood is an error with its position: silence would be a
 * wrong profile.
 */
#include "profile/analyse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (16u << 20)

struct reader {
  struct knowledge *k;
  const char *path;
  unsigned line;
  struct err *e;
};

static int bad(const struct reader *r, const char *what, const char *word) {
  return err_set(r->e, -EINVAL, "%s:%u: %s '%s'", r->path, r->line, what, word);
}

/* ARG=VALUE|VALUE...] or ARG!VALUE], behind an errno's opening bracket. */
static int read_condition(struct reader *r, int error, char *text) {
  size_t n = strlen(text);
  if (n < 4) return bad(r, "not a condition (as in [4!-1] or [1=6|7]):", text);
  struct errno_condition c = {.error = (uint8_t)error, .arg = (uint8_t)(text[0] - '0'), .only = text[1] == '='};
  if (text[n - 1] != ']' || c.arg >= FLOW_ARGS || (!c.only && text[1] != '!'))
    return bad(r, "not a condition (as in [4!-1] or [1=6|7]):", text);
  text[n - 1] = 0;
  for (char *rest = text + 2, *word; (word = strsep(&rest, "|")) != NULL;) {
    int64_t value;
    if (number_parse(word, &value) < 0 || value < INT32_MIN || value > UINT32_MAX) return bad(r, "not a number:", word);
    c.value = (int32_t)value;
    if (vec_push(&r->k->conditions, c) < 0) return -ENOMEM;
  }
  return 0;
}

/* NUMBER NAME ERRNO... */
static int read_syscall(struct reader *r, char *line) {
  char *save = NULL, *word = strtok_r(line, " \t", &save);
  struct syscall_errors errors = {.first_condition = (uint32_t)r->k->conditions.n};
  int64_t number;
  if (number_parse(word, &number) < 0 || number < 0 || number >= SYSCALL_MAX)
    return bad(r, "not a system call's number:", word);
  word = strtok_r(NULL, " \t", &save);
  if (!word) return bad(r, "a name is missing behind", line);
  while ((word = strtok_r(NULL, " \t", &save)) != NULL) {
    char *condition = strchr(word, '[');
    if (condition) *condition++ = 0;
    int e = errno_number(word);
    if (!e) return bad(r, "not an errno:", word);
    errno_set_add(&errors.set, e);
    int ret = condition ? read_condition(r, e, condition) : 0;
    if (ret < 0) return ret;
  }
  if (map_get(&r->k->syscalls, (uint64_t)number, NULL)) return bad(r, "a second line for system call", line);
  int ret = map_put(&r->k->syscalls, (uint64_t)number, r->k->errors.n);
  errors.n_conditions = (uint32_t)r->k->conditions.n - errors.first_condition;
  return ret < 0 ? ret : vec_push(&r->k->errors, errors);
}

/* success KIND NAME */
static int read_success(struct reader *r, const char *kind, char **save) {
  static const char *const kinds[] = {"never", "zero", "number", "count", "length", "character", "pointer"};
  const char *name = strtok_r(NULL, " \t", save);
  for (size_t i = 0; i < COUNT(kinds); i++) {
    if (strcmp(kind, kinds[i]) != 0) continue;
    if (!name) return bad(r, "a name is missing behind", kind);
    return map_put(&r->k->success, hash_string(name), SUCCESS_NEVER + i);
  }
  return bad(r, "not a kind of success:", kind);
}

/* error VALUE NAME */
static int read_told(struct reader *r, const char *value, char **save) {
  struct told_error t;
  const char *name = strtok_r(NULL, " \t", save);
  if (number_parse(value, &t.value) < 0) return bad(r, "not a number:", value);
  if (!name) return bad(r, "a name is missing behind", value);
  t.name = hash_string(name);
  return vec_push(&r->k->told, t);
}

/* noreturn NAME, infallible NAME, errno NAME, error VALUE NAME, success KIND NAME */
static int read_function(struct reader *r, char *line) {
  char *save = NULL, *fact = strtok_r(line, " \t", &save), *name = strtok_r(NULL, " \t", &save);
  if (!name) return bad(r, "a name is missing behind", fact);
  if (strcmp(fact, "noreturn") == 0) return map_put(&r->k->noreturn, hash_string(name), 1);
  if (strcmp(fact, "infallible") == 0) return map_put(&r->k->infallible, hash_string(name), 1);
  if (strcmp(fact, "errno") == 0) return map_put(&r->k->errnos, hash_string(name), 1);
  if (strcmp(fact, "error") == 0) return read_told(r, name, &save);
  if (strcmp(fact, "success") == 0) return read_success(r, name, &save);
  return bad(r, "not a fact about functions:", fact);
}

static int read_lines(struct reader *r, char *bytes, int (*read_line)(struct reader *, char *)) {
  for (char *rest = bytes, *line; (line = strsep(&rest, "\n")) != NULL;) {
    r->line++;
    line += strspn(line, " \t\r");
    if (!*line || *line == '#') continue;
    line[strcspn(line, "\r")] = 0;
    int ret = read_line(r, line);
    if (ret < 0) return ret;
  }
  return 0;
}

static int read_data(struct knowledge *k, const char *path, int (*read_line)(struct reader *, char *), struct err *e) {
  char *bytes = NULL;
  size_t size = 0;
  int r = file_read(path, DATA_MAX, &bytes, &size, e);
  if (r < 0) return r;
  k->hash = hash_mix(k->hash ^ hash_bytes(bytes, size));
  struct reader reader = {.k = k, .path = path, .e = e};
  r = read_lines(&reader, bytes, read_line);
  free(bytes);
  return r;
}

int knowledge_read_errors(struct knowledge *k, const char *path, struct err *e) {
  return read_data(k, path, read_syscall, e);
}

int knowledge_parse_errors(struct knowledge *k, const char *name, char *text, struct err *e) {
  struct reader reader = {.k = k, .path = name, .e = e};
  k->hash = hash_mix(k->hash ^ hash_string(text));
  return read_lines(&reader, text, read_syscall);
}

static int load_functions(struct knowledge *k, const char *folder, struct err *e) {
  struct text path = {0};
  text_addf(&path, "%s/functions", folder);
  int r = path.failed ? -ENOMEM : read_data(k, path.at, read_function, e);
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
  vec_done(&k->told);
  vec_done(&k->errors);
  vec_done(&k->conditions);
}

/* Does what is known of the arguments rule the errno out? */
static bool ruled_out(const struct knowledge *k, const struct syscall_errors *errors, const struct flow_syscall *call,
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

bool knowledge_syscall(void *knowledge, const struct flow_syscall *call, uint64_t bits[3]) {
  const struct knowledge *k = knowledge;
  uint64_t i;
  if (!map_get(&k->syscalls, call->number, &i)) return false;
  const struct syscall_errors *errors = &k->errors.at[i];
  memcpy(bits, errors->set.bits, sizeof errors->set.bits);
  for (unsigned e = 1; call->known && errors->n_conditions && e <= ERRNO_MAX; e++)
    if (bits[e / 64] >> (e % 64) & 1 && ruled_out(k, errors, call, e)) bits[e / 64] &= ~(1ull << (e % 64));
  return true;
}

unsigned knowledge_syscall_args(void *knowledge, uint64_t number) {
  const struct knowledge *k = knowledge;
  unsigned args = 0;
  uint64_t i;
  if (!map_get(&k->syscalls, number, &i)) return 0;
  const struct syscall_errors *errors = &k->errors.at[i];
  for (uint32_t c = 0; c < errors->n_conditions; c++)
    args |= 1u << k->conditions.at[errors->first_condition + c].arg;
  return args;
}

bool knowledge_noreturn(void *knowledge, const char *name) {
  const struct knowledge *k = knowledge;
  return map_get(&k->noreturn, hash_string(name), NULL);
}

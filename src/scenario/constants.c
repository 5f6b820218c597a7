/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants by name: errno, and what data/constants has. The file is read when a condition first names one.
 */
#include "scenario/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DATA_MAX (1u << 20)

static int read_line(struct plan *p, const char *path, unsigned line, char *text) {
  char *save = NULL, *name = strtok_r(text, " \t\r", &save), *value = strtok_r(NULL, " \t\r", &save);
  int64_t number;
  if (!name || *name == '#') return 0;
  if (!value || number_parse(value, &number) < 0)
    return err_set(p->e, -EINVAL, "%s:%u: a number is missing behind '%s'", path, line, name);
  const char *kept = arena_strdup(&p->arena, name);
  if (!kept || vec_push(&p->constant_names, kept) < 0) return plan_no_memory(p);
  return map_put(&p->constants, hash_string(name), (uint64_t)number) < 0 ? plan_no_memory(p) : 0;
}

static int load(struct plan *p) {
  struct text path = {0};
  char *bytes = NULL;
  size_t size;
  unsigned line = 0;
  text_addf(&path, "%s/constants", p->world->data);
  int r = path.failed ? plan_no_memory(p) : file_read(path.at, DATA_MAX, &bytes, &size, p->e);
  for (char *rest = bytes, *text; r >= 0 && (text = strsep(&rest, "\n")) != NULL;)
    r = read_line(p, path.at, ++line, text);
  free(bytes);
  text_done(&path);
  return r;
}

int plan_constant(struct plan *p, const struct expr *x, int64_t *ret) {
  char way[SOURCE_HINT];
  uint64_t value;
  int error = errno_number(x->string);
  if (error || strcmp(x->string, "NULL") == 0) {
    *ret = error;
    return 0;
  }
  int r = p->constant_names.n ? 0 : load(p);
  if (r < 0) return r;
  if (!map_get(&p->constants, hash_string(x->string), &value))
    return FAIL_AT(x->at, p->e, -ENOENT, "'%.60s' is not a constant that is known (%s)", x->string,
                   source_hint(name_nearest(x->string, p->constant_names.at, p->constant_names.n),
                               "write its value; data/constants has names", way));
  *ret = (int64_t)value;
  return 0;
}

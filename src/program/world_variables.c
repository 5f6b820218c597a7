/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that conditions name: looked for in the debug information of the program, then of its libraries.
 */
#include "program/program_world.h"

#include <errno.h>
#include <string.h>

static struct wire_location to_wire(const struct image_location *l, size_t module) {
  _Static_assert((int)IMAGE_IS_ENTRY == (int)WIRE_IS_ENTRY, "kinds of locations are the same");
  return (struct wire_location){.module = (uint32_t)module,
                                .kind = (uint8_t)l->kind,
                                .reg = l->reg,
                                .piece = l->piece,
                                .entry = l->entry,
                                .start = l->start,
                                .end = l->end,
                                .offset = l->offset};
}

static int take(const struct image_variable *from, size_t module, struct scenario_variable *ret) {
  *ret = (struct scenario_variable){
      .local = from->local,
      .module = (uint32_t)module,
      .address = from->address,
      .of_thread = from->of_thread,
      .n_steps = from->n_steps,
      .width = from->width,
      .sign = from->sign,
      .pointer = from->pointer,
      .characters = from->characters,
      .bit = from->bit,
      .bits = from->bits,
      .file = from->file,
      .other = from->other,
  };
  for (size_t i = 0; i < from->n_steps; i++)
    ret->steps[i].offset = from->steps[i];
  for (size_t i = 0; i < from->locations.n; i++)
    if (vec_push(&ret->locations, to_wire(&from->locations.at[i], module)) < 0) return -ENOMEM;
  for (size_t i = 0; i < from->entries.n; i++)
    if (vec_push(&ret->entries, to_wire(&from->entries.at[i], module)) < 0) return -ENOMEM;
  return 0;
}

/*
 * The module at hand knows best what is wrong if it has the function, or anything else but nothing; of those that have
 * not even the function, the first one that has a name like it.
 */
static bool is_better(int now, const struct err *why, int before, const struct err *said) {
  bool near = strchr(why->text, '(') && !strchr(said->text, '(');
  if (before == -ESRCH && now == -ESRCH) return near;
  return before == 0 || before == -ESRCH || (now != -ENOENT && now != -ESRCH);
}

static int find_variable(struct program_world *w, const char *function, const char *name, unsigned parameter,
                         struct scenario_variable *ret, struct err *e) {
  struct err why = {0};
  int best = 0;
  bool any = false;
  _Static_assert(SCENARIO_STEPS >= IMAGE_STEPS, "all steps have a place");
  for (size_t i = 0; i < w->modules->modules.n; i++) {
    struct image_debug *d = program_module_debug(&w->modules->modules.at[i]);
    struct image_variable found;
    if (!d) continue;
    any = true;
    int r = image_debug_variable(d, function, name, parameter, &found, &why);
    if (r >= 0) {
      r = take(&found, i, ret);
      image_variable_done(&found);
      return r < 0 ? err_set(e, r, "out of memory") : 0;
    }
    if (r == -ENOMEM) return err_set(e, r, "%s", why.text);
    if (!is_better(r, &why, best, e)) continue;
    best = r;
    *e = why;
  }
  if (!any)
    return err_set(e, -ENODATA, "neither %s nor its libraries have debug information (compile with -g)",
                   w->modules->modules.at[0].path);
  /* Those of libc are not what is missed. */
  if ((best == -ESRCH || best == -ENOENT) && !program_module_debug(&w->modules->modules.at[0])) {
    why = *e;
    return best == -ESRCH ? err_set(e, best, "no function '%s': %s has no debug information (compile with -g)",
                                    function, w->modules->modules.at[0].path)
                          : err_set(e, best, "%s; %s has no debug information (compile with -g)", why.text,
                                    w->modules->modules.at[0].path);
  }
  if (best != -ESRCH) return best;
  const char *near = strchr(e->text, '(');
  (void)snprintf(why.text, sizeof why.text, "%s", near ? near : "");
  return err_set(e, -ESRCH, "no function '%s' in the debug information of %s and its libraries%s%s", function,
                 w->modules->modules.at[0].path, *why.text ? " " : "", why.text);
}

int program_world_variable(void *context, const char *function, const char *name, unsigned parameter,
                           struct scenario_variable *ret, struct err *e) {
  struct program_world *w = context;
  int r = find_variable(w, function, name, parameter, ret, e);
  return r == -ENOENT || r == -ESRCH ? program_modules_lack(w->modules, r, e) : r;
}

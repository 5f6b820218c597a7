/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triggers of LFI's table IX that look at a program's state: GlobalIs compares an exported variable with a number.
 *
 *   symbol   its name
 *   above    the number; the answer is yes if the variable, an int, is greater
 */
#include <murphy/trigger.h>

#include <dlfcn.h>

struct state {
  const volatile int *at;
  int64_t above;
};

static int init(struct murphy_trigger *t) {
  struct state *s = t->state;
  s->at = dlsym(RTLD_DEFAULT, murphy_trigger_text(t, "symbol", ""));
  if (!s->at) t->problem = "there is no such symbol";
  return s->at ? murphy_trigger_number(t, "above", &s->above) : -1;
}

static int eval(struct murphy_trigger *t, const struct murphy_call *call) {
  const struct state *s = t->state;
  (void)call;
  return *s->at > s->above;
}

MURPHY_TRIGGER(GlobalIs, .init = init, .eval = eval, .state_size = sizeof(struct state));

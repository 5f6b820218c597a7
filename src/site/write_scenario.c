/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scenario that LFI's call-site analyzer generates: for each site, a trigger on its call stack and a fault that it
 * does not check.
 */
#include "site/site.h"

/* Sites of the second program and those that follow have its number too. */
static void add_id(struct text *t, size_t program, uint64_t at) {
  text_add(t, "Trig");
  if (program) text_addf(t, "%zu.", program + 1);
  text_addf(t, "%llx", (unsigned long long)at);
}

static void add_site(struct text *t, const struct site_list *l, size_t program, const struct site *s) {
  uint64_t at = s->address;
  text_add(t, "  <trigger id=\"");
  add_id(t, program, at);
  text_add(t, "\" class=\"CallStackTrigger\">\n    <args>\n      <frame>\n        <module>");
  text_add_xml(t, l->module);
  text_addf(t, "</module>\n        <offset>0x%llx</offset>\n", (unsigned long long)at);
  text_add(t, "      </frame>\n    </args>\n  </trigger>\n  <function name=\"");
  text_add_xml(t, s->symbol);
  text_addf(t, "\" retval=\"%lld\"", (long long)s->retval);
  const char *name = s->error ? errno_name(s->error) : NULL;
  if (name) text_addf(t, " errno=\"%s\"", name);
  text_add(t, ">\n    <reftrigger ref=\"");
  add_id(t, program, at);
  text_add(t, "\" />\n  </function>\n");
}

/* A tail call leaves no frame of the site's own on the stack. */
static void add_jump(struct text *t, const struct site *s) {
  text_addf(t, "  <!-- 0x%llx jumps to ", (unsigned long long)s->address);
  text_add_xml(t, s->symbol);
  text_add(t, ": no frame of the stack stands for it -->\n");
}

static void add_float(struct text *t, const struct site *s) {
  text_addf(t, "  <!-- 0x%llx: ", (unsigned long long)s->address);
  text_add_xml(t, s->symbol);
  text_add(t, " returns a floating-point number, and cannot be made to fail -->\n");
}

void site_write_scenario(const struct site_list *l, size_t n, enum site_verdict verdict, struct text *to) {
  text_add(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<scenario>\n");
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < l[i].n; k++) {
      const struct site *s = &l[i].sites[k];
      if (s->verdict != verdict || !site_counts(s, true)) continue;
      if (s->floating)
        add_float(to, s);
      else if (s->after)
        add_site(to, &l[i], i, s);
      else
        add_jump(to, s);
    }
  text_add(to, "</scenario>\n");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The XML form of a profile: that of figure 2 of the LFI paper, and what it has no place for as further attributes.
 *
 * Each value of errno is a TLS side effect at errno's home, with its name beside the number. Attributes that would only
 * repeat the default are left out, because people read and edit these files. Stable: same profile, same bytes.
 */
#include "profile/format.h"

static void add_attribute(struct text *to, const char *name, const char *value) {
  if (!value) return;
  text_addf(to, " %s=\"", name);
  text_add_xml(to, value);
  text_add(to, "\"");
}

static void add_offset(struct text *to, const char *name, uint64_t offset) {
  text_addf(to, " %s=\"0x%llx\"", name, (unsigned long long)offset);
}

static void write_errno(const struct profile *p, int number, struct text *to) {
  const char *name = errno_name(number);
  text_add(to, "        <side-effect type=\"TLS\"");
  if (p->errno_module) {
    add_attribute(to, "module", p->errno_module);
    add_offset(to, "offset", p->errno_offset);
  }
  if (name)
    text_addf(to, " errno=\"%s\">%d</side-effect>\n", name, number);
  else
    text_addf(to, " errno=\"%d\">%d</side-effect>\n", number, number);
}

static void write_side(const struct profile_side *side, struct text *to) {
  for (size_t i = 0; i < side->n_values; i++) {
    text_addf(to, "        <side-effect type=\"%s\"", profile_side_types[side->kind]);
    if (side->kind == SIDE_ARG)
      text_addf(to, " argument=\"%u\"", side->argument);
    else
      add_attribute(to, "module", side->module ? side->module : "");
    add_offset(to, "offset", side->offset);
    add_attribute(to, "name", side->name);
    if (side->width) text_addf(to, " width=\"%u\"", side->width);
    text_addf(to, ">%lld</side-effect>\n", (long long)side->values[i]);
  }
}

static bool has_children(const struct profile_error *e) {
  return !errno_set_empty(&e->errnos) || e->n_sides || e->n_evidence;
}

static void write_error(const struct profile *p, const struct profile_error *e, struct text *to) {
  text_addf(to, "      <error-codes retval=\"%lld\"", (long long)e->retval);
  add_attribute(to, "wide", e->wide ? "true" : NULL);
  add_attribute(to, "errno-unknown", e->errno_unknown ? "true" : NULL);
  if (e->confidence != PROFILE_CERTAIN) add_attribute(to, "confidence", profile_confidence_words[e->confidence]);
  if (!has_children(e)) {
    text_add(to, "/>\n");
    return;
  }
  text_add(to, ">\n");
  for (int i = 1; i <= ERRNO_MAX; i++)
    if (errno_set_has(&e->errnos, i)) write_errno(p, i, to);
  for (size_t i = 0; i < e->n_sides; i++)
    write_side(&e->sides[i], to);
  for (size_t i = 0; i < e->n_evidence; i++) {
    text_add(to, "        <evidence>");
    text_add_xml(to, e->evidence[i]);
    text_add(to, "</evidence>\n");
  }
  text_add(to, "      </error-codes>\n");
}

static void add_unknown(struct text *to, unsigned unknown) {
  const char *before = " unknown=\"";
  for (size_t i = 0; i < profile_n_reasons; i++) {
    if (!(unknown & profile_reasons[i].bit)) continue;
    text_addf(to, "%s%s", before, profile_reasons[i].word);
    before = ", ";
  }
  if (before[0] == ',') text_add(to, "\"");
}

static void write_function(const struct profile *p, const struct profile_function *f, struct text *to) {
  text_add(to, "    <function");
  add_attribute(to, "name", f->name);
  add_attribute(to, "version", f->version);
  if (f->syscall) text_addf(to, " syscall=\"%u\"", f->syscall - 1);
  add_unknown(to, f->unknown);
  if (f->n_errors == 0) {
    text_add(to, "/>\n");
    return;
  }
  text_add(to, ">\n");
  for (size_t i = 0; i < f->n_errors; i++)
    write_error(p, &f->errors[i], to);
  text_add(to, "    </function>\n");
}

static void write_library(const struct profile *p, const struct profile_library *l, struct text *to) {
  text_add(to, "  <library");
  add_attribute(to, "name", l->name ? l->name : "");
  add_attribute(to, "path", l->path);
  add_attribute(to, "build-id", l->build_id);
  add_attribute(to, "modules", l->modules);
  add_attribute(to, "modules-missing", l->modules_missing);
  add_attribute(to, "functions-only", l->functions_only ? "true" : NULL);
  text_add(to, ">\n");
  for (size_t i = 0; i < l->n_functions; i++)
    write_function(p, &l->functions[i], to);
  text_add(to, "  </library>\n");
}

void profile_write_xml(const struct profile *p, struct text *to) {
  text_addf(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<profile format=\"%d\"", PROFILE_FORMAT);
  if (p->errno_module) {
    add_attribute(to, "errno-module", p->errno_module);
    add_offset(to, "errno-offset", p->errno_offset);
  }
  text_add(to, ">\n");
  for (size_t i = 0; i < p->n_libraries; i++)
    write_library(p, &p->libraries[i], to);
  text_add(to, "</profile>\n");
}

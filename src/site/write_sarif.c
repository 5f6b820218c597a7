/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites as SARIF 2.1.0, for code scanning: one rule for each kind of finding, one result for each site.
 *
 * A result has a place in the source where there is one, else the offset in the binary. Fingerprints leave out lines
 * and addresses, so that a finding stays the same one when the code around it moves.
 */
#include "sarif/sarif.h"
#include "site/site.h"

static const struct sarif_rule rules[] = {
    {"unchecked-dereferenced", "ErrorDereferenced", "An error is returned as a pointer that is used without a check.",
     "error"},
    {"unchecked-used", "ErrorUsed", "An error is used as if it were a result.", "warning"},
    {"unchecked-ignored", "ErrorIgnored", "What a call returns is ignored, so its failure goes unnoticed.", "warning"},
    {"unchecked-returned", "ErrorReturned", "An error is handed on without a check.", "note"},
    {"partly-checked", "ErrorsPartlyChecked", "Some errors of a call are checked and others taken for success.",
     "warning"},
};

static unsigned rule_of(const struct site *s) {
  static const unsigned by_use[4] = {2, 1, 0, 3};
  return s->verdict == SITE_SOME ? 4 : by_use[s->use];
}

/* What stays when lines and addresses move. */
static uint64_t kind_of(const struct site_list *l, const struct site *s) {
  uint64_t h = hash_mix(hash_string(s->function) ^ hash_mix(hash_string(l->module)));
  h = hash_mix(h ^ hash_string(s->in ? s->in : "") ^ s->verdict);
  return s->in ? h : h + s->address;
}

/* How many sites of the kind there were before, which is counted. */
static uint64_t count_twin(struct map *twins, uint64_t kind, struct text *t) {
  uint64_t before = 0;
  (void)map_get(twins, kind, &before);
  if (map_put(twins, kind, before + 1) < 0) t->failed = true;
  return before;
}

static void add_result(struct sarif *log, const struct site_list *l, const struct site *s, uint64_t fingerprint) {
  struct sarif_location at = {
      .file = s->at.file,
      .line = s->at.line,
      .column = s->at.column,
      .binary = l->program,
      .address = s->address,
      .function = s->in,
  };
  struct text message = {0};
  text_addf(&message, "%s (call at %s+0x%llx)", s->reason, l->module, (unsigned long long)s->address);
  sarif_result(log, rule_of(s), s->unreached ? "note" : NULL, &message, &at);
  text_done(&message);
  sarif_result_end(log, "murphySite/v1", fingerprint, s->suppressed ? "inSource" : s->in_baseline ? "external" : NULL);
}

void site_write_sarif(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to) {
  struct sarif log = {.to = to, .folder = o->folder};
  struct map twins = {0};
  sarif_start(&log, rules, COUNT(rules), "high");
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < l[i].n; k++) {
      const struct site *s = &l[i].sites[k];
      uint64_t kind = kind_of(&l[i], s), twin = count_twin(&twins, kind, to);
      bool finding = s->verdict == SITE_NONE || s->verdict == SITE_SOME;
      if (!finding || !(o->verdicts >> s->verdict & 1) || (!o->all && s->rank < SITE_QUIET)) continue;
      add_result(&log, &l[i], s, hash_mix(kind + twin));
    }
  map_done(&twins);
  sarif_end(&log);
}

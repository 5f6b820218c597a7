/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites as SARIF 2.1.0, for code scanning: one rule for each kind of finding, one result for each site.
 *
 * A result has a place in the source where there is one, else the offset in the binary. Fingerprints leave out lines
 * and addresses, so that a finding stays the same one when the code around it moves.
 */
#include "site/site.h"

#include "config.h"

#include <string.h>

#define BASE "WORKDIR"

struct rule {
  const char *id, *name, *text, *level;
};

static const struct rule rules[] = {
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

static void add_rules(struct text *t) {
  for (size_t i = 0; i < COUNT(rules); i++) {
    const struct rule *r = &rules[i];
    text_addf(t,
              "%s{\"id\":\"%s\",\"name\":\"%s\",\"shortDescription\":{\"text\":\"%s\"},"
              "\"fullDescription\":{\"text\":\"%s\"},\"help\":{\"text\":\"%s\"},"
              "\"defaultConfiguration\":{\"level\":\"%s\"},"
              "\"properties\":{\"tags\":[\"reliability\",\"error-handling\"],\"precision\":\"high\","
              "\"problem.severity\":\"%s\"}}",
              i ? "," : "", r->id, r->name, r->text, r->text, r->text, r->level,
              strcmp(r->level, "note") == 0 ? "recommendation" : r->level);
  }
}

/* A path as a URI: all but letters, digits and a few signs as percent and hex. */
static void add_path(struct text *t, const char *path) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  for (const char *c = path; *c; c++) {
    if (strchr(plain, *c))
      text_add_bytes(t, c, 1);
    else
      text_addf(t, "%%%02X", (unsigned char)*c);
  }
}

/* What is left of PATH below FOLDER, or NULL. */
static const char *below(const char *path, const char *folder) {
  if (!folder) return NULL;
  size_t n = strlen(folder);
  while (n && folder[n - 1] == '/')
    n--;
  if (strncmp(path, folder, n) != 0 || path[n] != '/') return NULL;
  path += n;
  while (*path == '/')
    path++;
  bool up = strncmp(path, "../", 3) == 0 || strstr(path, "/../");
  return *path && !up ? path : NULL;
}

/* The place of a file: below the working folder relative to that, so that other machines find it too. */
static void add_artifact(struct text *t, const char *path, const char *folder) {
  const char *rest = *path == '/' ? below(path, folder) : path;
  text_add(t, "\"artifactLocation\":{\"uri\":\"");
  while (rest && strncmp(rest, "./", 2) == 0)
    rest += 2;
  if (!rest) text_add(t, "file://");
  add_path(t, rest ? rest : path);
  text_add(t, rest && folder ? "\",\"uriBaseId\":\"" BASE "\"}" : "\"}");
}

/* The name for people, and the symbol if that is another. */
static void add_logical(struct text *t, const char *symbol) {
  struct text name = {0};
  bool other = name_readable(symbol, &name);
  text_add(t, ",\"logicalLocations\":[{\"kind\":\"function\",\"name\":");
  text_add_json(t, name.at ? name.at : symbol);
  if (other) text_add(t, ",\"decoratedName\":");
  if (other) text_add_json(t, symbol);
  text_add(t, "}]");
  t->failed |= name.failed;
  text_done(&name);
}

static void add_location(struct text *t, const struct site_list *l, const struct site *s, const char *folder) {
  text_add(t, "{\"physicalLocation\":{");
  if (s->at.file && s->at.line) {
    add_artifact(t, s->at.file, folder);
    text_addf(t, ",\"region\":{\"startLine\":%u", s->at.line);
    if (s->at.column) text_addf(t, ",\"startColumn\":%u", s->at.column);
    text_add(t, "}");
  } else {
    add_artifact(t, l->program, folder);
    text_add(t, ",\"region\":{\"startLine\":1}");
    text_addf(t, ",\"address\":{\"absoluteAddress\":%llu,\"kind\":\"instruction\"}", (unsigned long long)s->address);
  }
  text_add(t, "}");
  if (s->in) add_logical(t, s->in);
  text_add(t, "}");
}

static void add_message(struct text *t, const struct site_list *l, const struct site *s) {
  struct text m = {0};
  text_addf(&m, "%s (call at %s+0x%llx)", s->reason, l->module, (unsigned long long)s->address);
  text_add_json(t, m.at ? m.at : "");
  t->failed |= m.failed;
  text_done(&m);
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

static void add_result(struct text *t, const struct site_list *l, const struct site *s, uint64_t fingerprint,
                       const char *folder) {
  unsigned rule = rule_of(s);
  text_addf(t, "{\"ruleId\":\"%s\",\"ruleIndex\":%u,\"level\":\"%s\",\"message\":{\"text\":", rules[rule].id, rule,
            s->unreached ? "note" : rules[rule].level);
  add_message(t, l, s);
  text_add(t, "},\"locations\":[");
  add_location(t, l, s, folder);
  text_add(t, "],");
  text_addf(t, "\"partialFingerprints\":{\"murphySite/v1\":\"%016llx\"}", (unsigned long long)fingerprint);
  if (s->suppressed || s->in_baseline)
    text_addf(t, ",\"suppressions\":[{\"kind\":\"%s\",\"status\":\"accepted\"}]",
              s->suppressed ? "inSource" : "external");
  text_add(t, "}");
}

void site_write_sarif(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to) {
  struct map twins = {0};
  bool first = true;
  text_add(to, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
               "\"tool\":{\"driver\":{\"name\":\"murphy\",\"version\":\"" MURPHY_VERSION "\",\"rules\":[");
  add_rules(to);
  text_add(to, "]}},\"columnKind\":\"unicodeCodePoints\",");
  if (o->folder) {
    text_add(to, "\"originalUriBaseIds\":{\"" BASE "\":{\"uri\":\"file://");
    add_path(to, o->folder);
    text_add(to, "/\"}},");
  }
  text_add(to, "\"results\":[");
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < l[i].n; k++) {
      const struct site *s = &l[i].sites[k];
      uint64_t kind = kind_of(&l[i], s), twin = count_twin(&twins, kind, to);
      bool finding = s->verdict == SITE_NONE || s->verdict == SITE_SOME;
      if (!finding || !(o->verdicts >> s->verdict & 1) || (!o->all && s->rank < SITE_QUIET)) continue;
      text_add(to, first ? "\n" : ",\n");
      add_result(to, &l[i], s, hash_mix(kind + twin), o->folder);
      first = false;
    }
  map_done(&twins);
  text_add(to, "]}]}\n");
}

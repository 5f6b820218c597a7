/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of SARIF: the shape of a log, and how places in files and binaries are named. */
#include "sarif/sarif.h"

#include "config.h"

#include <inttypes.h>
#include <string.h>

#define BASE "WORKDIR"

void sarif_start(struct sarif *s, const struct sarif_rule *rules, size_t n, const char *precision) {
  struct text *t = s->to;
  s->rules = rules;
  text_add(t, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
              "\"tool\":{\"driver\":{\"name\":\"murphy\",\"version\":\"" MURPHY_VERSION "\",\"rules\":[");
  for (size_t i = 0; i < n; i++) {
    const struct sarif_rule *r = &rules[i];
    text_addf(t,
              "%s{\"id\":\"%s\",\"name\":\"%s\",\"shortDescription\":{\"text\":\"%s\"},"
              "\"fullDescription\":{\"text\":\"%s\"},\"help\":{\"text\":\"%s\"},"
              "\"defaultConfiguration\":{\"level\":\"%s\"},"
              "\"properties\":{\"tags\":[\"reliability\",\"error-handling\"],\"precision\":\"%s\","
              "\"problem.severity\":\"%s\"}}",
              i ? "," : "", r->id, r->name, r->text, r->text, r->text, r->level, precision,
              strcmp(r->level, "note") == 0 ? "recommendation" : r->level);
  }
  text_add(t, "]}},\"columnKind\":\"unicodeCodePoints\",");
  if (s->folder) {
    text_add(t, "\"originalUriBaseIds\":{\"" BASE "\":{\"uri\":\"file://");
    text_add_uri(t, s->folder);
    text_add(t, "/\"}},");
  }
  text_add(t, "\"results\":[");
}

void sarif_end(struct sarif *s) { text_add(s->to, "]}]}\n"); }

/* What is left of PATH below the folder, or NULL. */
static const char *below(const struct sarif *s, const char *path) {
  if (!s->folder) return NULL;
  size_t n = strlen(s->folder);
  while (n && s->folder[n - 1] == '/')
    n--;
  if (strncmp(path, s->folder, n) != 0 || path[n] != '/') return NULL;
  path += n;
  while (*path == '/')
    path++;
  bool up = !s->dots && (strncmp(path, "../", 3) == 0 || strstr(path, "/../"));
  return *path && !up ? path : NULL;
}

static void add_artifact(const struct sarif *s, const char *path) {
  const char *rest = *path == '/' ? below(s, path) : path;
  while (rest && strncmp(rest, "./", 2) == 0)
    rest += 2;
  text_add(s->to, "\"artifactLocation\":{\"uri\":\"");
  if (!rest) text_add(s->to, "file://");
  text_add_uri(s->to, rest ? rest : path);
  text_add(s->to, rest && s->folder ? "\",\"uriBaseId\":\"" BASE "\"}" : "\"}");
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

void sarif_add_location(const struct sarif *s, const struct sarif_location *at) {
  text_add(s->to, "{\"physicalLocation\":{");
  if (at->file && at->line) {
    add_artifact(s, at->file);
    text_addf(s->to, ",\"region\":{\"startLine\":%u", at->line);
    if (at->column) text_addf(s->to, ",\"startColumn\":%u", at->column);
    text_add(s->to, "}");
  } else {
    add_artifact(s, at->binary);
    text_addf(s->to,
              ",\"region\":{\"startLine\":1},\"address\":{\"absoluteAddress\":%" PRIu64 ",\"kind\":\"instruction\"}",
              at->address);
  }
  text_add(s->to, "}");
  if (at->function) add_logical(s->to, at->function);
  text_add(s->to, "}");
}

void sarif_result(struct sarif *s, unsigned rule, const char *level, const struct text *message,
                  const struct sarif_location *at) {
  const struct sarif_rule *r = &s->rules[rule];
  text_add(s->to, s->any ? ",\n" : "\n");
  s->any = true;
  text_addf(s->to, "{\"ruleId\":\"%s\",\"ruleIndex\":%u,\"level\":\"%s\",\"message\":{\"text\":", r->id, rule,
            level ? level : r->level);
  text_add_json(s->to, message->at ? message->at : "");
  s->to->failed |= message->failed;
  text_add(s->to, "},\"locations\":[");
  sarif_add_location(s, at);
  text_add(s->to, "],");
}

void sarif_result_end(struct sarif *s, const char *name, uint64_t fingerprint, const char *suppressed) {
  text_addf(s->to, "\"partialFingerprints\":{\"%s\":\"%016" PRIx64 "\"}", name, fingerprint);
  if (suppressed) text_addf(s->to, ",\"suppressions\":[{\"kind\":\"%s\",\"status\":\"accepted\"}]", suppressed);
  text_add(s->to, "}");
}

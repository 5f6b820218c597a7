/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines: sites that were accepted. A site is known by function, verdict, module, enclosing function and the last
 * part of the file's name, not by line or address, so that a rebuilt program still matches; a line stands for as many
 * sites as its count says, and one more than that is new. Tabs, newlines and backslashes in names are escaped, and the
 * escaped forms are what is compared.
 */
#include "site/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASELINE_MAX (64u << 20)
#define FIELDS 6
#define HEADER "# murphy baseline, format "
#define FORMAT "1"

static const char *file_part(const struct site *s) {
  if (!s->at.file) return "-";
  const char *slash = strrchr(s->at.file, '/');
  return slash ? slash + 1 : s->at.file;
}

static void add_word(struct text *t, const char *word) {
  static const char special[] = "\t\n\r\\", letters[] = "tnr\\";
  for (; *word; word++) {
    const char *which = strchr(special, *word);
    if (which)
      text_addf(t, "\\%c", letters[which - special]);
    else
      text_add_bytes(t, word, 1);
  }
}

/* Without a name, the place in the file is all there is. */
static void add_in(struct text *t, const struct site *s) {
  if (s->in)
    add_word(t, s->in);
  else
    text_addf(t, "0x%llx", (unsigned long long)s->address);
}

/* All but the count, with tabs between. */
static void add_key(struct text *t, const struct site_list *l, const struct site *s) {
  add_word(t, s->function);
  text_addf(t, "\t%s\t", site_verdict_words[s->verdict]);
  add_word(t, l->module);
  text_add(t, "\t");
  add_in(t, s);
  text_add(t, "\t");
  add_word(t, file_part(s));
}

static bool is_finding(const struct site *s) { return s->verdict == SITE_NONE || s->verdict == SITE_SOME; }

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int by_text(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

void site_write_baseline(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to) {
  VEC(char *) keys = {0};
  text_add(to, HEADER FORMAT "\n"
                             "# sites that are accepted: count, function, verdict, module, enclosing function, file\n");
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < l[i].n; k++) {
      const struct site *s = &l[i].sites[k];
      struct text key = {0};
      if (!is_finding(s) || !(o->verdicts >> s->verdict & 1)) continue;
      add_key(&key, &l[i], s);
      if (key.failed || vec_push(&keys, key.at) < 0) {
        text_done(&key);
        to->failed = true;
      }
    }
  if (keys.n) qsort(keys.at, keys.n, sizeof *keys.at, by_text);
  for (size_t i = 0, first = 0; i < keys.n; i++)
    if (i + 1 == keys.n || strcmp(keys.at[i], keys.at[i + 1]) != 0) {
      text_addf(to, "%zu\t%s\n", i + 1 - first, keys.at[i]);
      first = i + 1;
    }
  for (size_t i = 0; i < keys.n; i++)
    free(keys.at[i]);
  vec_done(&keys);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* A line of the file: what it accepts, and how many of that are left. */
struct entry {
  uint64_t left;
  bool here; /* of the module at hand */
};

struct baseline {
  const char *name;
  unsigned line;
  struct text module; /* as it is written */
  VEC(struct entry) entries;
  struct map by_key; /* hash → index */
};

static int add_entry(struct baseline *b, uint64_t hash, int64_t count, bool here) {
  uint64_t i = b->entries.n;
  if (!map_get(&b->by_key, hash, &i)) {
    int r = vec_push(&b->entries, (struct entry){.here = here});
    if (r >= 0) r = map_put(&b->by_key, hash, i);
    if (r < 0) return r;
  }
  b->entries.at[i].left += (uint64_t)count;
  return 0;
}

static int read_line(struct baseline *b, char *line, struct err *e) {
  char *words[FIELDS + 1] = {0}, *key = strchr(line, '\t');
  uint64_t hash = key ? hash_string(key + 1) : 0;
  int64_t count;
  unsigned n = 0;
  for (char *rest = line; rest && n <= FIELDS; n++)
    words[n] = strsep(&rest, "\t");
  if (n != FIELDS)
    return err_set(e, -EINVAL, "%s:%u: not six words with tabs between (write it with --format=baseline)", b->name,
                   b->line);
  for (unsigned i = 0; i < FIELDS; i++)
    if (!*words[i]) return err_set(e, -EINVAL, "%s:%u: word %u is empty", b->name, b->line, i + 1);
  if (number_parse(words[0], &count) < 0 || count < 1 || count > INT32_MAX)
    return err_set(e, -EINVAL, "%s:%u: '%.40s' is not a count (as in 1)", b->name, b->line, words[0]);
  if (strcmp(words[2], site_verdict_words[SITE_NONE]) != 0 && strcmp(words[2], site_verdict_words[SITE_SOME]) != 0)
    return err_set(e, -EINVAL, "%s:%u: '%.40s' is not a verdict (it is none or some)", b->name, b->line, words[2]);
  return add_entry(b, hash, count, b->module.at && strcmp(words[3], b->module.at) == 0);
}

/* A comment; the first line says which format this is. */
static int read_comment(const struct baseline *b, const char *line, struct err *e) {
  size_t n = strlen(HEADER);
  if (strncmp(line, HEADER, n) != 0 || strcmp(line + n, FORMAT) == 0) return 0;
  return err_set(e, -EINVAL, "%s:%u: format '%.40s' is not known (this murphy reads format " FORMAT ")", b->name,
                 b->line, line + n);
}

static int read_lines(struct baseline *b, char *bytes, size_t size, struct err *e) {
  int r = 0;
  for (char *line = bytes, *next; line < bytes + size && r >= 0; line = next) {
    size_t left = (size_t)(bytes + size - line);
    char *end = memchr(line, '\n', left);
    size_t n = end ? (size_t)(end - line) : left;
    next = line + n + 1;
    b->line++;
    if (memchr(line, 0, n)) return err_set(e, -EINVAL, "%s:%u: has a zero byte (is it a baseline?)", b->name, b->line);
    line[n] = 0;
    if (n && line[n - 1] == '\r') line[n - 1] = 0;
    if (*line) r = *line == '#' ? read_comment(b, line, e) : read_line(b, line, e);
  }
  return r;
}

static int apply(struct baseline *b, struct site_list *l) {
  for (size_t i = 0; i < l->n; i++) {
    struct text key = {0};
    uint64_t k;
    if (!is_finding(&l->sites[i])) continue;
    add_key(&key, l, &l->sites[i]);
    bool known = !key.failed && map_get(&b->by_key, hash_string(key.at), &k);
    bool failed = key.failed;
    text_done(&key);
    if (failed) return -ENOMEM;
    if (!known || !b->entries.at[k].left) continue;
    l->sites[i].in_baseline = true;
    b->entries.at[k].left--;
  }
  for (size_t i = 0; i < b->entries.n; i++)
    if (b->entries.at[i].here) l->stale += b->entries.at[i].left;
  return 0;
}

int site_baseline_parse(struct site_list *l, const char *name, char *bytes, size_t size, struct err *e) {
  struct baseline b = {.name = name};
  if (l->module) add_word(&b.module, l->module);
  int r = b.module.failed ? -ENOMEM : read_lines(&b, bytes, size, e);
  if (r >= 0) r = apply(&b, l);
  text_done(&b.module);
  vec_done(&b.entries);
  map_done(&b.by_key);
  return r;
}

int site_baseline_apply(struct site_list *l, const char *path, struct err *e) {
  char *bytes = NULL;
  size_t size = 0;
  int r = file_read(path, BASELINE_MAX, &bytes, &size, e);
  if (r >= 0) r = site_baseline_parse(l, path, bytes, size, e);
  free(bytes);
  return r;
}

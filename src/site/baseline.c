/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Baselines: sites that were accepted. A site is known by function, verdict, module, enclosing function and the last
 * part of the file's name, not by line or address, so that a rebuilt program still matches; a line stands for as many
 * sites as its count says, and one more than that is new.
 */
#include "site/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BASELINE_MAX (64u << 20)
#define FIELDS 6

static const char *file_part(const struct site *s) {
  if (!s->at.file) return "-";
  const char *slash = strrchr(s->at.file, '/');
  return slash ? slash + 1 : s->at.file;
}

/* Without a name, the place in the file is all there is. */
static void add_in(struct text *t, const struct site *s) {
  if (s->in)
    text_add(t, s->in);
  else
    text_addf(t, "0x%llx", (unsigned long long)s->address);
}

/* All but the count, with tabs between. */
static void add_key(struct text *t, const struct site_list *l, const struct site *s) {
  text_addf(t, "%s\t%s\t%s\t", s->function, site_verdict_words[s->verdict], l->module);
  add_in(t, s);
  text_addf(t, "\t%s", file_part(s));
}

static bool is_finding(const struct site *s) { return s->verdict == SITE_NONE || s->verdict == SITE_SOME; }

/* --- writing ------------------------------------------------------------------------------------------------------ */

static int by_text(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

void site_write_baseline(const struct site_list *l, size_t n, const struct site_text_options *o, struct text *to) {
  VEC(char *) keys = {0};
  text_add(to, "# murphy baseline, format 1\n"
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

static int read_line(const char *name, unsigned number, char *line, struct map *counts, struct err *e) {
  unsigned tabs = 0;
  int64_t count;
  for (const char *c = line; *c; c++)
    tabs += *c == '\t';
  char *key = strchr(line, '\t');
  if (tabs != FIELDS - 1 || !key)
    return err_set(e, -EINVAL, "%s:%u: not six words with tabs between (write it with --format=baseline)", name,
                   number);
  *key++ = 0;
  if (number_parse(line, &count) < 0 || count < 1 || count > INT32_MAX)
    return err_set(e, -EINVAL, "%s:%u: '%.40s' is not a count (as in 1)", name, number, line);
  uint64_t before = 0, hash = hash_string(key);
  (void)map_get(counts, hash, &before);
  return map_put(counts, hash, before + (uint64_t)count);
}

static int apply(struct site_list *l, struct map *counts) {
  int r = 0;
  for (size_t i = 0; i < l->n && r >= 0; i++) {
    struct text key = {0};
    uint64_t left = 0;
    if (!is_finding(&l->sites[i])) continue;
    add_key(&key, l, &l->sites[i]);
    if (key.failed) return -ENOMEM;
    uint64_t hash = hash_string(key.at);
    text_done(&key);
    if (!map_get(counts, hash, &left) || !left) continue;
    l->sites[i].in_baseline = true;
    r = map_put(counts, hash, left - 1);
  }
  return r;
}

int site_baseline_parse(struct site_list *l, const char *name, char *bytes, struct err *e) {
  struct map counts = {0};
  unsigned number = 0;
  int r = 0;
  for (char *rest = bytes, *line; r >= 0 && (line = strsep(&rest, "\n")) != NULL;) {
    number++;
    line[strcspn(line, "\r")] = 0;
    if (*line && *line != '#') r = read_line(name, number, line, &counts, e);
  }
  if (r >= 0) r = apply(l, &counts);
  map_done(&counts);
  return r < 0 ? r : 0;
}

int site_baseline_apply(struct site_list *l, const char *path, struct err *e) {
  char *bytes = NULL;
  size_t size = 0;
  int r = file_read(path, BASELINE_MAX, &bytes, &size, e);
  if (r >= 0) r = site_baseline_parse(l, path, bytes, e);
  free(bytes);
  return r;
}

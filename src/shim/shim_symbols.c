/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shim's symbols: the table itself, the hash table by which the loader finds them, and versions.
 *
 * The loader takes the first symbol of a name whose version fits; one without a version fits all. So a symbol with a
 * version stands before the one without.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim_layout.h"

#define HASH_SHIFT 6
#define VERSION_BASE "murphy-shim"

static uint32_t name_hash(const char *s) {
  uint32_t h = 5381;
  for (; *s; s++)
    h = h * 33 + (unsigned char)*s;
  return h;
}

/* The older hash, which versions are told apart by. */
static uint32_t version_hash(const char *s) {
  uint32_t h = 0;
  for (; *s; s++) {
    h = (h << 4) + (unsigned char)*s;
    h = (h ^ (h >> 24 & 0xf0)) & 0x0fffffff;
  }
  return h;
}

static uint32_t add_string(struct shim_symbols *s, const char *string) {
  uint32_t at = (uint32_t)s->strings.n;
  text_add_bytes(&s->strings, string, strlen(string) + 1);
  return at;
}

static uint32_t bucket_count(const struct shim_symbols *s) {
  size_t exported = s->of.n - s->imported;
  return exported < 4 ? 1 : (uint32_t)(exported / 2);
}

static int by_bucket(const void *a, const void *b, void *context) {
  const struct shim_symbol *x = a, *y = b;
  uint32_t buckets = *(const uint32_t *)context;
  if (x->hash % buckets != y->hash % buckets) return x->hash % buckets < y->hash % buckets ? -1 : 1;
  int names = strcmp(x->name, y->name);
  if (names != 0) return names;
  if (!x->version != !y->version) return x->version ? -1 : 1;
  return x->function < y->function ? -1 : x->function > y->function;
}

static int collect(struct shim_symbols *s, const struct wire_plan *plan) {
  const char *text = (const char *)plan + plan->text.at;
  const struct wire_function *f = (const void *)((const char *)plan + plan->functions.at);
  int r = vec_push(&s->of, (struct shim_symbol){.name = "murphy_rt_enter", .function = SYMBOL_ENTER});
  r = r < 0 ? r : vec_push(&s->of, (struct shim_symbol){.name = "murphy_rt_start", .function = SYMBOL_START});
  s->imported = (uint32_t)s->of.n;
  r = r < 0 ? r : vec_push(&s->of, (struct shim_symbol){.name = "murphy_shim", .function = SYMBOL_SHIM});
  for (uint32_t i = 0; i < plan->functions.n && r == 0; i++)
    r = vec_push(&s->of, (struct shim_symbol){.name = text + f[i].name,
                                              .version = f[i].version ? text + f[i].version : NULL,
                                              .later = f[i].flags & WIRE_LATER,
                                              .function = i});
  if (r < 0) return r;
  for (size_t i = 0; i < s->of.n; i++)
    s->of.at[i].hash = name_hash(s->of.at[i].name);
  uint32_t buckets = bucket_count(s);
  qsort_r(s->of.at + s->imported, s->of.n - s->imported, sizeof *s->of.at, by_bucket, &buckets);
  /* Equal names are neighbours now, the one without a version last. */
  for (size_t i = s->of.n - 1; i > s->imported; i--) {
    struct shim_symbol *one = &s->of.at[i - 1], *next = &s->of.at[i];
    one->hidden = one->version && strcmp(one->name, next->name) == 0 && (!next->version || next->hidden);
  }
  return 0;
}

static void add_number(struct text *t, uint32_t value) { text_add_bytes(t, &value, sizeof value); }

/* Header, one word of a Bloom filter that lets everything through, buckets, chains. */
static void make_hash(struct shim_symbols *s) {
  uint32_t buckets = bucket_count(s), first = s->imported + 1;
  add_number(&s->hash, buckets);
  add_number(&s->hash, first);
  add_number(&s->hash, 1);
  add_number(&s->hash, HASH_SHIFT);
  uint64_t bloom = ~0ull;
  text_add_bytes(&s->hash, &bloom, sizeof bloom);
  size_t next = s->imported;
  for (uint32_t b = 0; b < buckets; b++) {
    bool any = next < s->of.n && s->of.at[next].hash % buckets == b;
    add_number(&s->hash, any ? (uint32_t)next + 1 : 0);
    while (next < s->of.n && s->of.at[next].hash % buckets == b)
      next++;
  }
  for (size_t i = s->imported; i < s->of.n; i++) {
    bool last = i + 1 == s->of.n || s->of.at[i + 1].hash % buckets != s->of.at[i].hash % buckets;
    add_number(&s->hash, last ? s->of.at[i].hash | 1 : s->of.at[i].hash & ~1u);
  }
}

/* One version definition: the struct, and its name. */
static void add_version(struct shim_symbols *s, const char *name, uint16_t index, bool last) {
  Elf64_Verdef def = {
      .vd_version = VER_DEF_CURRENT,
      .vd_flags = index == VER_NDX_GLOBAL ? VER_FLG_BASE : 0,
      .vd_ndx = index,
      .vd_cnt = 1,
      .vd_hash = version_hash(name),
      .vd_aux = sizeof(Elf64_Verdef),
      .vd_next = last ? 0 : sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux),
  };
  Elf64_Verdaux aux = {.vda_name = add_string(s, name)};
  text_add_bytes(&s->verdef, &def, sizeof def);
  text_add_bytes(&s->verdef, &aux, sizeof aux);
  s->n_versions++;
}

/* The index of each symbol's version goes to INDEX; the distinct ones to RET. How many, the base not counted. */
static size_t distinct_versions(const struct shim_symbols *s, uint16_t *index, const char **ret) {
  size_t n = 0;
  for (size_t i = 0; i < s->of.n; i++) {
    const char *version = s->of.at[i].version;
    index[i] = VER_NDX_GLOBAL;
    if (!version) continue;
    size_t k = 0;
    while (k < n && strcmp(ret[k], version) != 0)
      k++;
    if (k == n) ret[n++] = version;
    index[i] = (uint16_t)(VER_NDX_GLOBAL + 1 + k);
  }
  return n;
}

static int make_versions(struct shim_symbols *s) {
  uint16_t *index = calloc(s->of.n, sizeof *index);
  const char **versions = calloc(s->of.n, sizeof *versions);
  int r = index && versions ? 0 : -ENOMEM;
  size_t n = r < 0 ? 0 : distinct_versions(s, index, versions);
  if (n > 0) {
    uint16_t none = VER_NDX_LOCAL;
    text_add_bytes(&s->versym, &none, sizeof none);
    for (size_t i = 0; i < s->of.n; i++) {
      uint16_t value = index[i] | (s->of.at[i].hidden ? 0x8000 : 0);
      text_add_bytes(&s->versym, &value, sizeof value);
    }
    add_version(s, VERSION_BASE, VER_NDX_GLOBAL, false);
    for (size_t k = 0; k < n; k++)
      add_version(s, versions[k], (uint16_t)(VER_NDX_GLOBAL + 1 + k), k + 1 == n);
  }
  free(index);
  free(versions);
  return r;
}

/* What the plan's triggers are in, so that the loader opens it with the shim. */
static int add_plugins(struct shim_symbols *s, const struct wire_plan *plan) {
  const char *text = (const char *)plan + plan->text.at;
  const struct wire_trigger *t = (const void *)((const char *)plan + plan->triggers.at);
  for (uint32_t i = 0; i < plan->triggers.n; i++) {
    uint32_t before = 0;
    while (before < i &&
           (t[before].kind != WIRE_TRIGGER_PLUGIN || strcmp(text + t[before].file, text + t[i].file) != 0))
      before++;
    if (t[i].kind != WIRE_TRIGGER_PLUGIN || before < i) continue;
    if (vec_push(&s->plugins, add_string(s, text + t[i].file)) < 0) return -ENOMEM;
  }
  return 0;
}

int shim_symbols_make(struct shim_symbols *s, const struct wire_plan *plan, const char *runtime) {
  add_string(s, "");
  s->needed = add_string(s, runtime);
  int r = add_plugins(s, plan);
  if (r >= 0) r = collect(s, plan);
  if (r < 0) return r;
  make_hash(s);
  r = make_versions(s);
  if (r < 0) return r;
  for (size_t i = 0; i < s->of.n; i++)
    s->of.at[i].string = add_string(s, s->of.at[i].name);
  return s->strings.failed || s->hash.failed || s->versym.failed || s->verdef.failed ? -ENOMEM : 0;
}

void shim_symbols_table(const struct shim_symbols *s, const struct shim_code *c, struct text *out) {
  Elf64_Sym none = {0};
  text_add_bytes(out, &none, sizeof none);
  for (size_t i = 0; i < s->of.n; i++) {
    const struct shim_symbol *one = &s->of.at[i];
    Elf64_Sym symbol = {.st_name = one->string, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)};
    if (one->function >= 0) {
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbol.st_value = one->later ? 0 : code_stub(c, (uint32_t)one->function);
      symbol.st_size = STUB_SIZE;
      symbol.st_shndx = 1; /* any but SHN_UNDEF: there are no sections */
    } else if (one->function == SYMBOL_SHIM) {
      symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
      symbol.st_value = c->shim;
      symbol.st_size = sizeof(struct wire_shim);
      symbol.st_shndx = 1;
    }
    text_add_bytes(out, &symbol, sizeof symbol);
  }
}

void shim_symbols_done(struct shim_symbols *s) {
  vec_done(&s->of);
  vec_done(&s->plugins);
  text_done(&s->strings);
  text_done(&s->hash);
  text_done(&s->versym);
  text_done(&s->verdef);
}

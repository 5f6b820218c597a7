/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types that a kernel carries about itself: BTF, of the kernel proper and of its modules.
 *
 * All tables are read into one array, in which a module's types follow the kernel's; the numbers of a module's own
 * types are moved accordingly. Nothing in the tables is trusted: what does not fit ends the table, a number that is too
 * large is void, and chains of modifiers are followed a limited number of times.
 */
#include "image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BTF_MAGIC 0xeb9f
#define NAME_LENGTH_MAX 4096
#define CHAIN_MAX 16   /* modifiers and typedefs on the way to a type */
#define NEST_MAX 12    /* structures in structures, and pointers to pointers */
#define KEY_TYPES 2000 /* types that a key is made of */

enum btf_kind {
  BTF_INT = 1,
  BTF_PTR,
  BTF_ARRAY,
  BTF_STRUCT,
  BTF_UNION,
  BTF_ENUM,
  BTF_FWD,
  BTF_TYPEDEF,
  BTF_VOLATILE,
  BTF_CONST,
  BTF_RESTRICT,
  BTF_FUNC,
  BTF_FUNC_PROTO,
  BTF_VAR,
  BTF_DATASEC,
  BTF_FLOAT,
  BTF_DECL_TAG,
  BTF_TYPE_TAG,
  BTF_ENUM64,
};

struct type {
  const char *name;
  const uint8_t *more; /* members, parameters */
  uint32_t link;       /* size or type */
  uint32_t module;     /* index into TABLES: whose numbers its members use */
  uint16_t n;          /* of these */
  uint8_t kind;
  bool bitfields; /* members' offsets carry sizes of bit fields */
};

/* The types of one table: its own begin at number FROM, and are kept from AT on. */
struct table {
  uint32_t from, at;
};

struct types {
  VEC(struct type) all; /* number 0 is void */
  VEC(struct table) tables;
  struct map functions; /* hash of name to type of the function; TYPES_SEVERAL if there are different ones */
  struct map percpu;    /* offset to type */
  const char *strings;  /* the kernel's */
  uint32_t n_strings;
};

#define TYPES_SEVERAL UINT32_MAX

static uint32_t u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, sizeof v);
  return v;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct reader {
  struct types *types;
  const uint8_t *at, *end;
  const char *strings;
  uint32_t n_strings, strings_from; /* where this table's strings begin in the numbering */
};

static const char *string_at(const struct reader *r, uint32_t offset) {
  const char *s = r->types->strings;
  uint32_t n = r->types->n_strings;
  if (offset >= r->strings_from) {
    s = r->strings;
    n = r->n_strings;
    offset -= r->strings_from;
  }
  return offset < n ? s + offset : "";
}

/* Bytes behind the three common words. */
static size_t more_size(unsigned kind, unsigned n) {
  switch (kind) {
  case BTF_INT:
  case BTF_VAR:
  case BTF_DECL_TAG:
    return 4;
  case BTF_ARRAY:
    return 12;
  case BTF_STRUCT:
  case BTF_UNION:
  case BTF_DATASEC:
  case BTF_ENUM64:
    return 12 * (size_t)n;
  case BTF_ENUM:
  case BTF_FUNC_PROTO:
    return 8 * (size_t)n;
  default:
    return 0;
  }
}

static int read_types(struct reader *r, uint32_t module) {
  while (r->end - r->at >= 12) {
    uint32_t info = u32(r->at + 4);
    struct type t = {.name = string_at(r, u32(r->at)),
                     .link = u32(r->at + 8),
                     .module = module,
                     .n = (uint16_t)info,
                     .kind = info >> 24 & 31,
                     .bitfields = info >> 31};
    size_t more = more_size(t.kind, t.n);
    r->at += 12;
    if (t.kind == 0 || t.kind > BTF_ENUM64 || (size_t)(r->end - r->at) < more) break;
    t.more = r->at;
    r->at += more;
    int e = vec_push(&r->types->all, t);
    if (e < 0) return e;
  }
  return 0;
}

/* Strings end, and none is longer than names are. */
static bool text_is_sound(const char *text, uint64_t n) {
  for (uint64_t at = 0; at < n;) {
    size_t length = strnlen(text + at, n - at);
    if (length == n - at || length > NAME_LENGTH_MAX) return false;
    at += length + 1;
  }
  return true;
}

static int read_table(struct types *ts, const uint8_t *p, size_t size) {
  if (size < 24 || (u32(p) & 0xffff) != BTF_MAGIC) return 0;
  uint64_t header = u32(p + 4), type_at = header + u32(p + 8), type_n = u32(p + 12), text_at = header + u32(p + 16),
           text_n = u32(p + 20);
  if (type_at > size || type_n > size - type_at || text_at > size || text_n > size - text_at) return 0;
  if (!text_is_sound((const char *)p + text_at, text_n)) return 0;
  bool first = ts->tables.n == 0;
  struct reader r = {.types = ts, .at = p + type_at, .end = p + type_at + type_n};
  r.strings = (const char *)p + text_at;
  r.n_strings = (uint32_t)text_n;
  r.strings_from = first ? 0 : ts->n_strings;
  if (first) {
    ts->strings = r.strings;
    ts->n_strings = r.n_strings;
  }
  uint32_t from = first || ts->tables.n < 2 ? (uint32_t)ts->all.n : ts->tables.at[1].from;
  int e = vec_push(&ts->tables, (struct table){.from = from, .at = (uint32_t)ts->all.n});
  return e < 0 ? e : read_types(&r, (uint32_t)ts->tables.n - 1);
}

/* The number that MODULE means by ID. */
static uint32_t own(const struct types *ts, uint32_t module, uint32_t id) {
  const struct table *t = &ts->tables.at[module];
  uint64_t n = id >= t->from && module ? (uint64_t)id - t->from + t->at : id;
  return n < ts->all.n ? (uint32_t)n : 0;
}

static uint32_t link_of(const struct types *ts, const struct type *t) { return own(ts, t->module, t->link); }

/* --- names -------------------------------------------------------------------------------------------------------- */

static int note_function(struct types *ts, const struct type *t) {
  uint64_t key = hash_string(t->name), old;
  uint32_t proto = link_of(ts, t);
  if (map_get(&ts->functions, key, &old) &&
      (old == TYPES_SEVERAL || types_key(ts, (uint32_t)old) != types_key(ts, proto)))
    proto = TYPES_SEVERAL;
  return map_put(&ts->functions, key, proto);
}

static int note_percpu(struct types *ts, const struct type *t) {
  if (strcmp(t->name, ".data..percpu") != 0) return 0;
  for (unsigned i = 0; i < t->n; i++) {
    const uint8_t *m = t->more + 12 * (size_t)i;
    const struct type *var = &ts->all.at[own(ts, t->module, u32(m))];
    int r = var->kind == BTF_VAR ? map_put(&ts->percpu, u32(m + 4), link_of(ts, var)) : 0;
    if (r < 0) return r;
  }
  return 0;
}

static int note_names(struct types *ts) {
  int r = 0;
  for (size_t i = 1; i < ts->all.n && r >= 0; i++) {
    const struct type *t = &ts->all.at[i];
    if (t->kind == BTF_FUNC) r = note_function(ts, t);
    if (t->kind == BTF_DATASEC && t->module == 0) r = note_percpu(ts, t);
  }
  return r;
}

int types_new(const struct image *img, struct types **ret) {
  size_t size;
  const void *btf = image_btf(img, &size);
  if (!btf) return -ENODATA;
  struct types *ts = calloc(1, sizeof *ts);
  if (!ts) return -ENOMEM;
  int r = vec_push(&ts->all, (struct type){.name = ""});
  if (r >= 0) r = read_table(ts, btf, size);
  for (size_t i = 0; r >= 0 && ts->tables.n && i < image_module_count(img); i++) {
    btf = image_module_btf(img, i, &size);
    if (btf) r = read_table(ts, btf, size);
  }
  if (r >= 0 && ts->tables.n == 0) r = -ENODATA;
  if (r >= 0) r = note_names(ts);
  if (r < 0) {
    types_free(ts);
    return r;
  }
  *ret = ts;
  return 0;
}

void types_free(struct types *ts) {
  if (!ts) return;
  vec_done(&ts->all);
  vec_done(&ts->tables);
  map_done(&ts->functions);
  map_done(&ts->percpu);
  free(ts);
}

size_t types_count(const struct types *ts) { return ts->all.n; }

uint32_t types_function(const struct types *ts, const char *name) {
  uint64_t proto;
  return map_get(&ts->functions, hash_string(name), &proto) && proto != TYPES_SEVERAL ? (uint32_t)proto : 0;
}

uint32_t types_percpu(const struct types *ts, uint64_t offset) {
  uint64_t type;
  return map_get(&ts->percpu, offset, &type) ? (uint32_t)type : 0;
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

static bool is_modifier(uint8_t kind) {
  return kind == BTF_TYPEDEF || kind == BTF_CONST || kind == BTF_VOLATILE || kind == BTF_RESTRICT ||
         kind == BTF_TYPE_TAG;
}

static uint32_t plain(const struct types *ts, uint32_t id) {
  for (unsigned i = 0; id < ts->all.n && i < CHAIN_MAX && is_modifier(ts->all.at[id].kind); i++)
    id = link_of(ts, &ts->all.at[id]);
  return id < ts->all.n && !is_modifier(ts->all.at[id].kind) ? id : 0;
}

uint32_t types_pointee(const struct types *ts, uint32_t id) {
  id = plain(ts, id);
  return ts->all.at[id].kind == BTF_PTR ? plain(ts, link_of(ts, &ts->all.at[id])) : 0;
}

uint32_t types_return(const struct types *ts, uint32_t proto) {
  const struct type *t = &ts->all.at[plain(ts, proto)];
  return t->kind == BTF_FUNC_PROTO ? link_of(ts, t) : 0;
}

uint32_t types_parameter(const struct types *ts, uint32_t proto, unsigned n) {
  const struct type *t = &ts->all.at[plain(ts, proto)];
  return t->kind == BTF_FUNC_PROTO && n < t->n ? own(ts, t->module, u32(t->more + 8 * (size_t)n + 4)) : 0;
}

bool types_is_function(const struct types *ts, uint32_t id) { return ts->all.at[plain(ts, id)].kind == BTF_FUNC_PROTO; }

const char *types_name(const struct types *ts, uint32_t id) { return ts->all.at[plain(ts, id)].name; }

static bool is_aggregate(const struct type *t) { return t->kind == BTF_STRUCT || t->kind == BTF_UNION; }

uint32_t types_size(const struct types *ts, uint32_t id) {
  uint64_t count = 1;
  for (unsigned i = 0; i < NEST_MAX; i++) {
    const struct type *t = &ts->all.at[id = plain(ts, id)];
    if (t->kind == BTF_PTR) return 8 * count > UINT32_MAX ? 0 : (uint32_t)(8 * count);
    if (t->kind == BTF_INT || t->kind == BTF_ENUM || t->kind == BTF_ENUM64 || is_aggregate(t))
      return count * t->link > UINT32_MAX ? 0 : (uint32_t)(count * t->link);
    if (t->kind != BTF_ARRAY) return 0;
    count *= u32(t->more + 8);
    if (count > UINT32_MAX) return 0;
    id = own(ts, t->module, u32(t->more));
  }
  return 0;
}

size_t types_member_count(const struct types *ts, uint32_t id) {
  const struct type *t = &ts->all.at[plain(ts, id)];
  return is_aggregate(t) ? t->n : 0;
}

void types_member_at(const struct types *ts, uint32_t id, size_t n, struct type_member *ret) {
  const struct type *t = &ts->all.at[id = plain(ts, id)];
  const uint8_t *m = t->more + 12 * n;
  uint32_t bits = t->bitfields ? u32(m + 8) & 0xffffff : u32(m + 8);
  *ret = (struct type_member){.owner = id, .offset = bits / 8, .type = own(ts, t->module, u32(m + 4))};
}

/* The member of T that holds OFFSET, which becomes the offset inside of it. Of a union, the first that fits. */
static bool member_holding(const struct types *ts, uint32_t id, uint32_t *offset, struct type_member *ret) {
  size_t n = types_member_count(ts, id);
  for (size_t i = 0; i < n; i++) {
    struct type_member m;
    types_member_at(ts, id, i, &m);
    uint32_t size = types_size(ts, m.type);
    if (*offset < m.offset || *offset - m.offset >= size) continue;
    *offset -= m.offset;
    *ret = m;
    return true;
  }
  return false;
}

bool types_member(const struct types *ts, uint32_t id, uint32_t offset, struct type_member *ret) {
  struct type_member m = {.owner = plain(ts, id)};
  m.type = m.owner;
  for (unsigned depth = 0; depth < NEST_MAX; depth++) {
    uint32_t at = plain(ts, m.type);
    const struct type *t = &ts->all.at[at];
    if (is_aggregate(t)) {
      if (!member_holding(ts, at, &offset, &m)) return false;
    } else if (t->kind == BTF_ARRAY) {
      uint32_t element = own(ts, t->module, u32(t->more)), size = types_size(ts, element);
      if (!size) return false;
      offset %= size;
      m.type = element;
    } else {
      if (offset) return false;
      *ret = m;
      return true;
    }
  }
  return false;
}

/* --- equality ----------------------------------------------------------------------------------------------------- */

/* LEFT bounds the work: types that have each other as parameters would multiply. */
static uint64_t key_at(const struct types *ts, uint32_t id, unsigned depth, unsigned *left) {
  const struct type *t = &ts->all.at[id = plain(ts, id)];
  uint64_t h = hash_mix(t->kind + 0x100u);
  if (*left == 0) return h;
  --*left;
  if (id == 0 || depth == NEST_MAX) return h;
  switch (t->kind) {
  case BTF_PTR:
    return hash_mix(h ^ key_at(ts, link_of(ts, t), depth + 1, left));
  case BTF_FUNC_PROTO:
    h = hash_mix(h ^ key_at(ts, link_of(ts, t), depth + 1, left));
    for (unsigned i = 0; i < t->n && *left; i++)
      h = hash_mix(h + key_at(ts, types_parameter(ts, id, i), depth + 1, left));
    return h;
  case BTF_ARRAY:
    return hash_mix(h ^ key_at(ts, own(ts, t->module, u32(t->more)), depth + 1, left));
  case BTF_FWD: /* a structure that is not known here */
    return hash_mix(hash_mix((t->bitfields ? BTF_UNION : BTF_STRUCT) + 0x100u) ^ hash_string(t->name));
  default:
    return hash_mix(h ^ (t->name[0] ? hash_string(t->name) : id));
  }
}

uint64_t types_key(const struct types *ts, uint32_t id) {
  unsigned left = KEY_TYPES;
  return key_at(ts, id, 0, &left);
}

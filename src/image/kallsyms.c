/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols that a kernel carries for /proc/kallsyms. Nothing says where its tables are, so they are found by how
 * they look (written by scripts/kallsyms.c of the kernel):
 *
 *   token_table   256 strings; those of digits and letters in use stand at their own code
 *   token_index   u16[256]: where each string starts in the table; this proves the table
 *   num_syms      u32
 *   names         for each symbol how many tokens, in one byte or (since 6.1, if the first is above 127) two, and them
 *   markers       u32 for each 256th symbol: where it starts in names; this proves names and num_syms
 *   offsets       i32 for each symbol, and a base of 8 bytes behind them; or addresses, u64 for each
 *
 * All start at multiples of 8, or of 4 if they have nothing larger. Names come before markers and these before tokens.
 * Offsets stand before num_syms, and since 6.4 behind token_index. With CONFIG_KALLSYMS_ABSOLUTE_PERCPU an offset from
 * 0 is an address as it is, one below 0 is counted down from the base; without, all are added to the base. Since 7.0
 * there is no base, and an offset counts from the place where it is.
 */
#include <errno.h>
#include <stdlib.h>

#include "image/image_kernel.h"

enum {
  TOKENS = 256,
  INDEX_SIZE = TOKENS * 2,
  MARKED = 256,
  MOST_MARKED = MARKED * 256, /* bytes of names for one marker */
  LEAST_MARKERS = 5,          /* fewer would not prove much */
};

/* What it may cost to try places, in all segments together; a kernel of today takes a fortieth. */
#define MOST_STEPS ((uint64_t)1 << 26)

/* Positions are in AREA, the bytes of one segment. */
struct tables {
  struct bytes area;
  uint64_t address; /* of the area */
  size_t tokens, index, count_at, names;
  uint32_t n;
  bool wide; /* two bytes for a large count */
  uint64_t *steps;
  const char *tokens_at[TOKENS];
  uint8_t token_size[TOKENS];
};

/* False if there is no more to spend: what is looked for then counts as not found. */
static bool spend(struct tables *t, uint64_t steps) {
  *t->steps += steps;
  return *t->steps <= MOST_STEPS;
}

/* The next multiple of TO in memory. */
static size_t aligned(const struct tables *t, size_t at, size_t to) {
  return at + (size_t)(-(t->address + at) & (to - 1));
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* Whether the table that starts at t->tokens and the index at t->index say the same; fills in the tokens. */
static bool tokens_agree(struct tables *t) {
  size_t at = t->tokens;
  for (size_t i = 0; i < TOKENS; i++) {
    if (read_u16(t->area.at + t->index + 2 * i) != at - t->tokens) return false;
    const uint8_t *p = t->area.at + at, *end = at < t->index ? memchr(p, 0, t->index - at) : NULL;
    if (!end || end - p > 255) return false;
    t->tokens_at[i] = (const char *)p;
    t->token_size[i] = (uint8_t)(end - p);
    at += (size_t)(end - p) + 1;
  }
  return true;
}

/* DIGITS is where the token of '0' would be: finds the end of the table, then the index, then the start. */
static bool tokens_around(struct tables *t, size_t digits) {
  size_t at = digits;
  if (!spend(t, TOKENS)) return false;
  for (unsigned i = '0'; i < TOKENS; i++) {
    size_t left = t->area.n - at;
    const uint8_t *end = memchr(t->area.at + at, 0, left < 256 ? left : 256);
    if (!end) return false;
    at = (size_t)(end - t->area.at) + 1;
  }
  for (size_t to = 8; to >= 4; to /= 2) {
    t->index = aligned(t, at, to);
    if (t->index > t->area.n || t->area.n - t->index < INDEX_SIZE) continue;
    size_t before = read_u16(t->area.at + t->index + 2 * '0');
    t->tokens = digits - before;
    if (before <= digits && tokens_agree(t)) return true;
  }
  return false;
}

/* The first tables at or behind FROM. */
static bool tokens_find(struct tables *t, size_t from) {
  static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
  while (from < t->area.n) {
    const uint8_t *p = memmem(t->area.at + from, t->area.n - from, digits, sizeof digits);
    if (!p) return false;
    size_t at = (size_t)(p - t->area.at);
    if (tokens_around(t, at)) return true;
    from = at + 1;
  }
  return false;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Reads how many tokens the name at *AT has, and goes to the first; false if the name is not within END. */
static bool name_count(const struct tables *t, size_t *at, size_t end, size_t *ret) {
  if (*at >= end) return false;
  size_t n = t->area.at[(*at)++];
  if (t->wide && n > 127) {
    if (*at >= end) return false;
    n = (n & 127) | (size_t)t->area.at[(*at)++] << 7;
  }
  *ret = n;
  return n > 0 && n <= end - *at;
}

static size_t name_size(const struct tables *t, size_t at, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; i++)
    size += t->token_size[t->area.at[at + i]];
  return size;
}

/* A letter as nm writes it, and at least one character more. */
static bool name_sane(const struct tables *t, size_t at, size_t count) {
  const char *first = t->tokens_at[t->area.at[at]];
  return first[0] && strchr("aAbBcCdDgGiInNrRsStTuUvVwWpP", first[0]) && name_size(t, at, count) > 1;
}

/* Where the names end; 0 if they are none, or go past MOST. */
static size_t names_end(struct tables *t, size_t most) {
  size_t at = t->names, count;
  for (uint32_t i = 0; i < t->n; i++, at += count) {
    if (!name_count(t, &at, most, &count) || !spend(t, count) || !name_sane(t, at, count)) return 0;
  }
  return at;
}

static bool markers_agree(const struct tables *t, size_t markers) {
  size_t at = t->names, count;
  for (uint32_t i = 0; i < t->n; i++, at += count) {
    if (i % MARKED == 0 && read_u32(t->area.at + markers + i / MARKED * 4) != at - t->names) return false;
    if (!name_count(t, &at, markers, &count)) return false;
  }
  return true;
}

/* Whether N names start at AT and end at the markers, but for padding, and these agree with them. */
static bool names_agree(struct tables *t, size_t markers, size_t n_markers, uint64_t n, size_t at) {
  if ((n + MARKED - 1) / MARKED != n_markers) return false;
  t->n = (uint32_t)n;
  t->names = at;
  for (int wide = 1; wide >= 0; wide--) {
    t->wide = wide;
    size_t end = names_end(t, markers);
    if (end && markers - end < 8 && markers_agree(t, markers)) return true;
  }
  return false;
}

/* The names before N markers, of which LAST is the largest. Their number is just before them. */
static bool names_before(struct tables *t, size_t markers, size_t n_markers, uint32_t last) {
  if (markers < last) return false;
  size_t at = markers - last, end = at > MOST_MARKED ? at - MOST_MARKED : 0;
  for (at -= (t->address + at) & 3; at >= 8 && at > end && at < markers && spend(t, 1); at -= 4) {
    t->count_at = at - 4;
    if (names_agree(t, markers, n_markers, read_u32(t->area.at + at - 4), at)) return true;
    t->count_at = at - 8;
    if (aligned(t, at, 8) == at && names_agree(t, markers, n_markers, read_u64(t->area.at + at - 8), at)) return true;
  }
  return false;
}

/*
 * Goes back from the tokens to what can be markers: numbers that fall, by what 256 names can take, until they are 0.
 * In some formats a table of unknown size is between.
 */
static bool names_find(struct tables *t) {
  size_t at = t->tokens - ((t->address + t->tokens) & 3), run = 0;
  uint32_t above = 0, last = 0;
  while (at >= 4 && at <= t->tokens && spend(t, 1)) {
    at -= 4;
    uint32_t marker = read_u32(t->area.at + at);
    if (run == 0 || marker >= above || above - marker < 2 * MARKED || above - marker > MOST_MARKED) {
      run = 0;
      last = marker;
    }
    above = marker;
    run++;
    if (marker == 0 && run >= LEAST_MARKERS && names_before(t, at, run, last)) return true;
  }
  return false;
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

enum coding { ABSOLUTE, FROM_PLACE, FROM_BASE, ABSOLUTE_PERCPU };

struct places {
  enum coding coding;
  size_t at, base;
};

static uint64_t address_read(const struct tables *t, const struct places *p, uint32_t i) {
  if (p->coding == ABSOLUTE) return read_u64(t->area.at + p->at + 8 * (size_t)i);
  size_t place = p->at + 4 * (size_t)i;
  uint32_t offset = read_u32(t->area.at + place);
  if (p->coding == FROM_PLACE) return t->address + place + (uint64_t)(int64_t)(int32_t)offset;
  uint64_t base = read_u64(t->area.at + p->base);
  if (p->coding == FROM_BASE) return base + offset;
  return (int32_t)offset >= 0 ? offset : base - 1 - (uint64_t)(int64_t)(int32_t)offset;
}

/*
 * Addresses rise, most of those of code (some have several names), and what is said to be code is (but for marks at its
 * end): there is no better proof.
 */
static bool places_agree(const struct image *img, const struct tables *t, const struct places *p) {
  uint64_t before = 0, text = 0, code = 0, rises = 0;
  size_t at = t->names, count;
  for (uint32_t i = 0; i < t->n; i++, at += count) {
    uint64_t address = address_read(t, p, i);
    if (address < before || !name_count(t, &at, t->tokens, &count)) return false;
    char type = t->tokens_at[t->area.at[at]][0];
    if (type == 't' || type == 'T') {
      text++;
      code += image_is_code(img, address);
      rises += address > before;
    }
    before = address;
  }
  return text > 0 && code >= text - text / 50 && rises >= text / 2;
}

static bool places_try(const struct image *img, struct tables *t, struct places p, struct places *ret) {
  size_t size = (p.coding == ABSOLUTE ? 8 : 4) * (size_t)t->n;
  if (p.at > t->area.n || t->area.n - p.at < size) return false;
  if (p.coding != ABSOLUTE && (p.base > t->area.n || t->area.n - p.base < 8)) return false;
  if (!spend(t, t->n) || !places_agree(img, t, &p)) return false;
  *ret = p;
  return true;
}

static bool places_find(const struct image *img, struct tables *t, struct places *ret) {
  size_t offsets = 4 * (size_t)t->n, padded = (offsets + 7) / 8 * 8, addresses = 8 * (size_t)t->n;
  size_t before = t->count_at, behind = aligned(t, t->index + INDEX_SIZE, 8);
  for (enum coding coding = FROM_BASE; coding <= ABSOLUTE_PERCPU; coding++) {
    if (before >= padded + 8 && places_try(img, t, (struct places){coding, before - 8 - padded, before - 8}, ret))
      return true;
    if (places_try(img, t, (struct places){coding, behind, aligned(t, behind + offsets, 8)}, ret)) return true;
  }
  if (places_try(img, t, (struct places){FROM_PLACE, aligned(t, t->index + INDEX_SIZE, 4), 0}, ret)) return true;
  if (before >= addresses && places_try(img, t, (struct places){ABSOLUTE, before - addresses, 0}, ret)) return true;
  return places_try(img, t, (struct places){ABSOLUTE, behind, 0}, ret);
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static int list_all(struct image *img, const struct tables *t, const struct places *p, symbol_list *list) {
  size_t at = t->names, count, size = 0;
  for (uint32_t i = 0; i < t->n && name_count(t, &at, t->tokens, &count); i++, at += count)
    size += name_size(t, at, count);
  /* The letter of each makes room for its NUL. */
  char *text = arena_alloc(&img->arena, size);
  if (!text || vec_grow((void **)&list->at, &list->cap, list->n + t->n, sizeof *list->at) < 0) return -ENOMEM;
  at = t->names;
  for (uint32_t i = 0; i < t->n && name_count(t, &at, t->tokens, &count); i++, at += count) {
    char type = t->tokens_at[t->area.at[at]][0], *name = text;
    for (size_t k = 0; k < count; k++) {
      unsigned token = t->area.at[at + k];
      size_t skip = k == 0;
      memcpy(text, t->tokens_at[token] + skip, t->token_size[token] - skip);
      text += t->token_size[token] - skip;
    }
    *text++ = 0;
    list->at[list->n++] = (struct image_symbol){
        .name = name,
        .address = address_read(t, p, i),
        .kind = type == 'a' || type == 'A' ? SYMBOL_OTHER : SYMBOL_OBJECT,
        .weak = strchr("wWvV", type) != NULL,
        .local = type >= 'a' && type != 'w' && type != 'v',
    };
  }
  return 0;
}

/* How far the search in one segment came; more is better. */
enum progress { NO_TOKENS, NO_NAMES, NO_ADDRESSES, FOUND };

static enum progress find_in(const struct image *img, struct tables *t, struct places *ret) {
  enum progress best = NO_TOKENS;
  for (size_t from = 0; spend(t, 0) && tokens_find(t, from); from = t->index) {
    if (!names_find(t)) {
      best = best > NO_NAMES ? best : NO_NAMES;
      continue;
    }
    if (places_find(img, t, ret)) return FOUND;
    best = NO_ADDRESSES;
  }
  return best;
}

int kallsyms_list(struct image *img, symbol_list *list, struct err *e) {
  static const char *const missing[] = {
      "no table of tokens with its index was found",
      "a table of tokens was found, but no names before it that agree with their markers",
      "names were found, but no addresses before or behind them that rise and point to code",
  };
  enum progress best = NO_TOKENS;
  struct places p;
  uint64_t steps = 0;
  for (size_t i = 0; i < img->n_segments; i++) {
    const struct segment *s = &img->segments[i];
    struct tables t = {.area = {s->at, s->file_end - s->start}, .address = s->start, .steps = &steps};
    if (!s->at) continue;
    enum progress now = find_in(img, &t, &p);
    if (now == FOUND) return list_all(img, &t, &p, list);
    best = now > best ? now : best;
  }
  return err_set(e, -ENOEXEC,
                 "%s: a Linux kernel without symbols: no kallsyms table found in it (%s; give a vmlinux that has a "
                 "symbol table)",
                 img->path, missing[best]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of a function pass through the dynamic loader, so that another library can stand before the function, and
 * which do not.
 *
 * Functions are read from start to end, without a graph: what matters is where calls and jumps go, not what they do.
 */
#include "code/code.h"
#include "site/site.h"

#include <errno.h>
#include <string.h>

struct scan {
  const struct image *img;
  struct map slots;   /* address of a slot → number of the function + 1 */
  struct map entries; /* address of a function that the image defines → the same */
  struct site_reach *ret;
};

/* --- what is looked for ------------------------------------------------------------------------------------------- */

static int note_slots(struct scan *s, const char *const *names, size_t n) {
  struct image_slot slot = {0};
  struct map by_name = {0};
  int r = 0;
  for (size_t i = 0; i < n && r >= 0; i++)
    r = map_put(&by_name, hash_string(names[i]), i + 1);
  for (uint64_t at = 0; r >= 0 && image_slot_after(s->img, at, &slot); at = slot.at + 1) {
    uint64_t number;
    if (slot.kind != SLOT_IMPORT || !slot.name || !map_get(&by_name, hash_string(slot.name), &number)) continue;
    s->ret[number - 1].imports++;
    r = map_put(&s->slots, slot.at, number);
  }
  map_done(&by_name);
  return r;
}

/* All versions of it: old callers inside the library go to the same code mostly. */
static int note_entries(struct scan *s, const char *const *names, size_t n) {
  const struct image_symbol *all;
  size_t count = image_exports(s->img, &all);
  int r = 0;
  for (size_t i = 0; i < n; i++)
    for (const struct image_symbol *e = image_export(s->img, names[i], NULL);
         r >= 0 && e && e < all + count && strcmp(e->name, names[i]) == 0; e++) {
      s->ret[i].defined = true;
      r = map_put(&s->entries, e->address, i + 1);
    }
  return r;
}

/* --- one instruction ---------------------------------------------------------------------------------------------- */

static void count_slot(struct scan *s, uint64_t slot) {
  uint64_t number;
  if (map_get(&s->slots, slot, &number)) s->ret[number - 1].through++;
}

static void count_direct(struct scan *s, uint64_t to) {
  uint64_t number;
  struct code_target t = code_follow_plt(s->img, to);
  if (t.slot)
    count_slot(s, t.address);
  else if (map_get(&s->entries, to, &number))
    s->ret[number - 1].inside++;
}

/* Stubs of the PLT, behind one frame for all of them; their callers are counted for them. */
static bool is_plt(const struct image *img, const struct image_function *f) {
  enum { STUB = 16 }; /* the first one may be the way to the loader */
  return !f->name && (code_follow_plt(img, f->address).slot || code_follow_plt(img, f->address + STUB).slot);
}

static void take(struct scan *s, const struct insn *in, bool plt, uint64_t *syscalls) {
  switch (in->op) {
  case OP_CALL:
  case OP_JUMP:
  case OP_TAIL:
    count_direct(s, (uint64_t)in->imm);
    return;
  case OP_CALL_SLOT:
    count_slot(s, (uint64_t)in->disp);
    return;
  case OP_TAIL_SLOT:
    if (!plt) count_slot(s, (uint64_t)in->disp);
    return;
  case OP_SYSCALL:
    ++*syscalls;
    return;
  default:
    return;
  }
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static uint64_t scan_functions(struct scan *s) {
  const struct image_function *all;
  size_t n = image_functions(s->img, &all);
  uint64_t syscalls = 0, behind = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t at = all[i].address, next = i + 1 < n ? all[i + 1].address : UINT64_MAX;
    uint64_t end = all[i].end > at && all[i].end < next ? all[i].end : next;
    bool plt = is_plt(s->img, &all[i]);
    struct insn in;
    if (at < behind) at = behind;
    while (at < end && image_is_code(s->img, at) && code_read(s->img, at, &in) == 0) {
      take(s, &in, plt, &syscalls);
      at += in.length;
    }
    behind = at;
  }
  return syscalls;
}

int site_reach(const struct image *img, const char *const *names, size_t n, struct site_reach *ret,
               uint64_t *ret_syscalls) {
  struct scan s = {.img = img, .ret = ret};
  memset(ret, 0, n * sizeof *ret);
  int r = note_slots(&s, names, n);
  if (r >= 0) r = note_entries(&s, names, n);
  if (r >= 0) *ret_syscalls = scan_functions(&s);
  map_done(&s.slots);
  map_done(&s.entries);
  return r < 0 ? r : 0;
}

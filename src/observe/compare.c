/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two runs side by side, and what several runs without faults tell about what varies.
 *
 * Files are matched by path. Names that differ from run to run, as those of temporary files do, are matched by what
 * they have in common: the parts that differ become a *.
 */
#include "observe/observe.h"
#include "observe/plain.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_FILES = 8 };

static const char *const stream_names[OBSERVE_STREAMS] = {"standard output", "standard error"};

/* --- entries ------------------------------------------------------------------------------------------------------ */

static bool name_varies(const struct observe_mask *m, const char *path) {
  for (size_t i = 0; i < m->names.n; i++)
    if (fnmatch(m->names.at[i], path, 0) == 0) return true;
  return false;
}

static struct observe_content *content_mask(const struct observe_mask *m, const char *path) {
  for (size_t i = 0; i < m->contents.n; i++)
    if (strcmp(m->contents.at[i].path, path) == 0) return &m->contents.at[i];
  return NULL;
}

static enum observe_level content_level(const struct observe_mask *m, const char *path) {
  const struct observe_content *c = content_mask(m, path);
  return c ? c->level : OBSERVE_EXACT;
}

static bool same_kind(const struct observe_entry *a, const struct observe_entry *b) {
  return a->kind == b->kind && a->mode == b->mode;
}

static bool same_content(const struct observe_entry *a, const struct observe_entry *b) {
  return a->size == b->size && a->hash == b->hash;
}

static bool is_text(const struct observe_entry *e) {
  for (size_t i = 0; i < e->n_head; i++)
    if ((unsigned char)e->head[i] < ' ' && !strchr("\n\t\r", e->head[i])) return false;
  return !memchr(e->head, '\0', e->n_head);
}

/* Only of texts that were kept as a whole it can be told whether they are the same but for what a level leaves out. */
static bool is_whole(const struct observe_entry *e) { return e->head && e->n_head == e->size && is_text(e); }

static bool same_at(const struct observe_entry *a, const struct observe_entry *b, enum observe_level level) {
  return plain_hash(a->head, a->n_head, level) == plain_hash(b->head, b->n_head, level);
}

static bool same_masked(const struct observe_entry *a, const struct observe_entry *b, const struct observe_mask *m) {
  const struct observe_content *c = content_mask(m, a->path);
  if (!c) return false;
  if (c->level != OBSERVE_NOTHING && is_whole(a) && is_whole(b)) return same_at(a, b, c->level);
  return c->empty || !a->size == !b->size;
}

static const char *kind_name(enum observe_kind kind) {
  static const char *const names[] = {"file", "folder", "link", "special file", "deleted"};
  return names[kind];
}

/* Where two files of which something is known begin to differ, as far as that was kept. */
static void say_where(struct text *to, const struct observe_entry *a, const struct observe_entry *b,
                      enum observe_level level) {
  size_t n = a->n_head < b->n_head ? a->n_head : b->n_head, i = 0;
  while (i < n && a->head[i] == b->head[i])
    i++;
  bool whole = a->n_head == a->size && b->n_head == b->size;
  if (i == n && !whole) {
    text_addf(to, "the first %zu bytes are the same\n", n);
  } else if (is_text(a) && is_text(b)) {
    struct observe_stream x = {.at = a->head, .n = a->n_head}, y = {.at = b->head, .n = b->n_head};
    plain_difference(&x, &y, level, to);
  } else if (i < n) {
    text_addf(to, "from byte %zu on: %02x instead of %02x\n", i, (unsigned char)b->head[i], (unsigned char)a->head[i]);
  } else {
    text_addf(to, "the same up to byte %zu\n", i);
  }
}

static void say_content(struct text *to, const struct observe_entry *a, const struct observe_entry *b,
                        enum observe_level level) {
  if (a->kind == OBSERVE_LINK && a->head && b->head) {
    text_add(to, ": leads to ");
    text_add_plain(to, b->head);
    text_add(to, " instead of ");
    text_add_plain(to, a->head);
    text_add(to, "\n");
    return;
  }
  text_addf(to, ": other content, %llu bytes instead of %llu\n", (unsigned long long)b->size,
            (unsigned long long)a->size);
  if (a->head && b->head && a->size && b->size) say_where(to, a, b, level);
}

static void say_entry(struct text *to, const struct observe_entry *a, const struct observe_entry *b,
                      const struct observe_mask *mask) {
  const struct observe_entry *e = a ? a : b;
  text_add_plain(to, e->path);
  if (!b)
    text_addf(to, ": %s\n",
              a->kind == OBSERVE_DELETED   ? "not deleted"
              : access(a->path, F_OK) == 0 ? "not changed" /* it was there before the run, and still is as it was */
                                           : "missing");
  else if (!a)
    text_addf(to, ": %s\n",
              b->kind == OBSERVE_DELETED   ? "deleted"
              : access(b->path, F_OK) == 0 ? "changed, which it is not without the fault"
                                           : "should not be there");
  else if (a->kind != b->kind)
    text_addf(to, ": %s instead of %s\n", kind_name(b->kind), kind_name(a->kind));
  else if (a->mode != b->mode)
    text_addf(to, ": mode %o instead of %o\n", b->mode, a->mode);
  else
    say_content(to, a, b, content_level(mask, a->path));
}

/* Calls DIFFERS for each entry that only one of them has, or that differs, until it says stop. */
static void compare_entries(const struct observation *a, const struct observation *b, const struct observe_mask *mask,
                            bool (*differs)(void *, const struct observe_entry *, const struct observe_entry *),
                            void *context) {
  size_t i = 0, k = 0;
  while (i < a->entries.n || k < b->entries.n) {
    const struct observe_entry *x = i < a->entries.n ? &a->entries.at[i] : NULL;
    const struct observe_entry *y = k < b->entries.n ? &b->entries.at[k] : NULL;
    int order = !x ? 1 : !y ? -1 : strcmp(x->path, y->path);
    if (order <= 0) i++;
    if (order >= 0) k++;
    if (order < 0) y = NULL;
    if (order > 0) x = NULL;
    const char *path = x ? x->path : y->path;
    if (name_varies(mask, path)) continue;
    if (x && y && same_kind(x, y) && (same_content(x, y) || same_masked(x, y, mask))) continue;
    if (!differs(context, x, y)) return;
  }
}

/* Of all files whose names vary in one way: sums that do not depend on their order. */
struct crowd {
  size_t n;
  uint64_t kinds, contents;
};

static struct crowd crowd_of(const struct observation *o, const char *pattern) {
  struct crowd c = {0};
  for (size_t i = 0; i < o->entries.n; i++) {
    const struct observe_entry *e = &o->entries.at[i];
    if (fnmatch(pattern, e->path, 0) != 0) continue;
    c.n++;
    c.kinds += hash_mix(1 + (uint64_t)e->kind * 2 + !e->size);
    c.contents += hash_mix(e->hash + hash_mix(e->size + hash_mix((uint64_t)e->kind << 32 | e->mode)));
  }
  return c;
}

static enum observe_alike alike(const struct crowd *a, const struct crowd *b) {
  return a->kinds != b->kinds ? ALIKE_NUMBER : a->contents != b->contents ? ALIKE_KINDS : ALIKE_CONTENTS;
}

/* --- what is left in folders for temporary files ------------------------------------------------------------------ */

/* The entry whose path is the first N bytes of PATH: it comes before all others that begin so. */
static const struct observe_entry *find_entry(const struct observation *o, const char *path, size_t n) {
  size_t low = 0, high = o->entries.n;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (strncmp(o->entries.at[mid].path, path, n) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  const struct observe_entry *e = low < o->entries.n ? &o->entries.at[low] : NULL;
  return e && strncmp(e->path, path, n) == 0 && e->path[n] == '\0' ? e : NULL;
}

/*
 * Is a file of B that A does not have only litter: in a folder for temporary files, or in one that B has made there?
 * Whoever works in such a folder has made it before.
 */
static bool is_litter(const struct observation *a, const struct observation *b, const char *path) {
  static const char *const folders[] = {"/tmp/", "/var/tmp/", "/dev/shm/"};
  for (size_t i = 0; i < COUNT(folders); i++) {
    size_t n = strlen(folders[i]);
    if (strncmp(path, folders[i], n) != 0) continue;
    size_t top = n + strcspn(path + n, "/");
    const struct observe_entry *made = find_entry(b, path, top);
    return made && made->kind != OBSERVE_DELETED && !find_entry(a, path, top);
  }
  return false;
}

struct shown {
  const struct observation *a, *b;
  const struct observe_mask *mask;
  struct text *to;
  size_t n, litter, more, modes;
  bool loss;
};

static bool show_entry(void *context, const struct observe_entry *a, const struct observe_entry *b) {
  struct shown *s = context;
  bool spare = a ? a->spare : b->spare;
  /* Sockets and pipes hold nothing; who makes one removes what is left of the last. */
  s->litter += spare || (!a && (b->kind == OBSERVE_OTHER || is_litter(s->a, s->b, b->path)));
  s->more += !a && b->kind != OBSERVE_DELETED;
  s->modes += a && b && a->kind == b->kind && (same_content(a, b) || same_masked(a, b, s->mask));
  if (++s->n <= SHOWN_FILES && s->to) say_entry(s->to, a, b, s->mask);
  s->loss |= !spare && (a ? a->kind != OBSERVE_DELETED : b->kind == OBSERVE_DELETED);
  /* A loss is no litter, whatever else there is; a mode may be all. */
  return !s->loss || s->modes == s->n || (s->to && s->n <= SHOWN_FILES);
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static bool same_stream(const struct observation *a, const struct observation *b, unsigned which,
                        enum observe_level level) {
  const struct observe_stream *x = &a->streams[which], *y = &b->streams[which];
  /* With everything masked, something instead of nothing can still be told. */
  if (level == OBSERVE_NOTHING) return !x->n == !y->n;
  return plain_hash(x->at, x->n, level) == plain_hash(y->at, y->n, level);
}

/* What was not read has at least a length; where numbers are masked, that varies with them. */
static bool same_length(const struct observation *a, const struct observation *b, unsigned which,
                        const struct observe_mask *mask) {
  return mask->streams[which] != OBSERVE_EXACT || mask->more[which] || a->streams[which].more == b->streams[which].more;
}

/* Files whose names vary, as far as runs without faults are alike in them. */
static void compare_crowd(struct shown *s, const struct observe_mask *mask, size_t i) {
  struct crowd a = crowd_of(s->a, mask->names.at[i]), b = crowd_of(s->b, mask->names.at[i]);
  enum observe_alike want = i < mask->alike.n ? mask->alike.at[i] : ALIKE_NUMBER;
  bool other = a.n == b.n && alike(&a, &b) < want;
  if (a.n == b.n && !other) return;
  if (s->to) text_addf(s->to, "%s: %s\n", mask->names.at[i], other ? "other content" : "more or fewer of these files");
  s->loss |= other || b.n < a.n;
  s->more += !other && b.n > a.n;
  s->n++;
}

static unsigned compare_files(const struct observation *a, const struct observation *b, const struct observe_mask *mask,
                              struct text *what) {
  struct shown shown = {.a = a, .b = b, .mask = mask, .to = what};
  compare_entries(a, b, mask, show_entry, &shown);
  for (size_t i = 0; i < mask->names.n; i++)
    compare_crowd(&shown, mask, i);
  if (shown.n == shown.litter) return shown.n ? DIFFERS_LITTER : 0;
  return DIFFERS_FILES | (shown.loss ? DIFFERS_LOSS : 0) | (shown.more == shown.n ? DIFFERS_MORE : 0) |
         (shown.modes == shown.n ? DIFFERS_MODES : 0);
}

unsigned observe_compare(const struct observation *a, const struct observation *b, const struct observe_mask *mask,
                         struct text *what) {
  unsigned differs = a->status != b->status ? DIFFERS_STATUS : 0;
  for (unsigned i = 0; i < OBSERVE_STREAMS; i++) {
    bool same = same_stream(a, b, i, mask->streams[i]);
    if (same && same_length(a, b, i, mask)) continue;
    differs |= i == OBSERVE_OUT ? DIFFERS_OUT : DIFFERS_ERROR;
    if (!what) continue;
    text_addf(what, "%s:\n", stream_names[i]);
    if (same)
      text_addf(what, "%" PRIu64 " bytes instead of %" PRIu64 "\n", b->streams[i].n + b->streams[i].more,
                a->streams[i].n + a->streams[i].more);
    else
      plain_difference(&a->streams[i], &b->streams[i], mask->streams[i], what);
  }
  return differs | compare_files(a, b, mask, what);
}

/* --- learning ----------------------------------------------------------------------------------------------------- */

struct learner {
  struct observe_mask *mask;
  const struct observe_entry *lonely[2]; /* the last that only one run had */
  int r;
};

/* What two names have in common at their ends, with a * between: only inside the last component. */
static const char *common_pattern(struct arena *arena, const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b), front = 0, back = 0;
  while (front < n && front < m && a[front] == b[front])
    front++;
  while (back < n - front && back < m - front && a[n - 1 - back] == b[m - 1 - back])
    back++;
  if (strchr(a + front, '/') && strchr(a + front, '/') < a + n - back) return NULL;
  if (front == 0 || a[front - 1] == '/') return NULL; /* nothing in common but the folder */
  char *pattern = arena_alloc(arena, front + back + 2);
  if (!pattern) return NULL;
  memcpy(pattern, a, front);
  pattern[front] = '*';
  memcpy(pattern + front + 1, a + n - back, back);
  pattern[front + 1 + back] = '\0';
  return pattern;
}

/* How many characters of a name's last part are hexadecimal digits, if all are; 0 if not. */
static size_t hash_digits(const char *from, const char *end) {
  static const char digits[] = "0123456789abcdef";
  size_t n = (size_t)(end - from);
  return strspn(from, digits) >= n ? n : 0;
}

/*
 * Stores name files by a hash of what is in them, and put them into folders that are called by its first two digits.
 * Where such a name begins in PATH, or NULL: other folders and short numbers are names like any other.
 */
static const char *find_hash(const char *path, bool folder) {
  enum { SHORTEST = 8, PREFIX = 2 };
  const char *end = path + strlen(path), *slash = strrchr(path, '/');
  if (!slash) return NULL;
  size_t n = hash_digits(slash + 1, end);
  if (folder && n == PREFIX) return slash + 1;
  if (n < SHORTEST) return NULL;
  bool inside = slash - path > PREFIX && slash[-PREFIX - 1] == '/' && hash_digits(slash - PREFIX, slash) == PREFIX;
  return inside ? slash - PREFIX : slash + 1;
}

/* PATH with any digits in place of the hash. */
static const char *hash_pattern(struct arena *arena, const char *path, bool folder) {
  static const char any[] = "[0-9a-f]";
  const char *hash = find_hash(path, folder);
  char *pattern = hash ? arena_alloc(arena, strlen(path) * strlen(any) + 1) : NULL, *to = pattern;
  if (!pattern) return NULL;
  for (; *path; path++) {
    bool digit = path >= hash && *path != '/';
    if (digit) {
      to = stpcpy(to, any);
      continue;
    }
    if (strchr("*?[\\", *path)) *to++ = '\\';
    *to++ = *path;
  }
  *to = '\0';
  return pattern;
}

/* A is of the first run, and stands for those that were looked at before: levels include those below them. */
static int learn_content(struct observe_mask *mask, const struct observe_entry *a, const struct observe_entry *b) {
  struct observe_content *known = content_mask(mask, a->path);
  struct observe_content now = {.level = known ? known->level : OBSERVE_NO_NUMBERS, .empty = !a->size || !b->size};
  if (!is_whole(a) || !is_whole(b)) now.level = OBSERVE_NOTHING;
  while (now.level < OBSERVE_NOTHING && !same_at(a, b, now.level))
    now.level++;
  if (known) {
    known->level = now.level;
    known->empty |= now.empty;
    return 0;
  }
  now.path = arena_strdup(&mask->arena, a->path);
  return now.path ? vec_push(&mask->contents, now) : -ENOMEM;
}

static bool learn_entry(void *context, const struct observe_entry *a, const struct observe_entry *b) {
  struct learner *l = context;
  if (a && b) {
    l->r = same_kind(a, b) ? learn_content(l->mask, a, b) : -EAGAIN;
    return l->r == 0;
  }
  const struct observe_entry *only = a ? a : b;
  const char *hash = hash_pattern(&l->mask->arena, only->path, only->kind == OBSERVE_FOLDER);
  if (hash) {
    l->r = vec_push(&l->mask->names, hash);
    return l->r == 0;
  }
  l->lonely[a ? 0 : 1] = only;
  if (!l->lonely[0] || !l->lonely[1]) return true;
  const char *pattern = common_pattern(&l->mask->arena, l->lonely[0]->path, l->lonely[1]->path);
  l->lonely[0] = l->lonely[1] = NULL;
  l->r = pattern ? vec_push(&l->mask->names, pattern) : -EAGAIN;
  return l->r == 0;
}

/* What two runs had in common by chance, a third may not have: a pattern is made wider, so that it takes in PATH. */
static bool widen_pattern(struct observe_mask *mask, const char *path) {
  for (size_t i = 0; i < mask->names.n; i++) {
    const char *wider = common_pattern(&mask->arena, mask->names.at[i], path);
    if (!wider) continue;
    mask->names.at[i] = wider;
    return true;
  }
  return false;
}

static enum observe_alike learn_crowd(const struct observation *runs, size_t n, const char *pattern) {
  struct crowd first = crowd_of(&runs[0], pattern);
  enum observe_alike most = ALIKE_CONTENTS;
  for (size_t i = 1; i < n; i++) {
    struct crowd other = crowd_of(&runs[i], pattern);
    enum observe_alike now = alike(&first, &other);
    if (now < most) most = now;
  }
  return most;
}

static int learn_files(const struct observation *runs, size_t n, struct observe_mask *mask) {
  for (size_t i = 1; i < n; i++) {
    struct learner l = {.mask = mask};
    compare_entries(&runs[0], &runs[i], mask, learn_entry, &l);
    if (l.r < 0) return l.r;
    for (int k = 0; k < 2; k++)
      if (l.lonely[k] && !widen_pattern(mask, l.lonely[k]->path)) return -EAGAIN;
  }
  for (size_t i = 0; i < mask->names.n; i++)
    if (vec_push(&mask->alike, (uint8_t)learn_crowd(runs, n, mask->names.at[i])) < 0) return -ENOMEM;
  return 0;
}

static void say_masked(const struct observe_mask *m, struct text *what) {
  static const char *const levels[] = {"",
                                       "addresses",
                                       "names of temporary files and addresses",
                                       "numbers and times",
                                       "the order of lines, numbers and times",
                                       "all of it"};
  static const char *const crowds[] = {[ALIKE_NUMBER] = ", and so does the file: only how many there are is compared",
                                       [ALIKE_KINDS] = ", and so does the content: whether it is empty is compared",
                                       [ALIKE_CONTENTS] = ""};
  for (unsigned i = 0; i < OBSERVE_STREAMS; i++)
    if (m->streams[i])
      text_addf(what, "%s varies from run to run: %s not compared\n", stream_names[i], levels[m->streams[i]]);
  for (size_t i = 0; i < m->contents.n; i++) {
    const struct observe_content *c = &m->contents.at[i];
    if (c->level == OBSERVE_NOTHING)
      text_addf(what, "%s: its content varies from run to run and is not compared%s\n", c->path,
                c->empty ? "" : ", but for whether it is empty");
    else
      text_addf(what, "%s: its content varies from run to run: %s not compared\n", c->path, levels[c->level]);
  }
  for (size_t i = 0; i < m->names.n; i++)
    text_addf(what, "%s: the name varies from run to run%s\n", m->names.at[i], crowds[m->alike.at[i]]);
  for (unsigned i = 0; i < OBSERVE_STREAMS; i++)
    if (m->cut[i])
      text_addf(what, "%s is long: only its beginning%s compared\n", stream_names[i],
                m->more[i] || m->streams[i] != OBSERVE_EXACT ? " is" : " and its length are");
}

static int learn(const struct observation *runs, size_t n, struct observe_mask *mask) {
  for (unsigned i = 0; i < OBSERVE_STREAMS; i++)
    for (size_t k = 1; k < n; k++) {
      struct observe_stream two[2] = {runs[0].streams[i], runs[k].streams[i]};
      enum observe_level level = plain_level(two, 2);
      if (level > mask->streams[i]) mask->streams[i] = level;
      mask->cut[i] |= two[0].more || two[1].more;
      mask->more[i] |= two[0].more != two[1].more;
      if (level == OBSERVE_NOTHING || !two[0].n != !two[1].n) return -EAGAIN;
    }
  return learn_files(runs, n, mask);
}

int observe_learn(const struct observation *runs, size_t n, struct observe_mask *ret, struct text *what) {
  struct observe_mask mask = {0};
  int r = n ? learn(runs, n, &mask) : -EINVAL;
  for (size_t i = 1; r == 0 && i < n; i++)
    if (observe_compare(&runs[0], &runs[i], &mask, NULL)) r = -EAGAIN;
  if (r == 0) {
    say_masked(&mask, what);
    *ret = mask;
    return 0;
  }
  struct observe_mask none = {0};
  for (size_t i = 1; i < n; i++) {
    if (runs[i].status != runs[0].status) text_addf(what, "run %zu ended in another way than run 1\n", i + 1);
    if (observe_compare(&runs[0], &runs[i], &none, what)) break;
  }
  observe_mask_done(&mask);
  return r;
}

void observe_mask_done(struct observe_mask *m) {
  vec_done(&m->contents);
  vec_done(&m->names);
  vec_done(&m->alike);
  arena_done(&m->arena);
}

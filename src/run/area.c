/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a run, and in it the area that murphy shares with the processes of the target.
 *
 * The target is about to misbehave, and the area is memory that it can write to: nothing in it is used as an index, a
 * size or a string before it was checked against what murphy itself remembers.
 */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The file is sparse: what no event reaches costs nothing. */
enum { EVENTS = 1 << 14, LOADED = 2048, POINTS = 1 << 16 };
/* So many wait to be written at most; then the ring fills, and the target waits. */
enum { PENDING_MAX = 1 << 16 };

/*
 * gcc's address sanitizer refuses to start unless it is the first library, and knows itself by a part of a name. It
 * works as well behind the shim, and only there can calls be made to fail that it would not pass on, such as malloc.
 * clang's, inside a program, refuses to start beside a library of that name.
 */
static const char plain_name[] = "shim.so", asan_name[] = "shim-before-libasan.so";

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* LD_PRELOAD is split at spaces and colons; a file system without exec cannot hold a library. */
static bool is_usable(const char *folder) {
  struct statvfs fs;
  return folder && folder[0] == '/' && !strpbrk(folder, " :") && statvfs(folder, &fs) == 0 &&
         !(fs.f_flag & (ST_NOEXEC | ST_RDONLY)) && access(folder, W_OK | X_OK) == 0;
}

static char *join(const char *folder, const char *name) {
  struct text t = {0};
  text_addf(&t, "%s/%s", folder, name);
  if (!t.failed) return t.at;
  text_done(&t);
  return NULL;
}

int run_folder_make(bool before_asan, struct run_folder *ret, struct err *e) {
  const char *places[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
  struct run_folder f = {0};
  int code = -ENOENT;
  for (size_t i = 0; i < COUNT(places) && !f.path; i++) {
    if (!is_usable(places[i])) continue;
    if (!(f.path = join(places[i], "murphy-XXXXXX"))) return err_set(e, -ENOMEM, "out of memory");
    if (mkdtemp(f.path)) break;
    code = -errno;
    free(f.path);
    f.path = NULL;
  }
  if (!f.path)
    return err_set(e, -ECANCELED,
                   "no folder for the run: neither XDG_RUNTIME_DIR, /dev/shm, TMPDIR nor /tmp can be written to and "
                   "hold libraries (%s; is one mounted noexec?)",
                   strerror(-code));
  f.area = join(f.path, "area");
  f.shim = join(f.path, before_asan ? asan_name : plain_name);
  if (!f.area || !f.shim) {
    run_folder_done(&f);
    return err_set(e, -ENOMEM, "out of memory");
  }
  *ret = f;
  return 0;
}

void run_folder_done(struct run_folder *f) {
  /* What cannot be removed is in a folder for temporary files; there is nothing better to do about it. */
  if (f->area) (void)unlink(f->area);
  if (f->shim) (void)unlink(f->shim);
  if (f->path) (void)rmdir(f->path);
  free(f->area);
  free(f->shim);
  free(f->path);
  memset(f, 0, sizeof *f);
}

int run_folder_write(const struct run_folder *f, const struct text *shim, struct err *e) {
  if (shim->failed) return err_set(e, -ENOMEM, "out of memory");
  return file_write(f->shim, shim->at, shim->n, e);
}

/* --- the area ----------------------------------------------------------------------------------------------------- */

static struct wire_span place(size_t *end, size_t n, size_t size) {
  struct wire_span s = {.at = (uint32_t)*end, .n = (uint32_t)n};
  *end = (*end + n * size + 63) & ~(size_t)63;
  return s;
}

static int map_file(const char *path, size_t size, void **ret, int *ret_file, struct err *e) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return err_set(e, -errno, "%s: %s", path, strerror(errno));
  int r = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
  void *at = r < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (r == 0 && at == MAP_FAILED) r = -errno;
  if (r < 0) {
    (void)close(fd);
    return err_set(e, r, "%s: %s", path, strerror(-r));
  }
  *ret = at;
  *ret_file = fd;
  return 0;
}

static void write_header(struct run_area *a) {
  *a->at = (struct wire_area){
      .magic = WIRE_AREA_MAGIC,
      .version = WIRE_VERSION,
      .header = sizeof *a->at,
      .size = a->size,
      .events = a->events,
      .loaded = a->loaded,
      .points = a->points,
      .counts = a->counts,
  };
}

int run_area_make(const char *path, size_t n_functions, bool points, struct run_area *ret, struct err *e) {
  struct run_area a = {0};
  void *at = NULL;
  size_t end = (sizeof(struct wire_area) + 63) & ~(size_t)63;
  a.counts = place(&end, n_functions, sizeof(uint64_t));
  a.loaded = place(&end, LOADED, sizeof(struct wire_loaded));
  a.events = place(&end, EVENTS, sizeof(struct wire_event));
  a.points = place(&end, points ? POINTS : 0, sizeof(struct wire_point));
  a.size = end;
  int r = map_file(path, a.size, &at, &a.file, e);
  if (r < 0) return r;
  a.at = at;
  write_header(&a);
  *ret = a;
  return 0;
}

/* Holes in the file are as good as zeroes, and cost nothing; the target may have made it shorter. */
int run_area_reset(struct run_area *a, struct err *e) {
  if (fallocate(a->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)a->size) < 0 ||
      ftruncate(a->file, (off_t)a->size) < 0)
    return err_set(e, -errno, "cannot empty the area: %m");
  write_header(a);
  a->read = 0;
  a->pending.n = a->taken = 0;
  return 0;
}

bool run_area_point(const struct run_area *a, uint32_t i, struct wire_point *ret) {
  if (i >= a->points.n) return false;
  const struct wire_point *p = (const struct wire_point *)((const char *)a->at + a->points.at) + i;
  if (__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE) != 1) return false;
  memcpy(ret, p, sizeof *ret);
  if (ret->n_frames > WIRE_FRAMES) ret->n_frames = WIRE_FRAMES;
  return true;
}

void run_area_done(struct run_area *a) {
  if (a->at) {
    (void)munmap(a->at, a->size);
    (void)close(a->file);
  }
  vec_done(&a->pending);
  memset(a, 0, sizeof *a);
}

static const void *element(const struct run_area *a, struct wire_span span, uint64_t i, size_t size) {
  return (const char *)a->at + span.at + (i % span.n) * size;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void bound(struct wire_event *event) {
  if (event->n_frames > WIRE_FRAMES) event->n_frames = WIRE_FRAMES;
}

/*
 * Copies event number K if it is complete. Its bytes may still change afterwards, in the mapping but not in the copy.
 */
static int read_event(struct run_area *a, uint64_t k, bool *ret_complete) {
  const struct wire_event *from = element(a, a->events, k, sizeof *from);
  *ret_complete = __atomic_load_n(&from->ready, __ATOMIC_ACQUIRE) == k + 1;
  if (!*ret_complete) return 0;
  struct wire_event *to = vec_more(&a->pending);
  if (!to) return -ENOMEM;
  memcpy(to, from, sizeof *to);
  to->ready = k + 1;
  bound(to);
  return 0;
}

/* A file that is shorter than its mapping is a SIGBUS. */
static bool is_whole(const struct run_area *a) {
  struct stat st;
  return fstat(a->file, &st) == 0 && (uint64_t)st.st_size >= a->size;
}

int run_area_drain(struct run_area *a, bool final) {
  if (!is_whole(a)) return -EIO;
  uint64_t next = __atomic_load_n(&a->at->next_event, __ATOMIC_ACQUIRE);
  if (a->taken == a->pending.n) a->taken = a->pending.n = 0;
  /* A target that scribbles over the counter must not keep us here for 2^64 events. */
  if (next - a->read > a->events.n) next = a->read + a->events.n;
  while (a->read < next && a->pending.n - a->taken < PENDING_MAX) {
    bool complete;
    int r = read_event(a, a->read, &complete);
    if (r < 0) return r;
    if (!complete && !final) break;
    a->read++;
    __atomic_store_n(&a->at->read, a->read, __ATOMIC_RELEASE);
  }
  return 0;
}

bool run_area_take(struct run_area *a, struct wire_event *ret) {
  if (a->taken == a->pending.n) return false;
  *ret = a->pending.at[a->taken++];
  return true;
}

bool run_area_loaded(const struct run_area *a, uint32_t n, struct wire_loaded *ret) {
  if (n == 0 || n > a->loaded.n) return false;
  const struct wire_loaded *from = element(a, a->loaded, n - 1, sizeof *from);
  if (__atomic_load_n(&from->ready, __ATOMIC_ACQUIRE) != 1) return false;
  memcpy(ret, from, sizeof *ret);
  ret->path[sizeof ret->path - 1] = 0;
  return true;
}

uint64_t run_area_count(const struct run_area *a, uint32_t function) {
  if (function >= a->counts.n) return 0;
  const uint64_t *at = element(a, a->counts, function, sizeof *at);
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CoverageTrigger: true once for each call stack. With a file, what was seen is remembered from run to run.
 */
#include "scenario/classes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct class_arg coverage_args[] = {{.name = "file"}};

/* The program may have another working folder than murphy when it starts, so the path is a whole one. */
static int coverage_setup(struct arena *a, const struct trigger *t, const void **ret, struct err *e) {
  const struct trigger_arg *file = trigger_arg(t, "file");
  char folder[4096] = "";
  struct text path = {0};
  *ret = "";
  if (!file) return 0;
  if (file->value[0] != '/' && !getcwd(folder, sizeof folder))
    return FAIL_AT(file->value_at, e, -errno, "the working folder is not known: %s", strerror(errno));
  text_addf(&path, "%s%s%s", folder, folder[0] ? "/" : "", file->value);
  *ret = path.failed ? NULL : arena_strdup(a, path.at);
  text_done(&path);
  return *ret ? 0 : -ENOMEM;
}

static bool has_magic(const char *path) {
  uint64_t word = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  bool read_it = fd >= 0 && read(fd, &word, sizeof word) == (ssize_t)sizeof word;
  if (fd >= 0) (void)close(fd);
  return read_it && (word == 0 || word == WIRE_SEEN_MAGIC);
}

/* Why the file cannot be made; NULL if it can. */
static const char *why_not_made(const char *path) {
  char folder[4096];
  const char *slash = strrchr(path, '/');
  size_t n = slash && slash > path ? (size_t)(slash - path) : 1;
  if (n >= sizeof folder) return strerror(ENAMETOOLONG);
  memcpy(folder, slash ? path : ".", n);
  folder[n] = '\0';
  return access(folder, W_OK | X_OK) < 0 ? strerror(errno) : NULL;
}

/* Why the runtime will not keep stacks in the file; NULL if it will, as far as can be seen. */
static const char *why_not_kept(const char *path) {
  struct stat s;
  if (stat(path, &s) < 0) return errno == ENOENT ? why_not_made(path) : strerror(errno);
  bool size = s.st_size == 0 || s.st_size == (off_t)WIRE_SEEN_SIZE;
  if (!S_ISREG(s.st_mode) || !size) return "it is not such a file";
  if (access(path, R_OK | W_OK) < 0) return strerror(errno);
  return s.st_size == 0 || has_magic(path) ? NULL : "it is not such a file";
}

/* A run without a memory must not look like one in which every stack was new. */
static void note_not_kept(const struct plan *p, const struct trigger *t) {
  const struct trigger_arg *file = trigger_arg(t, "file");
  const char *why = file && p->world->note ? why_not_kept(t->settings) : NULL;
  struct err note;
  if (!why) return;
  (void)FAIL_AT(file->value_at, &note, -EINVAL, "stacks are not kept in %.200s, and none are known from it: %s",
                file->value, why);
  p->world->note(p->world->context, note.text);
}

/* Triggers with one file have one memory; one without a file has its own, under its id. */
static int find_memory(struct plan *p, const struct trigger *t, uint32_t *ret) {
  const char *path = t->settings;
  uint32_t text;
  uint64_t known;
  int r = plan_string(p, path, &text);
  if (r < 0) return r;
  uint64_t owner = *path ? hash_string(path) : (uintptr_t)t;
  if (map_get(&p->memory_of, owner, &known)) {
    *ret = (uint32_t)known;
    return 0;
  }
  if (p->memories.n == 16) return FAIL_AT(t->at, p->e, -E2BIG, "there are at most 16 CoverageTriggers");
  note_not_kept(p, t);
  *ret = (uint32_t)p->memories.n;
  if (vec_push(&p->memories, text) < 0 || map_put(&p->memory_of, owner, *ret) < 0) return plan_no_memory(p);
  return 0;
}

static int coverage_emit(struct emitter *m, const struct trigger *t) {
  uint32_t memory = 0;
  int r = find_memory(m->plan, t, &memory);
  return r < 0 ? r : emit(m, WIRE_OP_FRESH, memory);
}

const struct trigger_class class_coverage = {
    .name = "CoverageTrigger",
    .args = coverage_args,
    .n_args = COUNT(coverage_args),
    .setup = coverage_setup,
    .emit = coverage_emit,
};

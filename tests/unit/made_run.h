/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a target under a plan made by hand: shim and area in a folder of their own, events afterwards. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_plan.h"
#include "shim/shim.h"

#define MADE_EVENTS 64
#define MADE_LOADED 128
#define MADE_POINTS 256
#define MADE_OUTPUT 8192

static const char *made_shim_name = "shim.so";

struct made_run {
  char folder[64], area_path[96], shim_path[96];
  const char *more_preload; /* what LD_PRELOAD has behind the shim; NULL: nothing */
  struct wire_area *area;
  size_t area_size;
  int status;               /* of waitpid */
  char output[MADE_OUTPUT]; /* standard output and error */
};

static inline size_t made_align(size_t n) { return (n + 63) / 64 * 64; }

static inline void made_area(struct made_run *r, size_t functions) {
  size_t events = made_align(sizeof(struct wire_area)), loaded = events + MADE_EVENTS * sizeof(struct wire_event);
  size_t points = loaded + MADE_LOADED * sizeof(struct wire_loaded);
  size_t counts = points + MADE_POINTS * sizeof(struct wire_point);
  r->area_size = counts + functions * sizeof(uint64_t);
  int fd = open(r->area_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  made_must(fd >= 0 && ftruncate(fd, (off_t)r->area_size) == 0);
  r->area = mmap(NULL, r->area_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  made_must(r->area != MAP_FAILED && close(fd) == 0);
  *r->area = (struct wire_area){
      .magic = WIRE_AREA_MAGIC,
      .version = WIRE_VERSION,
      .header = sizeof *r->area,
      .size = r->area_size,
      .events = {(uint32_t)events, MADE_EVENTS},
      .loaded = {(uint32_t)loaded, MADE_LOADED},
      .points = {(uint32_t)points, MADE_POINTS},
      .counts = {(uint32_t)counts, (uint32_t)functions},
  };
}

static inline void made_path(char *path, size_t size, const char *variable, const char *rest) {
  const char *base = getenv(variable);
  made_must(base && snprintf(path, size, "%s/%s", base, rest) < (int)size);
}

/* Folder, area and shim for PLAN, whose area and preload are set here. */
static inline void made_begin(struct made_run *r, struct made_plan *plan) {
  *r = (struct made_run){.folder = "/tmp/murphy-made-XXXXXX"};
  made_must(mkdtemp(r->folder));
  (void)snprintf(r->area_path, sizeof r->area_path, "%s/area", r->folder);
  (void)snprintf(r->shim_path, sizeof r->shim_path, "%s/%s", r->folder, made_shim_name);
  plan->area = made_text(plan, r->area_path);
  plan->preload = made_text(plan, r->shim_path);
  made_area(r, plan->functions.n);
  struct text bytes = made_bytes(plan), shim = {0};
  char runtime[512];
  made_path(runtime, sizeof runtime, "MURPHY_BUILD", "libmurphy-rt.so");
  struct err e = {0};
  if (shim_write(bytes.at, bytes.n, runtime, &shim, &e) < 0 || file_write(r->shim_path, shim.at, shim.n, &e) < 0) {
    (void)fprintf(stderr, "%s\n", e.text);
    abort();
  }
  text_done(&bytes);
  text_done(&shim);
}

static inline void made_child(const struct made_run *r, char *const *argv, int out) {
  char preload[1024];
  (void)snprintf(preload, sizeof preload, "%s%s", r->shim_path, r->more_preload ? r->more_preload : "");
  bool set = *preload ? setenv("LD_PRELOAD", preload, 1) == 0 : unsetenv("LD_PRELOAD") == 0;
  if (dup2(out, 1) < 0 || dup2(out, 2) < 0 || !set) _exit(126);
  (void)execv(argv[0], argv);
  _exit(127);
}

/* Runs ARGV to its end, with output in r->output. */
static inline void made_start(struct made_run *r, char *const *argv) {
  int ends[2];
  made_must(pipe2(ends, O_CLOEXEC) == 0);
  pid_t child = fork();
  made_must(child >= 0);
  if (child == 0) made_child(r, argv, ends[1]);
  made_must(close(ends[1]) == 0);
  size_t n = 0;
  ssize_t got;
  while ((got = read(ends[0], r->output + n, sizeof r->output - 1 - n)) > 0)
    n += (size_t)got;
  r->output[n] = 0;
  (void)close(ends[0]);
  made_must(waitpid(child, &r->status, 0) == child);
}

static inline const struct wire_event *made_event(const struct made_run *r, size_t i) {
  const struct wire_event *e = (const void *)((const char *)r->area + r->area->events.at);
  return i < r->area->next_event && e[i].ready == i + 1 ? &e[i] : NULL;
}

static inline void made_end(struct made_run *r) {
  (void)munmap(r->area, r->area_size);
  (void)unlink(r->area_path);
  (void)unlink(r->shim_path);
  (void)rmdir(r->folder);
}

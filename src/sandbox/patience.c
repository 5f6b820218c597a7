/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a command that takes long stuck, or does it only wait for a processor, or for a time that will come?
 *
 * The kernel says of each thread how long it was ready to run and did not (schedstat): that time does not count, so
 * that a busy machine hangs nobody. It also says in which system call a thread sleeps (syscall): if each thread of each
 * process sleeps without a limit (sleep.c) and none has run meanwhile, nothing will happen any more. Who sleeps for a
 * while may be about to give up, and is given more time where the caller wants to be sure: the longer its naps, the
 * more, since it is only known that there is no end to them when there were many; and most if they become longer and
 * longer.
 *
 * Runs in the keeper, whose /proc shows the sandbox only. Without a sandbox, only the command itself is looked at.
 */
#include "sandbox/sandbox_inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* At most so many times its limit is a run allowed to take in all. */
enum { TIMES = 8 };
/* More threads than this that want to run are a crowd. */
enum { CROWD = 32 };
/* One that sleeps has the time for so many naps, up to so many times of what others have; more if they grow. */
enum { NAPS = 20, NAP_TIMES = 3, GROWING_TIMES = 6 };
enum { GLANCE_NS = 100000000, SHORTEST_NS = 10000000, BUSY_NS = 500000000, AWAKE_NS = 1000000000 };
/* So long is looked at least before anything is known about naps. */
#define LOOK_NS 2000000000u

struct glance {
  uint64_t starved, switches, used;
  unsigned busy; /* threads that run, or would */
  bool waits;    /* one sleeps for a limited time, or perhaps */
  bool naps;     /* ... for certain */
  bool timed;    /* a timer may be running, and change what one does */
  int process;   /* the folder of the one that is looked at */
  bool files_seen;
};

static void look_at_thread(int folder, struct glance *g) {
  char line[256];
  uint64_t used = 0, delay = 0, slices = 0;
  if (sleep_read(folder, "schedstat", line, sizeof line) > 0 &&
      sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &used, &delay, &slices) == 3) {
    g->used += used;
    g->starved += delay;
    g->switches += slices;
  }
  ssize_t n = sleep_read(folder, "syscall", line, sizeof line);
  if (n == -EPERM || n == -EACCES) g->waits = true; /* what it does is not known */
  if (n <= 0) return;                               /* it has ended */
  g->timed = g->timed || sleep_has_timer(g->process, folder, &g->files_seen);
  if (strncmp(line, "running", 7) == 0) {
    g->busy++;
    return;
  }
  enum sleep_limit limit = sleep_limit(folder, line);
  if (limit != SLEEP_ENDLESS) g->waits = true;
  if (limit == SLEEP_LIMITED) g->naps = true;
}

static void each_number(int folder, void (*look)(int folder, struct glance *g), struct glance *g, const pid_t *but) {
  DIR *d = fdopendir(folder);
  if (!d) {
    (void)close(folder);
    return;
  }
  for (struct dirent *entry; (entry = readdir(d));) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    long number = strtol(entry->d_name, NULL, 10);
    if (number == 1 || (but && (number == but[0] || number == but[1]))) continue;
    int fd = openat(dirfd(d), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) continue;
    look(fd, g);
    (void)close(fd);
  }
  (void)closedir(d);
}

static void look_at_process(int folder, struct glance *g) {
  int threads = openat(folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  g->process = folder;
  g->files_seen = false;
  if (threads >= 0) each_number(threads, look_at_thread, g, NULL);
}

static struct glance look_around(const struct patience *p) {
  struct glance g = {0};
  char path[32] = "/proc";
  if (p->only) (void)snprintf(path, sizeof path, "/proc/%d", (int)p->only);
  int proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return g;
  if (!p->only) {
    each_number(proc, look_at_process, &g, p->but);
    return g;
  }
  look_at_process(proc, &g);
  (void)close(proc);
  return g;
}

/* Has anything moved since the last look? How long its last naps were is kept. */
static bool note_naps(struct patience *p, const struct glance *g, uint64_t now) {
  bool first = !p->looked, moved = first || p->switches != g->switches;
  /* Two looks that are far apart may have missed much between them, and the first one comes in the middle of a nap. */
  uint64_t missed = now - (first ? p->start : p->glanced);
  if (moved && p->still > 2 * (uint64_t)GLANCE_NS) {
    p->before = p->last;
    p->last = p->still;
    p->before_most = p->last_most;
    p->last_most = p->still + p->missed + missed;
  }
  if (moved) p->missed = missed;
  p->glanced = now;
  /* Who is ready to run naps no more, however long it waits for a processor. */
  if (moved || !g->busy) p->still = moved ? 0 : now - p->moved;
  if (p->still > p->nap) p->nap = p->still;
  if (first) p->since = now;
  if (moved) p->moved = now;
  if (g->naps) p->napped = now;
  /* Who computes without end uses a processor; who is only ready to run waits for one. */
  if (first || g->used < p->used || (g->naps && !g->busy)) p->used = g->used;
  p->looked = true;
  p->switches = g->switches;
  return moved;
}

/* Is each of its pauses longer than the one before, which was MOST at most? What a look can miss does not count. */
static bool is_longer(uint64_t nap, uint64_t before, uint64_t most) {
  if (!before || nap <= most) return false;
  return nap > before + (before / 8 > 2 * (uint64_t)GLANCE_NS ? before / 8 : 2 * (uint64_t)GLANCE_NS);
}

static bool naps_grow(const struct patience *p) {
  return is_longer(p->last, p->before, p->before_most) || is_longer(p->still, p->last, p->last_most);
}

/*
 * Who tries again after a pause gives up after some of them, mostly, and pauses may become longer and longer. In
 * between it may be at work for a moment.
 */
static uint64_t most_of(const struct patience *p, uint64_t now) {
  if (!p->napped || now - p->napped > p->nap + AWAKE_NS) return p->most_ns;
  if (naps_grow(p) || now - p->since < LOOK_NS) return p->most_ns * GROWING_TIMES;
  uint64_t naps = p->nap * NAPS, most = p->most_ns * NAP_TIMES;
  return naps < p->most_ns ? p->most_ns : naps < most ? naps : most;
}

/* It has had its time, but may be about to give up. */
static bool may_end(const struct patience *p, const struct glance *g, uint64_t now, uint64_t had, bool moved) {
  if (p->only && had < p->most_ns) return true; /* others, which are not seen, may be at work */
  if (had >= p->most_ns && had >= most_of(p, now)) return false;
  if (g->timed) return true;
  if (g->busy) return g->used - p->used < BUSY_NS;
  return g->waits || moved;
}

/* How long it may take until that is known; of naps that were not seen to their end, nothing is. */
static uint64_t expected_of(const struct patience *p, uint64_t now) {
  bool known = p->before || p->nap <= 2 * (uint64_t)GLANCE_NS;
  return !p->napped || known ? most_of(p, now) : p->most_ns * NAP_TIMES;
}

/* Who takes longer than most is not waited for now, but looked at for long enough to tell that. */
static bool is_put_off(struct patience *p, uint64_t now) {
  if (!p->brief || now - p->since < LOOK_NS) return false;
  uint64_t expected = expected_of(p, now);
  p->asks = expected > p->most_ns ? expected : 0;
  return p->asks;
}

static uint64_t at_most(const struct patience *p, uint64_t time) { return p->end && time > p->end ? p->end : time; }

uint64_t patience_first(const struct patience *p) { return p->wall_ns ? at_most(p, p->start + p->wall_ns) : p->end; }

uint64_t patience_until(struct patience *p, uint64_t now) {
  if (p->end && now >= p->end) return 0;
  struct glance g = look_around(p);
  uint64_t elapsed = now - p->start, longest = p->most_ns > p->wall_ns ? p->most_ns : p->wall_ns;
  /* Many threads that want to run are in each other's way, which is nobody else's fault. */
  if (g.busy > CROWD) g.starved = 0;
  uint64_t had = g.starved < elapsed ? elapsed - g.starved : 0;
  bool moved = note_naps(p, &g, now);
  if (elapsed >= longest * TIMES) return 0;
  if (had < p->wall_ns) {
    uint64_t left = p->wall_ns - had;
    return at_most(p, now + (left > SHORTEST_NS ? left : SHORTEST_NS));
  }
  if (!p->most_ns || !may_end(p, &g, now, had, moved) || is_put_off(p, now)) return 0;
  return at_most(p, now + GLANCE_NS);
}

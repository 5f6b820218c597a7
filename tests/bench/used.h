/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor time of this process and of all that it has started, whether that still runs or has ended. On a machine that
 * others use too it says more than how long something took.
 */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static inline double used_timeval(const struct timeval *t) { return (double)t->tv_sec + (double)t->tv_usec / 1e6; }

/* In the kernel's ticks, of PID and those that it has waited for. */
static inline double used_ticks(pid_t pid) {
  char path[64], text[1024];
  unsigned long user = 0, system = 0, children_user = 0, children_system = 0;
  (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *f = fopen(path, "re");
  size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) (void)fclose(f);
  text[n] = '\0';
  const char *behind = strrchr(text, ')');
  if (behind)
    (void)sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user, &system,
                 &children_user, &children_system);
  return (double)(user + system + children_user + children_system);
}

/* Of all that PID has started and that still runs. */
static inline double used_ticks_below(pid_t pid) {
  char path[64];
  double sum = 0;
  int child;
  (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
  FILE *f = fopen(path, "re");
  while (f && fscanf(f, "%d", &child) == 1)
    sum += used_ticks(child) + used_ticks_below(child);
  if (f) (void)fclose(f);
  return sum;
}

/* Of this process and those that it has waited for. */
static inline double used_alone(void) {
  struct rusage own = {0}, children = {0};
  (void)getrusage(RUSAGE_SELF, &own);
  (void)getrusage(RUSAGE_CHILDREN, &children);
  return used_timeval(&own.ru_utime) + used_timeval(&own.ru_stime) + used_timeval(&children.ru_utime) +
         used_timeval(&children.ru_stime);
}

static inline double used_seconds(void) {
  return used_alone() + used_ticks_below(getpid()) / (double)sysconf(_SC_CLK_TCK);
}

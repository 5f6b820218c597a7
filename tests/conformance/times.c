/* SPDX-License-Identifier: Apache-2.0 */
/* Time. Some of these are resolved at load time to the kernel's own page (IFUNC), some never enter the kernel. */
#include "conform.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>

static struct timespec spec, rest, start;
static struct timeval value;
static struct tm parts;
static struct itimerval interval;
static time_t seconds;
static timer_t timer;
static struct sigevent event;
static unsigned before;

static struct timespec now(void) {
  struct timespec t = {0};
  x_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&t, 0, 0, 0, 0);
  return t;
}

static long since_start(void) { /* milliseconds */
  struct timespec t = now();
  return (t.tv_sec - start.tv_sec) * 1000 + (t.tv_nsec - start.tv_nsec) / 1000000;
}

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

static void clock_gettime_prepare(uint64_t *args) {
  paint(&spec, sizeof(spec));
  args[0] = CLOCK_REALTIME, args[1] = ARG(&spec);
}

static void spec_unchanged(void) { argument(painted(&spec, sizeof(spec)), "the time is not written to"); }

static void clock_gettime_done(uint64_t result) {
  is_zero(result);
  argument(spec.tv_sec > 1000000000 && spec.tv_nsec >= 0 && spec.tv_nsec < 1000000000, "the time is filled in");
}

static void gettimeofday_prepare(uint64_t *args) {
  paint(&value, sizeof(value));
  args[0] = ARG(&value);
}

static void gettimeofday_unchanged(void) { argument(painted(&value, sizeof(value)), "the time is not written to"); }

static void gettimeofday_done(uint64_t result) {
  is_zero(result);
  argument(value.tv_sec > 1000000000 && value.tv_usec >= 0 && value.tv_usec < 1000000, "the time is filled in");
}

static void time_prepare(uint64_t *args) {
  paint(&seconds, sizeof(seconds));
  args[0] = ARG(&seconds);
}

static void time_unchanged(void) { argument(painted(&seconds, sizeof(seconds)), "the time is not written to"); }

static void time_done(uint64_t result) {
  check(result > 1000000000 && result >> 40 == 0, "result", "the time, in all 64 bits");
  argument(seconds == (time_t)result, "the time is filled in");
}

static void nanosleep_prepare(uint64_t *args) {
  spec = (struct timespec){0, 30000000};
  paint(&rest, sizeof(rest));
  start = now();
  args[0] = ARG(&spec), args[1] = ARG(&rest);
}

static void sleep_done(uint64_t result) {
  is_zero(result);
  effect(since_start() >= 30, "it takes its time");
  argument(painted(&rest, sizeof(rest)), "the rest is not written to");
}

static void clock_nanosleep_prepare(uint64_t *args) {
  nanosleep_prepare(args);
  args[0] = CLOCK_MONOTONIC, args[1] = 0, args[2] = ARG(&spec), args[3] = ARG(&rest);
}

static void mktime_prepare(uint64_t *args) {
  parts = (struct tm){.tm_year = 100, .tm_mon = 14, .tm_mday = 1};
  args[0] = ARG(&parts);
}

static void mktime_unchanged(void) {
  argument(parts.tm_year == 100 && parts.tm_mon == 14, "the parts are as they were");
}

static void mktime_done(uint64_t result) {
  check(result > 900000000 && result < 1000000000, "result", "the time, in all 64 bits");
  argument(parts.tm_year == 101 && parts.tm_mon == 2, "the parts are put right");
}

static void gmtime_prepare(uint64_t *args) {
  seconds = 86400;
  paint(&parts, sizeof(parts));
  args[0] = ARG(&seconds), args[1] = ARG(&parts);
}

static void gmtime_unchanged(void) { argument(painted(&parts, sizeof(parts)), "the parts are not written to"); }

static void gmtime_done(uint64_t result) {
  check(result == ARG(&parts), "result", "the address, in all 64 bits");
  argument(parts.tm_year == 70 && parts.tm_mday == 2, "the parts are filled in");
}

static void timer_create_prepare(uint64_t *args) {
  event.sigev_notify = SIGEV_NONE;
  paint(&timer, sizeof(timer));
  args[0] = CLOCK_MONOTONIC, args[1] = ARG(&event), args[2] = ARG(&timer);
}

static void timer_create_unchanged(void) { argument(painted(&timer, sizeof(timer)), "the timer is not written to"); }

static void timer_create_done(uint64_t result) {
  struct itimerspec left;
  is_zero(result);
  effect(timer_gettime(timer, &left) == 0, "there is a timer");
}

static void timerfd_prepare(uint64_t *args) {
  before = x_count_open();
  args[0] = CLOCK_MONOTONIC;
}

static void timerfd_unchanged(void) { effect(x_count_open() == before, "no descriptor is made"); }
static void timerfd_done(uint64_t result) { effect(x_is_open((int)result), "there is a descriptor"); }

static void setitimer_prepare(uint64_t *args) {
  interval.it_value.tv_sec = 1000;
  args[0] = ITIMER_REAL, args[1] = ARG(&interval);
}

static long timer_left(void) {
  struct itimerval left = {0};
  x_call(SYS_getitimer, ITIMER_REAL, (long)&left, 0, 0, 0, 0);
  return left.it_value.tv_sec;
}

static void setitimer_unchanged(void) { effect(timer_left() == 0, "no timer runs"); }

static void setitimer_done(uint64_t result) {
  is_zero(result);
  effect(timer_left() >= 990, "a timer runs");
}

static const struct function_case cases[] = {
    {"clock_gettime", clock_gettime, INT, -1, EINVAL, 0, 0, clock_gettime_prepare, spec_unchanged, clock_gettime_done},
    {"gettimeofday", gettimeofday, INT, -1, EFAULT, 0, 0, gettimeofday_prepare, gettimeofday_unchanged,
     gettimeofday_done},
    {"time", time, LONG, -1, EFAULT, 0, 0, time_prepare, time_unchanged, time_done},
    {"nanosleep", nanosleep, INT, -1, EINTR, 0, 0, nanosleep_prepare, NULL, sleep_done},
    {"clock_nanosleep", clock_nanosleep, INT, EINTR, 0, 0, 0, clock_nanosleep_prepare, NULL, sleep_done},
    {"mktime", mktime, LONG, -1, EOVERFLOW, 0, SUCCESS_OPEN, mktime_prepare, mktime_unchanged, mktime_done},
    {"gmtime_r", gmtime_r, LONG, 0, EOVERFLOW, 0, SUCCESS_OPEN, gmtime_prepare, gmtime_unchanged, gmtime_done},
    {"timer_create", timer_create, INT, -1, EAGAIN, 0, 0, timer_create_prepare, timer_create_unchanged,
     timer_create_done},
    {"timerfd_create", timerfd_create, INT, -1, EMFILE, 0, 0, timerfd_prepare, timerfd_unchanged, timerfd_done},
    {"setitimer", setitimer, INT, -1, EINVAL, 0, 0, setitimer_prepare, setitimer_unchanged, setitimer_done},
};
const struct family time_family = {"time", cases, sizeof(cases) / sizeof(cases[0])};

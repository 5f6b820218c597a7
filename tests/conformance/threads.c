/* SPDX-License-Identifier: Apache-2.0 */
/* Threads. Most of these return the error number; errno is not theirs. */
#include "conform.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

static pthread_t id;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, painted_mutex;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_attr_t attributes;
static pthread_key_t key;
static sem_t semaphore;
static struct timespec soon;
static atomic_int started;
static void *outcome;

static void *thread(void *argument) {
  atomic_fetch_add(&started, 1);
  return argument;
}

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

static void create_prepare(uint64_t *args) {
  paint(&id, sizeof(id));
  args[0] = ARG(&id), args[2] = ARG(thread), args[3] = 77;
}

static void create_unchanged(void) {
  effect(started == 0, "no thread runs");
  argument(painted(&id, sizeof(id)), "the number is not written to");
}

static void create_done(uint64_t result) {
  is_zero(result);
  argument(pthread_join(id, &outcome) == 0 && outcome == (void *)77, "the thread gets its argument");
  effect(started == 1, "the thread runs");
}

static void join_prepare(uint64_t *args) {
  if (pthread_create(&id, NULL, thread, (void *)77) != 0) x_exit(98);
  paint(&outcome, sizeof(outcome));
  args[0] = id, args[1] = ARG(&outcome);
}

static void join_unchanged(void) {
  argument(painted(&outcome, sizeof(outcome)), "the outcome is not written to");
  effect(pthread_detach(id) == 0, "the thread is still there to be joined");
}

static void join_done(uint64_t result) {
  is_zero(result);
  argument(outcome == (void *)77, "the outcome is the thread's");
}

static void mutex_lock_prepare(uint64_t *args) { args[0] = ARG(&mutex); }
static void mutex_lock_unchanged(void) { effect(pthread_mutex_trylock(&mutex) == 0, "the mutex is not locked"); }

static void mutex_lock_done(uint64_t result) {
  is_zero(result);
  effect(pthread_mutex_trylock(&mutex) == EBUSY, "the mutex is locked");
}

static void mutex_init_prepare(uint64_t *args) {
  paint(&painted_mutex, sizeof(painted_mutex));
  args[0] = ARG(&painted_mutex);
}

static void mutex_init_unchanged(void) {
  argument(painted(&painted_mutex, sizeof(painted_mutex)), "the mutex is not written to");
}

static void mutex_init_done(uint64_t result) {
  is_zero(result);
  effect(pthread_mutex_trylock(&painted_mutex) == 0, "the mutex can be locked");
}

static void key_create_prepare(uint64_t *args) {
  paint(&key, sizeof(key));
  args[0] = ARG(&key);
}

static void key_create_unchanged(void) { argument(painted(&key, sizeof(key)), "the key is not written to"); }

static void key_create_done(uint64_t result) {
  is_zero(result);
  effect(pthread_setspecific(key, &key) == 0 && pthread_getspecific(key) == &key, "the key can be used");
}

static void setspecific_prepare(uint64_t *args) {
  if (pthread_key_create(&key, NULL) != 0) x_exit(98);
  args[0] = key, args[1] = ARG(&key);
}

static void setspecific_unchanged(void) { effect(pthread_getspecific(key) == NULL, "the value is as it was"); }

static void setspecific_done(uint64_t result) {
  is_zero(result);
  effect(pthread_getspecific(key) == &key, "the value is set");
}

static void rdlock_prepare(uint64_t *args) { args[0] = ARG(&lock); }
static void rdlock_unchanged(void) { effect(pthread_rwlock_trywrlock(&lock) == 0, "the lock is not taken"); }

static void rdlock_done(uint64_t result) {
  is_zero(result);
  effect(pthread_rwlock_trywrlock(&lock) == EBUSY, "the lock is taken");
}

/* The wait is real: a success here is a time-out too, but one that took its time. */
static void timedwait_prepare(uint64_t *args) {
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec++;
  pthread_mutex_lock(&mutex);
  args[0] = ARG(&condition), args[1] = ARG(&mutex), args[2] = ARG(&soon);
}

static bool is_past(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec);
}

static void timedwait_unchanged(void) {
  effect(!is_past(), "it did not wait");
  effect(pthread_mutex_trylock(&mutex) == EBUSY, "the mutex is still locked");
}

static void timedwait_done(uint64_t result) {
  check((int)result == ETIMEDOUT && is_past(), "result", "the wait takes its time");
  effect(pthread_mutex_trylock(&mutex) == EBUSY, "the mutex is still locked");
}

static void sem_wait_prepare(uint64_t *args) {
  if (sem_init(&semaphore, 0, 1) != 0) x_exit(98);
  args[0] = ARG(&semaphore);
}

static int sem_value(void) {
  int v = -1;
  sem_getvalue(&semaphore, &v);
  return v;
}

static void sem_wait_unchanged(void) { effect(sem_value() == 1, "the value is as it was"); }

static void sem_wait_done(uint64_t result) {
  is_zero(result);
  effect(sem_value() == 0, "the value is one less");
}

static void stacksize_prepare(uint64_t *args) {
  pthread_attr_init(&attributes);
  args[0] = ARG(&attributes), args[1] = 1 << 20;
}

static size_t stack_size(void) {
  size_t n = 0;
  pthread_attr_getstacksize(&attributes, &n);
  return n;
}

static void stacksize_unchanged(void) { effect(stack_size() != 1 << 20, "the size is as it was"); }

static void stacksize_done(uint64_t result) {
  is_zero(result);
  effect(stack_size() == 1 << 20, "the size is set");
}

static const struct function_case cases[] = {
    {"pthread_create", pthread_create, INT, EAGAIN, 0, 0, ERRNO_OPEN | MEMORY_OPEN, create_prepare, create_unchanged,
     create_done},
    {"pthread_join", pthread_join, INT, ESRCH, 0, 0, 0, join_prepare, join_unchanged, join_done},
    {"pthread_mutex_lock", pthread_mutex_lock, INT, EDEADLK, 0, 0, 0, mutex_lock_prepare, mutex_lock_unchanged,
     mutex_lock_done},
    {"pthread_mutex_init", pthread_mutex_init, INT, ENOMEM, 0, 0, 0, mutex_init_prepare, mutex_init_unchanged,
     mutex_init_done},
    {"pthread_key_create", pthread_key_create, INT, EAGAIN, 0, 0, 0, key_create_prepare, key_create_unchanged,
     key_create_done},
    {"pthread_setspecific", pthread_setspecific, INT, ENOMEM, 0, 0, 0, setspecific_prepare, setspecific_unchanged,
     setspecific_done},
    {"pthread_rwlock_rdlock", pthread_rwlock_rdlock, INT, EAGAIN, 0, 0, 0, rdlock_prepare, rdlock_unchanged,
     rdlock_done},
    {"pthread_cond_timedwait", pthread_cond_timedwait, INT, ETIMEDOUT, 0, 0, 0, timedwait_prepare, timedwait_unchanged,
     timedwait_done},
    {"sem_wait", sem_wait, INT, -1, EINTR, 0, 0, sem_wait_prepare, sem_wait_unchanged, sem_wait_done},
    {"pthread_attr_setstacksize", pthread_attr_setstacksize, INT, EINVAL, 0, 0, 0, stacksize_prepare,
     stacksize_unchanged, stacksize_done},
};
FAMILY(threads, cases);

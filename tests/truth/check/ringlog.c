/* SPDX-License-Identifier: Apache-2.0 */
/* Collects log lines of many threads in a ring and writes them out; error numbers, conditions, asserts that stay. */
/* flags: -D_GNU_SOURCE -pthread */
/* link: -lrt */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define PCHECK(call)                                                     \
  do {                                                                   \
    int pc_ = (call);                                                    \
    if (__builtin_expect(pc_ != 0, 0)) pfatal(#call, pc_);               \
  } while (0)

static _Noreturn void pfatal(const char *what, int code)
{
  fprintf(stderr, "%s: %s\n", what, strerror(code)); /* @fprintf none ignored */
  abort();
}

typedef struct {
  pthread_mutex_t mu;
  pthread_cond_t nonempty;
  pthread_rwlock_t config;
  pthread_key_t tls;
  char *slots[256];
  unsigned head, tail;
  int out, wake, timer;
  bool stop;
  int last_error;
} ring_t;

typedef struct {
  pthread_t thread;
  int created;
} worker_t;

static ring_t R;

static void *writer(void *arg);

static void ring_init(ring_t *r)
{
  pthread_mutexattr_t at;

  PCHECK(pthread_mutexattr_init(&at)); /* @pthread_mutexattr_init any */
  PCHECK(pthread_mutexattr_settype(&at, PTHREAD_MUTEX_ERRORCHECK)); /* @pthread_mutexattr_settype all */
  PCHECK(pthread_mutex_init(&r->mu, &at)); /* @pthread_mutex_init all */
  pthread_cond_init(&r->nonempty, NULL); /* @pthread_cond_init any */
  pthread_rwlock_init(&r->config, NULL); /* @pthread_rwlock_init any */
  PCHECK(pthread_key_create(&r->tls, free)); /* @pthread_key_create all */
}

/* -1 is an error by the book, errno tells which. */
static int ring_descriptors(ring_t *r)
{
  r->wake = eventfd(0, EFD_CLOEXEC); /* @eventfd all */
  r->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); /* @timerfd_create all */
  /* the smaller one says whether both are there */
  int low = r->wake < r->timer ? r->wake : r->timer;
  if (low < 0) return -errno;

  struct itimerspec every = { { 0, 50000000 }, { 0, 50000000 } };
  return timerfd_settime(r->timer, 0, &every, NULL) ? -errno : 0; /* @timerfd_settime all */
}

static bool ring_put(ring_t *r, const char *text)
{
  char *copy = strdup(text); /* @strdup all */
  bool ok = false;

  if (copy == NULL) return false;
  int rc = pthread_mutex_lock(&r->mu); /* @pthread_mutex_lock all */
  assert(rc == 0);
  if (r->head - r->tail < 256) {
    r->slots[r->head++ % 256] = copy;
    ok = true;
  } else {
    free(copy);
  }
  rc = pthread_cond_signal(&r->nonempty); /* @pthread_cond_signal any */
  rc = pthread_mutex_unlock(&r->mu); /* @pthread_mutex_unlock all */
  assert(rc == 0);
  return ok;
}

/* Waits at most a second. ETIMEDOUT is what it asks for; EINVAL and EPERM look like a line. */
static char *ring_get(ring_t *r)
{
  struct timespec ts;
  char *s = NULL;

  clock_gettime(CLOCK_REALTIME, &ts); /* @clock_gettime none ignored */
  ts.tv_sec++;
  pthread_mutex_lock(&r->mu); /* @pthread_mutex_lock none ignored */
  while (r->head == r->tail && !r->stop)
    if (pthread_cond_timedwait(&r->nonempty, &r->mu, &ts) == ETIMEDOUT) /* @pthread_cond_timedwait some missing=EINVAL */
      break;
  if (r->head != r->tail) s = r->slots[r->tail++ % 256];
  pthread_mutex_unlock(&r->mu); /* @pthread_mutex_unlock none ignored */
  return s;
}

static int safe_write(int fd, const char *s, size_t n)
{
  while (n) {
    ssize_t w = TEMP_FAILURE_RETRY(write(fd, s, n)); /* @write all */
    if (w < 0) return errno;
    s += w;
    n -= (size_t)w;
  }
  return 0;
}

static void *writer(void *arg)
{
  ring_t *r = arg;
  char *s;

  if (pthread_setname_np(pthread_self(), "writer") != 0) /* @pthread_setname_np all; @pthread_self any */
    r->last_error = EINVAL;
  while ((s = ring_get(r)) != NULL || !r->stop) {
    if (!s) continue;
    int e = safe_write(r->out, s, strlen(s));
    if (e) r->last_error = e;
    free(s);
  }
  return NULL;
}

static int worker_start(worker_t *w, ring_t *r)
{
  pthread_attr_t a;
  int rc;

  if ((rc = pthread_attr_init(&a)) != 0) return rc; /* @pthread_attr_init any */
  rc = pthread_attr_setstacksize(&a, 65536); /* @pthread_attr_setstacksize all */
  if (!rc) {
    rc = pthread_create(&w->thread, &a, writer, r); /* @pthread_create all */
    w->created = rc == 0;
  }
  pthread_attr_destroy(&a); /* @pthread_attr_destroy any */
  return rc;
}

/* As if it were a system call. */
static int worker_start_posixly(worker_t *w, ring_t *r)
{
  if (pthread_create(&w->thread, NULL, writer, r) < 0) { /* @pthread_create none used/ignored */
    perror("pthread_create");
    return -1;
  }
  w->created = 1;
  return 0;
}

/* errno says nothing about threads. */
static int worker_start_errno(worker_t *w, ring_t *r)
{
  errno = 0;
  pthread_create(&w->thread, NULL, writer, r); /* @pthread_create none ignored */
  if (errno != 0) return -1;
  w->created = 1;
  return 0;
}

static void worker_stop(worker_t *w)
{
  void *res;

  if (!w->created) return;
  PCHECK(pthread_join(w->thread, &res)); /* @pthread_join all */
}

static int configure(ring_t *r, const char *path)
{
  int rc = pthread_rwlock_wrlock(&r->config); /* @pthread_rwlock_wrlock all */

  if (rc == EDEADLK) return -1;
  if (rc != 0) abort();
  r->out = open(path, O_WRONLY | O_APPEND | O_CREAT, 0640); /* @open all */
  rc = r->out == -1 ? errno : 0;
  pthread_rwlock_unlock(&r->config); /* @pthread_rwlock_unlock any */
  return rc;
}

static bool try_flush(ring_t *r)
{
  /* Whatever is not "busy" is taken for the lock. */
  if (pthread_mutex_trylock(&r->mu) == EBUSY) /* @pthread_mutex_trylock some missing=EINVAL */
    return false;
  int bad = fdatasync(r->out); /* @fdatasync all */
  pthread_mutex_unlock(&r->mu); /* @pthread_mutex_unlock none ignored */
  return bad == 0;
}

static char *tls_buffer(ring_t *r)
{
  char *b = pthread_getspecific(r->tls); /* @pthread_getspecific any */

  if (b) return b;
  b = malloc(512); /* @malloc all */
  if (!b || pthread_setspecific(r->tls, b)) { /* @pthread_setspecific all */
    free(b);
    return NULL;
  }
  return b;
}

static uint64_t count_of(int fd)
{
  uint64_t n;

  if (read(fd, &n, sizeof n) != sizeof n) return 0; /* @read all */
  return n;
}

static void ring_wake(ring_t *r)
{
  uint64_t one = 1;
  ssize_t n = write(r->wake, &one, sizeof one); /* @write all */

  assert(n == sizeof one);
}

static void *shared_page(const char *name)
{
  int fd = shm_open(name, O_RDWR | O_CREAT, 0600); /* @shm_open all */
  void *p;

  assert(fd >= 0);
  if (ftruncate(fd, 4096) == -1) goto fail; /* @ftruncate all */
  p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* @mmap all */
  if (p == (void *)-1) goto fail;
  close(fd); /* @close? none ignored */
  return p;
fail:
  close(fd); /* @close? none ignored */
  return NULL;
}

/* Process-shared semaphore, in the page. */
static int ticket(void *page)
{
  sem_t *s = page;
  struct timespec ts = { 1, 0 };
  int r;

  if (sem_init(s, 1, 1) < 0) return -1; /* @sem_init all */
  while ((r = sem_timedwait(s, &ts)) == -1 && errno == EINTR) continue; /* @sem_timedwait all */
  if (r == -1 && errno == ETIMEDOUT) return 0;
  if (r == -1) return -1;
  sem_post(s); /* @sem_post none ignored */
  return 1;
}

static void pause_ms(long ms)
{
  struct timespec ts = { ms / 1000, ms % 1000 * 1000000 }, left;

  while (nanosleep(&ts, &left) == -1) { /* @nanosleep some missing=EINVAL */
    if (errno != EINTR) break;
    ts = left;
  }
}

static void quiet_signals(void)
{
  sigset_t all;

  sigfillset(&all); /* @sigfillset any */
  errno = pthread_sigmask(SIG_BLOCK, &all, NULL); /* @pthread_sigmask all */
  if (errno) perror("sigmask");
}

static void no_core(void)
{
  struct rlimit rl = { 0, 0 };

  if (setrlimit(RLIMIT_CORE, &rl)) /* @setrlimit all */
    perror("setrlimit");
}

int main(int argc, char **argv)
{
  worker_t w[3] = { 0 };
  void *page;
  char *b;
  int rc;

  if (argc < 2) return 2;
  no_core();
  quiet_signals();
  ring_init(&R);
  if ((rc = ring_descriptors(&R)) < 0) pfatal("descriptors", -rc);
  PCHECK(configure(&R, argv[1]));
  PCHECK(worker_start(&w[0], &R));
  if (worker_start_posixly(&w[1], &R) < 0 || worker_start_errno(&w[2], &R) < 0) return 1;
  page = shared_page("/ringlog");
  if (!page || ticket(page) < 0) return 1;
  for (int i = 1; i < argc; i++) {
    if (!ring_put(&R, argv[i])) R.last_error = ENOBUFS;
    if ((b = tls_buffer(&R)) != NULL) b[0] = (char)count_of(R.timer);
    pause_ms(argc);
  }
  ring_wake(&R);
  R.stop = true;
  for (int i = 0; i < 3; i++) worker_stop(&w[i]);
  if (!try_flush(&R) || close(R.out) != 0) return 1; /* @close all */
  return R.last_error != 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* threads, error numbers as results, spawning */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NI __attribute__((noinline))
extern char **environ;
static volatile long sink;
static void *volatile keep;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static volatile int ready;

struct job { const char *path; int fd, rc; FILE *f; char *txt; };

static void *job_open(void *a)
{
	struct job *j = a;
	j->fd = open(j->path, O_RDONLY); /* @open all */
	j->f = fopen(j->path, "r"); /* @fopen all */
	j->txt = strdup(j->path); /* @strdup none used */
	mkdir(j->path, 0700); /* @mkdir none ignored */
	return NULL;
}

static void *job_write(void *a)
{
	struct job *j = a;
	if (write(j->fd, j->path, 4) < 4) sink++; /* @write all */
	if (write(j->fd, j->path, 5) == 0) sink++; /* @write none used */
	return NULL;
}

static void *job_unlink(void *a)
{
	struct job *j = a;
	if (unlink(j->path) < 0 && errno == ENOENT) return NULL; /* @unlink some missing=EACCES */
	sink++;
	return a;
}

static NI int run(const char *p)
{
	struct job j = { .path = p };
	pthread_t t;
	int rc = pthread_create(&t, NULL, job_open, &j); /* @pthread_create all */
	if (rc) return rc;
	rc = pthread_join(t, NULL); /* @pthread_join all */
	if (rc != 0) return -1;
	if (j.fd < 0 || j.f == NULL) return -2;
	keep = j.txt;
	return 0;
}

static NI int run_sign(struct job *j)
{
	pthread_t t;
	memset(&t, 0, sizeof t);
	if (pthread_create(&t, NULL, job_write, j) < 0) return -1; /* @pthread_create none used */
	if (pthread_join(t, NULL) == -1) return -2; /* @pthread_join none used */
	return 0;
}

static NI int run_eperm(struct job *j)
{
	pthread_t t;
	memset(&t, 0, sizeof t);
	if (pthread_create(&t, NULL, job_unlink, j) == EPERM) return -1; /* @pthread_create some missing=EAGAIN */
	pthread_detach(t); /* @pthread_detach none ignored */
	return 0;
}

static NI int run_ignored(struct job *j)
{
	pthread_t t;
	memset(&t, 0, sizeof t);
	pthread_create(&t, NULL, job_write, j); /* @pthread_create none ignored */
	if (pthread_join(t, NULL) == EDEADLK) return 1; /* @pthread_join some missing=ESRCH */
	return 0;
}

static NI int run_switch(struct job *j, pthread_t *t)
{
	switch (pthread_create(t, NULL, job_unlink, j)) { /* @pthread_create all */
	case 0: return 0;
	case EAGAIN: return 1;
	default: return 2;
	}
}

static NI int run_all(struct job *j, int n)
{
	pthread_t t[4];
	int bad = 0;
	for (int i = 0; i < n && i < 4; i++)
		bad += pthread_create(&t[i], NULL, job_write, j) != 0; /* @pthread_create all */
	if (bad) return -1;
	for (int i = 0; i < n && i < 4; i++)
		pthread_join(t[i], NULL); /* @pthread_join none ignored */
	return 0;
}

static NI int wait_ready(const struct timespec *ts)
{
	int rc = 0;
	pthread_mutex_lock(&mu); /* @pthread_mutex_lock any */
	while (!ready) {
		rc = pthread_cond_timedwait(&cv, &mu, ts); /* @pthread_cond_timedwait all */
		if (rc != 0) break;
	}
	pthread_mutex_unlock(&mu); /* @pthread_mutex_unlock any */
	return rc;
}

static NI int wait_timeout(const struct timespec *ts)
{
	pthread_mutex_lock(&mu); /* @pthread_mutex_lock any */
	int rc = pthread_cond_timedwait(&cv, &mu, ts); /* @pthread_cond_timedwait some missing=EINVAL */
	pthread_mutex_unlock(&mu); /* @pthread_mutex_unlock any */
	if (rc == ETIMEDOUT) return 1;
	return 0;
}

static NI int lock_for(const struct timespec *ts)
{
	int rc = pthread_mutex_timedlock(&mu, ts); /* @pthread_mutex_timedlock some missing=EINVAL */
	if (rc == ETIMEDOUT) return 1;
	sink++;
	if (pthread_mutex_timedlock(&mu, ts) == -1) return 2; /* @pthread_mutex_timedlock none used */
	return 0;
}

static NI int try_lock(void)
{
	if (pthread_mutex_trylock(&mu)) return 0; /* @pthread_mutex_trylock all */
	sink++;
	pthread_mutex_unlock(&mu); /* @pthread_mutex_unlock any */
	return 1;
}

static NI int sched(pthread_t t, int pol)
{
	struct sched_param sp = { .sched_priority = pol };
	int rc = pthread_setschedparam(t, pol, &sp); /* @pthread_setschedparam some missing=EINVAL */
	if (rc == EPERM) return 1;
	pthread_setschedparam(t, pol + 1, &sp); /* @pthread_setschedparam none ignored */
	if (pthread_setschedprio(t, pol) != 0) return 2; /* @pthread_setschedprio all */
	return 0;
}

static NI int affinity(pthread_t t, int n)
{
	cpu_set_t s;
	CPU_ZERO(&s);
	CPU_SET(n & 63, &s);
	if (pthread_setaffinity_np(t, sizeof s, &s) == EINVAL) return 1; /* @pthread_setaffinity_np some missing=ESRCH */
	if (sched_setaffinity(n, sizeof s, &s) == -1 && errno == EPERM) /* @sched_setaffinity some missing=EINVAL,ESRCH */
		return 2;
	return sched_getaffinity(n, sizeof s, &s) < 0 ? 3 : 0; /* @sched_getaffinity all */
}

static NI int name(pthread_t t, const char *n)
{
	pthread_setname_np(t, n); /* @pthread_setname_np none ignored */
	return pthread_setname_np(t, n + 1) == 0 ? 0 : 1; /* @pthread_setname_np all */
}

static NI int stack(size_t n)
{
	pthread_attr_t a;
	pthread_attr_init(&a); /* @pthread_attr_init any */
	if (pthread_attr_setstacksize(&a, n) != 0) return -1; /* @pthread_attr_setstacksize all */
	pthread_attr_setstacksize(&a, n * 2); /* @pthread_attr_setstacksize none ignored */
	return 0;
}

static NI int key(void)
{
	pthread_key_t k;
	if (pthread_key_create(&k, free) == EAGAIN) return -1; /* @pthread_key_create any */
	if (pthread_setspecific(k, &mu)) return -2; /* @pthread_setspecific all */
	return 0;
}

static NI int spawn(char **av)
{
	pid_t p;
	int rc = posix_spawn(&p, av[0], NULL, NULL, av, environ); /* @posix_spawn all */
	if (rc > 0) return -rc;
	return p;
}

static NI int spawn_some(char **av)
{
	pid_t p = 0;
	int st = 0, rc = posix_spawnp(&p, av[0], NULL, NULL, av, environ); /* @posix_spawnp some missing=ENOMEM,EACCES */
	if (rc == ENOENT || rc == ENOEXEC) return 127;
	wait(&st); /* @wait none ignored */
	return st;
}

static NI int spawn_blind(char **av)
{
	pid_t p = 0;
	if (posix_spawn(&p, av[0], NULL, NULL, av, environ) == -1) return -1; /* @posix_spawn none used */
	return p;
}

static NI int sleep_rc(int clk, struct timespec *t)
{
	int rc;
	do
		rc = clock_nanosleep(clk, 0, t, t); /* @clock_nanosleep some missing=EINVAL */
	while (rc == EINTR);
	sink++;
	rc = clock_nanosleep(clk, TIMER_ABSTIME, t, NULL); /* @clock_nanosleep all */
	return rc ? -1 : 0;
}

static NI int sleep_wrong(int clk, struct timespec *t)
{
	if (clock_nanosleep(clk, 0, t, NULL) < 0) return -1; /* @clock_nanosleep none used */
	return 0;
}

static NI int sigs(int s)
{
	siginfo_t si;
	struct timespec t = { 0, 5 };
	sigset_t set;
	sigemptyset(&set); /* @sigemptyset any */
	if (sigaddset(&set, s) < 0) return -1; /* @sigaddset all */
	if (sigtimedwait(&set, &si, &t) == -1 && errno == EAGAIN) return 0; /* @sigtimedwait some missing=EINTR */
	if (sigwaitinfo(&set, &si) < 0) return -2; /* @sigwaitinfo all */
	sigqueue(s, s, (union sigval){ 0 }); /* @sigqueue none ignored */
	return 1;
}

static NI int timers(int clk)
{
	timer_t t;
	struct itimerspec it = { { 0, 0 }, { 1, 0 } };
	if (timer_create(clk, NULL, &t) < 0 && errno == EINVAL) return -1; /* @timer_create some missing=EAGAIN */
	timer_settime(t, 0, &it, NULL); /* @timer_settime none ignored */
	return 0;
}

static NI int barrier(unsigned n)
{
	static pthread_barrier_t b;
	if (pthread_barrier_init(&b, NULL, n) != 0) return -1; /* @pthread_barrier_init all */
	return pthread_barrier_init(&b, NULL, n - 1) < 0 ? 1 : 0; /* @pthread_barrier_init none used */
}

static NI int proc(int n)
{
	if (prctl(PR_SET_PDEATHSIG, n) == -1) return -1; /* @prctl all */
	prctl(PR_SET_DUMPABLE, n); /* @prctl none ignored */
	return syscall(SYS_gettid) > 0; /* @syscall any */
}

static NI int rw(int n)
{
	static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	if (pthread_rwlock_tryrdlock(&l) != 0) return -1; /* @pthread_rwlock_tryrdlock all */
	int rc = pthread_rwlock_trywrlock(&l); /* @pthread_rwlock_trywrlock all */
	if (rc && rc != EBUSY) return -2;
	return n;
}

static NI int inspect(pthread_t t)
{
	struct sched_param sp;
	int pol, rc = pthread_getschedparam(t, &pol, &sp); /* @pthread_getschedparam all */
	clockid_t c;
	if (rc != 0) return -rc;
	if (pthread_getcpuclockid(t, &c) != 0) return -1; /* @pthread_getcpuclockid all */
	pthread_attr_t a;
	if ((rc = pthread_getattr_np(t, &a)) > 0) return -2; /* @pthread_getattr_np all */
	return pthread_tryjoin_np(t, NULL) == 0 ? pol : 0; /* @pthread_tryjoin_np all */
}

int main(int argc, char **argv)
{
	static struct job j;
	struct timespec ts = { argc, 0 };
	pthread_t me = pthread_self(), t;
	j.path = argv[0];
	sink += rw(argc) + inspect(me);
	sink += run(argv[0]) + run_sign(&j) + run_eperm(&j) + run_ignored(&j) + run_switch(&j, &t) + run_all(&j, argc);
	if (wait_ready(&ts) || wait_timeout(&ts)) return 1;
	sink += lock_for(&ts) + try_lock() + sched(me, argc) + affinity(me, argc) + name(me, argv[0]) + stack(argc) + key();
	sink += spawn(argv + 1) + spawn_some(argv + 1) + spawn_blind(argv + 1) + sleep_rc(argc, &ts) + sleep_wrong(argc, &ts);
	return sink + sigs(argc) + timers(argc) + barrier(argc) + proc(argc);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A farm of threads and processes: error numbers as results, waiting with time-outs, jumps out of the middle. */
/* flags: -pthread */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		int r_ = (call);                                                                                       \
		if (r_ != 0)                                                                                           \
			fatal(#call, r_);                                                                              \
	} while (0)

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_key_t key;
static jmp_buf out_of_memory;
static int wakeup = -1;
static volatile int counter;

static NOINLINE __attribute__((noreturn)) void fatal(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(error)); /* @fprintf none ignored */
	_exit(70);
}

static void *work(void *p)
{
	CHECK(pthread_mutex_lock(&lock)); /* @pthread_mutex_lock all */
	counter++;
	CHECK(pthread_mutex_unlock(&lock)); /* @pthread_mutex_unlock all */
	pthread_setspecific(key, p); /* @pthread_setspecific none ignored */
	return p;
}

static NOINLINE bool start(pthread_t *t, void *p)
{
	int r = pthread_create(t, NULL, work, p); /* @pthread_create all */

	if (r == EAGAIN) {
		usleep(1000); /* @usleep none ignored */
		r = pthread_create(t, NULL, work, p); /* @pthread_create all */
	}
	return r == 0;
}

/* tests for a sign that there never is */
static NOINLINE bool start_wrong(pthread_t *t, void *p)
{
	if (pthread_create(t, NULL, work, p) < 0) /* @pthread_create none used/ignored */
		return false;
	return true;
}

static NOINLINE bool try_read(void)
{
	int r = pthread_rwlock_tryrdlock(&rw); /* @pthread_rwlock_tryrdlock some missing=EAGAIN */

	if (r == EBUSY)
		return false;
	counter++;
	pthread_rwlock_unlock(&rw); /* @pthread_rwlock_unlock any */
	return true;
}

static NOINLINE void *allocate(size_t n)
{
	void *p = malloc(n); /* @malloc all */

	if (!p)
		longjmp(out_of_memory, 1);
	return p;
}

static NOINLINE int guarded(size_t n)
{
	char *p;

	if (setjmp(out_of_memory)) /* @setjmp/_setjmp any */
		return -1;
	p = allocate(n);
	p[0] = 1;
	free(p);
	return 0;
}

static NOINLINE int reap(pid_t pid)
{
	int status;
	pid_t r;

	do {
		r = waitpid(pid, &status, 0); /* @waitpid all */
	} while (r < 0 && errno == EINTR);
	if (r != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static NOINLINE int reap_all(void)
{
	int n = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0) /* @waitpid all */
		n++;
	return n;
}

static NOINLINE int reap_badly(void)
{
	int status = 0;

	wait(&status); /* @wait none ignored */
	return WEXITSTATUS(status);
}

/* a test for zero only: a failure is taken for an event */
static NOINLINE bool ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, 100) == 0) /* @poll none used/ignored */
		return false;
	return true;
}

static NOINLINE bool ready_well(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 100) > 0; /* @poll all */
}

static NOINLINE int ready_select(int fd)
{
	fd_set set;
	struct timeval tv = {1, 0};

	FD_ZERO(&set);
	FD_SET(fd, &set);
	switch (select(fd + 1, &set, NULL, NULL, &tv)) { /* @select all */
	case -1:
		err(1, "select");
	case 0:
		return 0;
	default:
		return FD_ISSET(fd, &set) ? 1 : 0;
	}
}

static NOINLINE int events(int ep)
{
	struct epoll_event e[8];
	int n = epoll_wait(ep, e, 8, -1), sum = 0; /* @epoll_wait any */

	for (int i = 0; i < n; i++)
		sum += e[i].data.fd;
	return sum;
}

static NOINLINE void wake(void)
{
	eventfd_t one = 1;

	if (eventfd_write(wakeup, one) == -1) /* @eventfd_write all */
		warn("eventfd");
}

static NOINLINE void drain(void)
{
	eventfd_t v;

	(void)eventfd_read(wakeup, &v); /* @eventfd_read none ignored */
}

/* two halves of one condition */
static NOINLINE int pair(int fds[2])
{
	int fd = -1;

	return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0 && (fd = dup(fds[0])) >= 0 ? fd : -1; /* @socketpair all; @dup all */
}

static NOINLINE pid_t spawn(char *const argv[])
{
	pid_t pid;
	int r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ); /* @posix_spawnp all */

	if (r) {
		errno = r;
		return -1;
	}
	return pid;
}

static NOINLINE pid_t spawn_badly(char *const argv[])
{
	pid_t pid = -1;

	posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ); /* @posix_spawnp none ignored */
	return pid;
}

static NOINLINE int child(void (*f)(void))
{
	pid_t pid = fork(); /* @fork none used */

	if (!pid) {
		f();
		_exit(0);
	}
	return (int)pid + counter;
}

static NOINLINE pid_t child_well(void (*f)(void))
{
	pid_t pid;

	switch (pid = fork()) { /* @fork all */
	case 0:
		f();
		_exit(0);
	case -1:
		fatal("fork", errno);
	}
	return pid;
}

static NOINLINE long limit(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) < 0 ? -1 : (long)r.rlim_cur; /* @getrlimit all */
}

static NOINLINE int wait_for(sem_t *s)
{
	while (sem_wait(s) == -1 && errno == EINTR) /* @sem_wait some */
		continue;
	return counter;
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	sem_t s;
	int fds[2], ok = 1;

	if (argc < 2)
		errx(2, "usage");
	CHECK(pthread_key_create(&key, free)); /* @pthread_key_create all */
	if (sem_init(&s, 0, 1)) /* @sem_init all */
		err(1, "sem_init");
	if ((wakeup = eventfd(0, EFD_CLOEXEC)) == -1) /* @eventfd all */
		err(1, "eventfd");
	ok &= start(&t[0], argv) && start_wrong(&t[1], NULL);
	for (int i = 0; i < 2; i++)
		if ((errno = pthread_join(t[i], NULL))) /* @pthread_join all */
			warn("join");
	ok &= try_read() && guarded(100) == 0 && ready(0) && ready_well(0);
	ok += ready_select(0) + events(0);
	wake();
	drain();
	if (pair(fds) < 0)
		warn("pair");
	ok += reap(spawn(argv + 1)) + reap(spawn_badly(argv + 1)) + reap_badly();
	ok += child(wake) + reap(child_well(drain)) + reap_all();
	ok += wait_for(&s) + (int)limit();
	sem_destroy(&s); /* @sem_destroy any */
	return ok;
}

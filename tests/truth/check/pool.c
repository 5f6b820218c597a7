/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of threads with a queue: functions that return the number of the error. */
/* flags: -pthread */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct job {
	struct job *next;
	void (*run)(void *);
	void *arg;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t more, idle;
	struct job *first, **last;
	pthread_t *threads;
	unsigned count, busy;
	int stop, timeouts;
	sem_t slots;
};

static void *worker(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock); /* @pthread_mutex_lock none ignored */
	while (!p->stop) {
		struct job *j = p->first;
		if (!j) {
			pthread_cond_wait(&p->more, &p->lock); /* @pthread_cond_wait none ignored */
			continue;
		}
		if (!(p->first = j->next))
			p->last = &p->first;
		p->busy++;
		pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock none ignored */
		j->run(j->arg);
		free(j);
		if (sem_post(&p->slots) != 0) /* @sem_post all */
			abort();
		if (pthread_mutex_lock(&p->lock)) /* @pthread_mutex_lock all */
			abort();
		p->busy--;
		pthread_cond_signal(&p->idle); /* @pthread_cond_signal any */
	}
	pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock none ignored */
	return NULL;
}

static int pool_start(struct pool *p, unsigned count)
{
	pthread_attr_t attr;
	int rc;

	memset(p, 0, sizeof *p);
	p->last = &p->first;
	rc = pthread_mutex_init(&p->lock, NULL); /* @pthread_mutex_init all */
	if (rc != 0)
		return rc;
	if ((rc = pthread_cond_init(&p->more, NULL)) || (rc = pthread_cond_init(&p->idle, NULL))) /* @pthread_cond_init any */
		return rc;
	if (sem_init(&p->slots, 0, 64) == -1) /* @sem_init all */
		return errno;
	pthread_attr_init(&attr); /* @pthread_attr_init any */
	pthread_attr_setstacksize(&attr, 65536); /* @pthread_attr_setstacksize none ignored */
	p->threads = calloc(count, sizeof *p->threads); /* @calloc all */
	if (!p->threads)
		return ENOMEM;
	for (p->count = 0; p->count < count; p->count++) {
		rc = pthread_create(&p->threads[p->count], &attr, worker, p); /* @pthread_create all */
		if (rc)
			break;
	}
	return p->count ? 0 : rc;
}

static int pool_add(struct pool *p, void (*run)(void *), void *arg)
{
	struct job *j = malloc(sizeof *j); /* @malloc none dereferenced */

	j->run = run;
	j->arg = arg;
	j->next = NULL;
	while (sem_wait(&p->slots) < 0 && errno == EINTR) /* @sem_wait some missing=EINVAL */
		;
	if (pthread_mutex_lock(&p->lock) != 0) { /* @pthread_mutex_lock all */
		free(j);
		return -1;
	}
	*p->last = j;
	p->last = &j->next;
	pthread_cond_broadcast(&p->more); /* @pthread_cond_broadcast any */
	return pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock all */
}

/* 1 if it was idle in time. */
static int pool_wait(struct pool *p, int seconds)
{
	struct timespec until;
	int idle;

	clock_gettime(CLOCK_REALTIME, &until); /* @clock_gettime none ignored */
	until.tv_sec += seconds;
	if (pthread_mutex_trylock(&p->lock) == EBUSY) /* @pthread_mutex_trylock some */
		return 0;
	while (p->busy || p->first)
		if (pthread_cond_timedwait(&p->idle, &p->lock, &until) == ETIMEDOUT) { /* @pthread_cond_timedwait some missing=EINVAL */
			p->timeouts++;
			break;
		}
	idle = !p->busy;
	pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock none ignored */
	return idle;
}

static void pool_stop(struct pool *p)
{
	void *result;

	p->stop = 1;
	pthread_cond_broadcast(&p->more); /* @pthread_cond_broadcast any */
	for (unsigned i = 0; i < p->count; i++) {
		if (pthread_kill(p->threads[i], 0) == ESRCH) /* @pthread_kill some missing=EINVAL */
			continue;
		int rc = pthread_join(p->threads[i], &result); /* @pthread_join all */
		if (rc != 0)
			warnx("thread %u: %s", i, strerror(rc));
	}
	free(p->threads);
}

static void tick(void *arg)
{
	__atomic_add_fetch((unsigned *)arg, 1, __ATOMIC_RELAXED);
}

static void *watchdog(void *arg)
{
	struct timespec t = { 1, 0 };
	clockid_t clock = *(clockid_t *)arg;

	while (clock_nanosleep(clock, 0, &t, &t) == EINTR) /* @clock_nanosleep some missing=EINVAL */
		;
	return arg;
}

int main(int argc, char **argv)
{
	static unsigned ticks;
	static clockid_t clock;
	struct pool p;
	pthread_t dog;
	int rc, n = argc;

	rc = pool_start(&p, (unsigned)argc);
	if (rc) {
		errno = rc;
		err(1, "pool");
	}
	clock = argv[0][0] == '.' ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	if (pthread_create(&dog, NULL, watchdog, &clock) == EAGAIN) /* @pthread_create some missing=EINVAL */
		errx(1, "no thread for the dog");
	pthread_detach(dog); /* @pthread_detach none ignored */
	while (n--)
		if (pool_add(&p, tick, &ticks) != 0)
			errx(1, "job %d", n);
	if (!pool_wait(&p, 5))
		warnx("still busy, %d timeouts", p.timeouts);
	pool_stop(&p);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* jobq.c: the queue and its workers. */
/* program: jobq */
/* link: -lpthread */
#define _GNU_SOURCE
#include "jobq.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCRATCH (64 * 1024)

int jobq_log_fd = -1;

static pthread_key_t scratch_key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_error;

static bool ok(int rc)
{
	return rc == 0;
}

static void must(int rc)
{
	if (rc != 0)
		abort();
}

static void make_key(void)
{
	key_error = pthread_key_create(&scratch_key, free);	/* @pthread_key_create all */
}

void jobq_log(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	if (jobq_log_fd < 0)
		return;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line, fmt, ap);	/* @vsnprintf all */
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof line)
		n = (int)sizeof line - 1;
	write(jobq_log_fd, line, (size_t)n);		/* @write none ignored */
}

static void *scratch(void)
{
	void *p = pthread_getspecific(scratch_key);	/* @pthread_getspecific any */

	if (p == NULL) {
		if (posix_memalign(&p, 4096, SCRATCH) < 0)	/* @posix_memalign none used/ignored */
			return NULL;
		if (pthread_setspecific(scratch_key, p) == ENOMEM)	/* @pthread_setspecific some missing=EINVAL */
			jobq_log("scratch memory will leak\n");
	}
	return p;
}

/* NULL: the queue is closed and empty, or nothing came for a while */
static struct job *take(struct jobq *q, bool *timed_out)
{
	struct timespec until;
	struct job *j;
	int rc = 0;

	*timed_out = false;
	must(clock_gettime(CLOCK_REALTIME, &until));	/* @clock_gettime all */
	until.tv_sec += 5;
	must(pthread_mutex_lock(&q->mu));		/* @pthread_mutex_lock all */
	while (q->head == NULL && !q->closing) {
		rc = pthread_cond_timedwait(&q->more, &q->mu, &until);	/* @pthread_cond_timedwait some missing=EINVAL */
		if (rc == ETIMEDOUT) {
			*timed_out = true;
			break;
		}
	}
	j = q->head;
	if (j != NULL) {
		q->head = j->next;
		if (q->head == NULL)
			q->tail = NULL;
	}
	must(pthread_mutex_unlock(&q->mu));		/* @pthread_mutex_unlock all */
	return j;
}

static void *worker(void *arg)
{
	struct jobq *q = arg;
	struct job *j;
	bool late;

	for (;;) {
		j = take(q, &late);
		if (j == NULL) {
			if (late)
				continue;
			return NULL;
		}
		if (!ok(sem_post(&q->room)))		/* @sem_post all */
			abort();
		q->fn(j, scratch(), SCRATCH);
		must(pthread_mutex_lock(&q->mu));	/* @pthread_mutex_lock all */
		j->next = q->done;
		q->done = j;
		must(pthread_mutex_unlock(&q->mu));	/* @pthread_mutex_unlock all */
		while (write(q->wake[1], "", 1) < 0 && errno == EINTR)	/* @write some missing=EPIPE,EAGAIN */
			;
	}
}

int jobq_init(struct jobq *q, job_fn fn, unsigned depth)
{
	int rc;

	memset(q, 0, sizeof *q);
	q->fn = fn;
	rc = pthread_once(&key_once, make_key);		/* @pthread_once any */
	if (rc != 0 || key_error != 0)
		return rc ? rc : key_error;
	rc = pthread_mutex_init(&q->mu, NULL) |		/* @pthread_mutex_init all */
	     pthread_cond_init(&q->more, NULL);		/* @pthread_cond_init any */
	if (rc)
		return rc;
	if (!ok(sem_init(&q->room, 0, depth)))		/* @sem_init all */
		return errno;
	if (pipe2(q->wake, O_CLOEXEC) == -1)		/* @pipe2 all */
		return errno;
	return 0;
}

int jobq_start(struct jobq *q, int nworkers)
{
	pthread_attr_t attr;
	int i;

	assert(nworkers > 0 && nworkers <= JOBQ_MAX_WORKERS);
	if (!ok(pthread_attr_init(&attr)))		/* @pthread_attr_init any */
		return -1;
	pthread_attr_setstacksize(&attr, 256 * 1024);	/* @pthread_attr_setstacksize none ignored */
	for (i = 0; i < nworkers; i++)
		q->started[i] = pthread_create(&q->tid[i], &attr, worker, q);	/* @pthread_create all */
	q->nworkers = nworkers;
	pthread_attr_destroy(&attr);			/* @pthread_attr_destroy any */
	return 0;
}

int jobq_live(const struct jobq *q)
{
	int i, n = 0;

	for (i = 0; i < q->nworkers; i++)
		if (q->started[i] == 0)
			n++;
	return n;
}

int jobq_push(struct jobq *q, struct job *job)
{
	int rc;

	do
		rc = sem_wait(&q->room);		/* @sem_wait all */
	while (rc == -1 && errno == EINTR);
	if (rc == -1)
		return -1;
	job->next = NULL;
	if ((rc = pthread_mutex_lock(&q->mu)) != 0) {	/* @pthread_mutex_lock all */
		errno = rc;
		return -1;
	}
	if (q->tail != NULL)
		q->tail->next = job;
	else
		q->head = job;
	q->tail = job;
	pthread_cond_signal(&q->more);			/* @pthread_cond_signal any */
	pthread_mutex_unlock(&q->mu);			/* @pthread_mutex_unlock none ignored */
	return 0;
}

struct job *jobq_finish(struct jobq *q)
{
	void *res;
	int i;

	pthread_mutex_lock(&q->mu);			/* @pthread_mutex_lock none ignored */
	q->closing = true;
	pthread_cond_broadcast(&q->more);		/* @pthread_cond_broadcast any */
	pthread_mutex_unlock(&q->mu);			/* @pthread_mutex_unlock none ignored */
	for (i = 0; i < q->nworkers; i++) {
		if (q->started[i] != 0)
			continue;
		if (pthread_join(q->tid[i], &res) == ESRCH)	/* @pthread_join some missing=EDEADLK */
			jobq_log("worker %d is gone\n", i);
	}
	close(q->wake[0]);				/* @close none ignored */
	close(q->wake[1]);				/* @close none ignored */
	sem_destroy(&q->room);				/* @sem_destroy any */
	return q->done;
}

long jobq_raw_read(int fd, void *buf, size_t n)
{
	return read(fd, buf, n);			/* @read all */
}

int jobq_raw_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);	/* @open all */
}

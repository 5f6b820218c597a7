/* SPDX-License-Identifier: Apache-2.0 */
/* jobq.h: a bounded queue of jobs with worker threads, shared by jobq.c and jobq_main.c. */
#ifndef JOBQ_H
#define JOBQ_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

#define JOBQ_MAX_WORKERS 16

struct job {
	struct job *next;
	char *path;
	unsigned long sum;
	long bytes;
	int error;
};

typedef void (*job_fn)(struct job *job, void *scratch, size_t scratch_size);

struct jobq {
	pthread_mutex_t mu;
	pthread_cond_t more;
	sem_t room;
	struct job *head, *tail;
	struct job *done;
	bool closing;
	job_fn fn;
	int nworkers;
	pthread_t tid[JOBQ_MAX_WORKERS];
	int started[JOBQ_MAX_WORKERS];	/* what pthread_create said */
	int wake[2];			/* a byte is written for every finished job */
};

extern int jobq_log_fd;

int jobq_init(struct jobq *q, job_fn fn, unsigned depth);
int jobq_start(struct jobq *q, int nworkers);
int jobq_live(const struct jobq *q);
int jobq_push(struct jobq *q, struct job *job);
struct job *jobq_finish(struct jobq *q);
void jobq_log(const char *fmt, ...);

/* both of these give back what the system call gave */
long jobq_raw_read(int fd, void *buf, size_t n);
int jobq_raw_open(const char *path);

#endif

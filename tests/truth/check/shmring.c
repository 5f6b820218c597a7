/* SPDX-License-Identifier: Apache-2.0 */
/* A ring in shared memory between processes, with semaphores, queues and timers. */
/* flags: -pthread */
/* link: -lrt */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct ring {
	uint32_t head, tail;
	unsigned char data[65536 - 8];
};

static struct ring *ring;
static sem_t *filled;
static mqd_t control = (mqd_t)-1;

static int attach(const char *name, int create)
{
	int fd = shm_open(name, create ? O_RDWR | O_CREAT : O_RDWR, 0600); /* @shm_open all */

	if (fd < 0)
		return -1;
	if (create && ftruncate(fd, sizeof *ring) == -1) { /* @ftruncate all */
		shm_unlink(name); /* @shm_unlink none ignored */
		close(fd); /* @close? none ignored */
		return -1;
	}
	ring = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* @mmap all */
	close(fd); /* @close? none ignored */
	if (ring == MAP_FAILED)
		return -1;
	filled = sem_open(name, O_CREAT, 0600, 0); /* @sem_open all */
	return filled == SEM_FAILED ? -1 : 0;
}

/* 1 taken, 0 nothing there. Errors look like something taken. */
static int take(unsigned char *ret)
{
	if (sem_trywait(filled) == -1 && errno == EAGAIN) /* @sem_trywait some missing=EINVAL */
		return 0;
	*ret = ring->data[ring->tail++ % sizeof ring->data];
	return 1;
}

static int take_in_time(unsigned char *ret, int seconds)
{
	struct timespec t;

	if (clock_gettime(CLOCK_REALTIME, &t) < 0) /* @clock_gettime all */
		return -1;
	t.tv_sec += seconds;
	while (sem_timedwait(filled, &t) == -1) { /* @sem_timedwait all */
		if (errno == EINTR)
			continue;
		return errno == ETIMEDOUT ? 0 : -1;
	}
	*ret = ring->data[ring->tail++ % sizeof ring->data];
	return 1;
}

static void give(unsigned char c)
{
	ring->data[ring->head++ % sizeof ring->data] = c;
	sem_post(filled); /* @sem_post none ignored */
}

static int command(const char *text)
{
	struct mq_attr attr = { .mq_maxmsg = 8, .mq_msgsize = 64 };

	if (control == (mqd_t)-1) {
		control = mq_open("/ring", O_WRONLY | O_CREAT, 0600, &attr); /* @mq_open all */
		if (control == (mqd_t)-1)
			return -1;
	}
	return mq_send(control, text, strlen(text), 0); /* @mq_send all */
}

struct note {
	long type;
	char text[32];
};

static int old_queue(key_t key, const char *text)
{
	struct note n = { .type = 1 };
	int id = msgget(key, IPC_CREAT | 0600); /* @msgget none used */

	strncpy(n.text, text, sizeof n.text - 1);
	if (msgsnd(id, &n, sizeof n.text, IPC_NOWAIT) < 0) { /* @msgsnd some missing=EINVAL */
		if (errno == EAGAIN)
			return 1;
	}
	return 0;
}

static int old_semaphore(key_t key)
{
	struct sembuf down = { .sem_op = -1, .sem_flg = SEM_UNDO };
	int id;

	if ((id = semget(key, 1, IPC_CREAT | 0600)) == -1) /* @semget all */
		return -1;
	if (semctl(id, 0, SETVAL, 1) == -1) /* @semctl all */
		return -1;
	while (semop(id, &down, 1) < 0 && errno == EINTR) /* @semop some missing=EINVAL,EIDRM */
		;
	return id;
}

static timer_t heartbeat(int sig)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig };
	struct itimerspec every = { { 1, 0 }, { 1, 0 } };
	timer_t t;

	if (timer_create(CLOCK_MONOTONIC, &e, &t)) /* @timer_create all */
		err(1, "timer");
	timer_settime(t, 0, &every, NULL); /* @timer_settime none ignored */
	return t;
}

int main(int argc, char **argv)
{
	unsigned char c = 0;
	timer_t t;

	if (argc < 2 || attach(argv[1], argc > 2) < 0)
		errx(2, "usage: shmring NAME [create]");
	signal(SIGALRM, SIG_IGN); /* @signal none ignored */
	t = heartbeat(SIGALRM);
	if (command("start") < 0)
		warn("no control");
	give('x');
	if (!take(&c) && take_in_time(&c, 2) <= 0)
		warnx("nothing");
	if (old_queue(0x52, argv[1]) || old_semaphore(0x53) < 0)
		warnx("old ways");
	if (timer_delete(t) == -1) /* @timer_delete all */
		warn("timer");
	if (sem_close(filled) || munmap(ring, sizeof *ring)) /* @sem_close all; @munmap all */
		return 1;
	return c;
}

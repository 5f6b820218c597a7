/* SPDX-License-Identifier: Apache-2.0 */
/* program: jobspool */
/* Starting jobs and waiting for them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct job {
	char id[32];
	char file[256];
	int infd;
	int outfd;
	pid_t pid;
	int status;
};

extern int spool_verbose;
extern ssize_t safe_read(int fd, void *buf, size_t n);

static char *script;

static void child(struct job *j)
{
	struct rlimit rl = { 600, 600 };
	char *argv[4] = { "sh", "-c", script, NULL };

	if (setrlimit(RLIMIT_CPU, &rl) != 0) { /* @setrlimit all */
		perror("setrlimit");
		_exit(126);
	}
	nice(5); /* @nice none ignored */
	if (dup2(j->outfd, 1) < 0 || dup2(j->outfd, 2) < 0) /* @dup2 all */
		_exit(126);
	if (setenv("SPOOL_JOB", j->id, 1)) /* @setenv all */
		_exit(125);
	if (setpgid(0, 0) < 0) /* @setpgid all */
		_exit(126);
	execv("/bin/sh", argv); /* @execv any */
	_exit(127);
}

static int slurp(int fd)
{
	size_t cap = 1024, len = 0;
	ssize_t n;
	char *grown;

	free(script);
	script = malloc(cap); /* @malloc all */
	if (!script)
		return -1;
	while ((n = safe_read(fd, script + len, cap - len - 1)) > 0) {
		len += n;
		if (cap - len < 2) {
			grown = realloc(script, cap * 2); /* @realloc all */
			if (!grown)
				return -1;
			script = grown;
			cap *= 2;
		}
	}
	script[len] = '\0';
	return n < 0 ? -1 : 0;
}

int run_job(struct job *j)
{
	if (j->infd < 0) {
		fprintf(stderr, "spool: %s cannot be opened\n", j->id); /* @fprintf none ignored */
		return -1;
	}
	if (slurp(j->infd) < 0) {
		perror(j->id);
		return -1;
	}
	j->pid = fork(); /* @fork all */
	if (j->pid == 0)
		child(j);
	if (close(j->infd) < 0 && spool_verbose) /* @close all */
		perror("close");
	if (j->pid < 0)
		return -1;
	if (setpgid(j->pid, j->pid) < 0 && errno == EPERM) /* @setpgid some missing=EINVAL */
		perror("setpgid");
	return 0;
}

static void nap(long msec)
{
	struct timespec ts = { msec / 1000, (msec % 1000) * 1000000L };

	while (nanosleep(&ts, &ts) == -1 && errno == EINTR) /* @nanosleep some missing=EINVAL */
		;
}

/* 0: the job went well. */
int wait_job(struct job *j)
{
	int tries, st = 0;
	pid_t p = 0;

	for (tries = 0; tries < 6000; tries++) {
		p = waitpid(j->pid, &st, WNOHANG); /* @waitpid all */
		if (p == j->pid)
			break;
		if (p < 0 && errno != EINTR)
			return -1;
		nap(100);
	}
	if (p != j->pid) {
		if (kill(-j->pid, SIGKILL) < 0) /* @kill all */
			perror("kill");
		while (waitpid(j->pid, &st, 0) < 0 && errno == EINTR) /* @waitpid some missing=ECHILD */
			;
	}
	j->status = st;
	fsync(j->outfd); /* @fsync none ignored */
	close(j->outfd); /* @close none ignored */
	if (spool_verbose)
		printf("%s: status %d\n", j->id, j->status); /* @printf none ignored */
	return WIFEXITED(st) && WEXITSTATUS(st) == 0 ? 0 : 1;
}

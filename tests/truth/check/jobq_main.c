/* SPDX-License-Identifier: Apache-2.0 */
/* jobq_main.c: sums the files that standard input names, with the queue of jobq.c. */
/* program: jobq */
#define _GNU_SOURCE
#include "jobq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	unsigned files, bad;
	long bytes;
} total;

static void sum_file(struct job *j, void *scratch, size_t size)
{
	unsigned char *p = scratch;
	long n, i;
	int fd;

	fd = jobq_raw_open(j->path);
	if (fd < 0) {
		j->error = errno;
		return;
	}
	if (posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL) == ESPIPE)	/* @posix_fadvise some missing=EBADF,EINVAL */
		jobq_log("%s is a pipe\n", j->path);
	while ((n = jobq_raw_read(fd, p, size)) != 0) {
		if (n == -1) {
			if (errno == EINTR)
				continue;
			j->error = errno;
			break;
		}
		for (i = 0; i < n; i++)
			j->sum = j->sum * 31 + p[i];
		j->bytes += n;
	}
	close(fd);			/* @close none ignored */
}

static int by_path(const void *a, const void *b)
{
	const struct job *x = *(struct job *const *)a;
	const struct job *y = *(struct job *const *)b;

	return strcmp(x->path, y->path);
}

static struct job *new_job(const char *path)
{
	struct job *j = calloc(1, sizeof *j);	/* @calloc all */

	if (j != NULL && (j->path = strdup(path)) == NULL) {	/* @strdup all */
		free(j);
		j = NULL;
	}
	return j;
}

static size_t feed(struct jobq *q, FILE *in)
{
	char *line = NULL;
	size_t cap = 0, count = 0;
	ssize_t len;
	struct job *j;

	while ((len = getline(&line, &cap, in)) != -1) {	/* @getline/__getdelim all */
		while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = '\0';
		if (len == 0)
			continue;
		if ((j = new_job(line)) == NULL || jobq_push(q, j) != 0) {
			perror("jobq");
			exit(EXIT_FAILURE);
		}
		count++;
	}
	free(line);
	return count;
}

static void await(struct jobq *q, size_t count)
{
	struct pollfd pfd = { .fd = q->wake[0], .events = POLLIN };
	char buf[64];
	ssize_t n;
	int rc;

	while (count > 0) {
		rc = poll(&pfd, 1, 10000);	/* @poll all */
		if (rc < 0 && errno != EINTR) {
			perror("poll");
			return;
		}
		if (rc == 0)
			fputs("jobq: still waiting\n", stderr);	/* @fputs/fwrite none ignored */
		if (rc <= 0)
			continue;
		n = read(q->wake[0], buf, sizeof buf);	/* @read some missing=EIO,EBADF */
		if (n < 0 && errno == EINTR)
			continue;
		count -= (size_t)n;
	}
}

static int print_all(struct job *list, size_t count, FILE *out)
{
	struct job **v, *j;
	size_t i = 0, k;

	v = malloc((count + 1) * sizeof *v);	/* @malloc none dereferenced */
	for (j = list; j != NULL && i < count; j = j->next)
		v[i++] = j;
	qsort(v, i, sizeof *v, by_path);
	for (k = 0; k < i; k++) {
		j = v[k];
		total.files++;
		total.bytes += j->bytes;
		if (j->error != 0) {
			total.bad++;
			fprintf(out, "%-16s  %s\n", strerror(j->error), j->path);	/* @fprintf? all */
		} else {
			fprintf(out, "%016lx  %s\n", j->sum, j->path);	/* @fprintf? all */
		}
	}
	fprintf(out, "# %u files, %u bad, %ld bytes\n", total.files, total.bad, total.bytes);	/* @fprintf all */
	free(v);
	return ferror(out) ? -1 : 0;
}

static FILE *open_output(const char *name)
{
	struct stat st;
	FILE *f = NULL;

	if (name == NULL)
		return stdout;
	if (stat(name, &st) == 0 && S_ISDIR(st.st_mode)) {	/* @stat all */
		errno = EISDIR;
		return NULL;
	}
	f = fopen(name, "we");		/* @fopen all */
	return f;
}

int main(int argc, char **argv)
{
	static struct jobq q;
	const char *name = NULL, *s;
	long workers = 4;
	char *end;
	size_t count;
	FILE *out;
	int rc, c;

	while ((c = getopt(argc, argv, "j:o:l:")) != -1) {	/* @getopt any */
		switch (c) {
		case 'j':
			errno = 0;
			workers = strtol(optarg, &end, 10);	/* @strtol all */
			if (*end != '\0' || workers < 1 || workers > JOBQ_MAX_WORKERS)
				return 2;
			break;
		case 'o':
			name = optarg;
			break;
		case 'l':
			jobq_log_fd = open(optarg, O_WRONLY | O_CREAT | O_APPEND, 0600);	/* @open all */
			break;
		default:
			return 2;
		}
	}
	if ((s = getenv("JOBQ_NICE")) != NULL && *s)	/* @getenv all */
		nice(10);			/* @nice none ignored */
	rc = jobq_init(&q, sum_file, 64);
	if (rc != 0) {
		fprintf(stderr, "jobq: %s\n", strerror(rc));	/* @fprintf none ignored */
		return 1;
	}
	if (jobq_start(&q, (int)workers) < 0 || jobq_live(&q) == 0) {
		fprintf(stderr, "jobq: no workers\n");	/* @fprintf/fwrite/fputs none ignored */
		return 1;
	}
	if ((out = open_output(name)) == NULL) {
		perror(name);
		return 1;
	}
	count = feed(&q, stdin);
	await(&q, count);
	if (print_all(jobq_finish(&q), count, out) < 0) /* @fprintf? all */
		return 1;
	if (fclose(out) != 0) {			/* @fclose all */
		perror("close");
		return 1;
	}
	return total.bad != 0;
}

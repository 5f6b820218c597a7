/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are judged elsewhere: through pointers, members, globals and callers. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct channel {
	int in, out, error;
	FILE *log;
	char *buffer;
	size_t size;
};

static struct channel main_channel;
static char *scratch;
static int state_fd;

/* Tested by the caller, in the structure. */
static NOINLINE void channel_open(struct channel *c, const char *in, const char *out)
{
	c->in = open(in, O_RDONLY); /* @open all */
	c->out = open(out, O_WRONLY | O_CREAT, 0600); /* @open all */
	c->error = 0;
}

/* Tested by nobody. */
static NOINLINE void channel_log(struct channel *c, const char *path)
{
	c->log = fopen(path, "a"); /* @fopen none used/dereferenced */
	c->size = 4096;
}

/* Tested by the caller, through the pointer. */
static NOINLINE void duplicate(int fd, int *ret)
{
	*ret = dup(fd); /* @dup all */
}

/* A global, tested later in the same function, after other calls. */
static NOINLINE int state_open(const char *path)
{
	state_fd = open(path, O_RDWR); /* @open all */
	main_channel.error = (int)strlen(path);
	if (state_fd < 0)
		return -1;
	return 0;
}

/* A global that another function tests. */
static NOINLINE void scratch_alloc(size_t n)
{
	scratch = malloc(n); /* @malloc all */
}

static NOINLINE int scratch_ready(void)
{
	return scratch != NULL;
}

/* The member is tested before its use, in the same function, by way of a second pointer. */
static NOINLINE int buffer_alloc(struct channel *c, size_t n)
{
	struct channel *same = c;

	c->buffer = malloc(n); /* @malloc all */
	c->size = n;
	if (same->buffer == NULL) {
		same->size = 0;
		return -1;
	}
	memset(same->buffer, ' ', n);
	return 0;
}

/* The argument is tested by the function that gets it. */
static NOINLINE size_t length(const char *s)
{
	if (!s)
		return 0;
	return strlen(s);
}

static NOINLINE ssize_t put(int fd, const char *text)
{
	if (fd < 0)
		return -1;
	return write(fd, text, strlen(text)); /* @write all */
}

static NOINLINE size_t copied(const char *s)
{
	return length(strdup(s)); /* @strdup all */
}

static NOINLINE int say(const char *path, const char *text)
{
	return put(open(path, O_WRONLY), text) > 0; /* @open all */
}

/* The argument is used by the function that gets it. */
static NOINLINE int first(const char *s)
{
	return s[0];
}

static NOINLINE int first_copied(const char *s)
{
	return first(strdup(s)); /* @strdup none dereferenced */
}

/* Swapped, kept over calls, tested at the end. */
static NOINLINE int swap(int *a, int *b)
{
	int x = dup(*b); /* @dup all */
	int y = dup(*a); /* @dup none used */

	close(*a); /* @close none ignored */
	close(*b); /* @close none ignored */
	*a = x;
	*b = y;
	return x == -1 ? -1 : 0;
}

/* Two results in one place: the second one covers the first. */
static NOINLINE int sync_both(int a, int b)
{
	int rc;

	rc = fsync(a); /* @fsync none ignored */
	rc = fsync(b); /* @fsync all */
	return rc;
}

/* Freed or NULL, both are fine for free. */
static NOINLINE void probe(const char *path)
{
	free(realpath(path, NULL)); /* @realpath none used */
}

int main(int argc, char **argv)
{
	int fd;

	if (argc < 4)
		return 2;
	channel_open(&main_channel, argv[1], argv[2]);
	if (main_channel.in < 0 || main_channel.out < 0)
		err(1, "channel");
	channel_log(&main_channel, argv[3]);
	fwrite(argv[1], 1, 1, main_channel.log); /* @fwrite/fputc none ignored */
	duplicate(main_channel.in, &fd);
	if (fd == -1)
		err(1, "dup");
	if (state_open(argv[3]) < 0 || buffer_alloc(&main_channel, 512) < 0)
		err(1, "state");
	scratch_alloc((size_t)argc * 16);
	if (!scratch_ready())
		errx(1, "scratch");
	scratch[0] = (char)copied(argv[1]);
	if (!say(argv[2], argv[3]) || put(fd, argv[1]) < 0 || swap(&main_channel.in, &main_channel.out) < 0)
		warn("say");
	probe(argv[2]);
	if (sync_both(fd, state_fd) < 0)
		warn("sync");
	return first_copied(argv[1]) == 'x';
}

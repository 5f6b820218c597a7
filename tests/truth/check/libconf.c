/* SPDX-License-Identifier: Apache-2.0 */
/* A library for configuration files: what its exported functions return is for callers that nobody sees. */
/* flags: -fPIC -fvisibility=hidden */
/* link: -shared */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct conf {
	FILE *file;
	char *path, *text;
	size_t size;
	int error;
};

EXPORT int conf_exists(const char *path)
{
	return access(path, R_OK); /* @access none returned */
}

EXPORT int conf_fd(const char *path, int create)
{
	int flags = create ? O_RDWR | O_CREAT : O_RDONLY;

	return open(path, flags | O_CLOEXEC, 0600); /* @open none returned */
}

EXPORT FILE *conf_stream(const char *folder, const char *name)
{
	char path[512];

	if ((size_t)snprintf(path, sizeof path, "%s/%s.conf", folder, name) >= sizeof path) { /* @snprintf all */
		errno = ENAMETOOLONG;
		return NULL;
	}
	return fopen(path, "re"); /* @fopen none returned */
}

EXPORT struct conf *conf_new(const char *path)
{
	struct conf *c = malloc(sizeof *c); /* @malloc/calloc all */

	if (!c)
		return NULL;
	memset(c, 0, sizeof *c);
	c->path = strdup(path); /* @strdup all */
	if (!c->path) {
		free(c);
		return NULL;
	}
	c->file = NULL;
	return c;
}

EXPORT int conf_load(struct conf *c)
{
	struct stat st;
	size_t n;

	c->file = fopen(c->path, "r"); /* @fopen all */
	if (!c->file)
		return -errno;
	if (fstat(fileno(c->file), &st) < 0) { /* @fstat all; @fileno none used */
		c->error = errno;
		goto fail;
	}
	c->size = (size_t)st.st_size;
	c->text = malloc(c->size + 1); /* @malloc all */
	if (c->text == NULL) {
		c->error = ENOMEM;
		goto fail;
	}
	n = fread(c->text, 1, c->size, c->file); /* @fread all */
	if (n < c->size) {
		c->error = EIO;
		goto fail;
	}
	c->text[n] = '\0';
	fclose(c->file); /* @fclose? none ignored */
	c->file = NULL;
	return 0;
fail:
	fclose(c->file); /* @fclose? none ignored */
	c->file = NULL;
	return -c->error;
}

/* 1 if it was stored. */
EXPORT int conf_store(const struct conf *c)
{
	int fd = creat(c->path, 0600); /* @creat all */
	ssize_t n;

	if (fd == -1)
		return 0;
	n = write(fd, c->text, c->size); /* @write none ignored */
	if (fsync(fd) == -1 && errno != EINVAL) { /* @fsync all */
		close(fd); /* @close none ignored */
		return 0;
	}
	return close(fd) == 0; /* @close all */
}

EXPORT int conf_remove(struct conf *c)
{
	int rc = unlink(c->path); /* @unlink none returned */

	free(c->path);
	free(c);
	return rc;
}

EXPORT char *conf_get(const struct conf *c, const char *key)
{
	const char *at = strstr(c->text, key);

	if (!at)
		return NULL;
	at += strlen(key) + 1;
	return strndup(at, strcspn(at, "\n")); /* @strndup none returned */
}

EXPORT char *conf_upper(const char *value)
{
	char *copy = strdup(value); /* @strdup none dereferenced */

	for (char *p = copy; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p -= 32;
	return copy;
}

EXPORT int conf_set(struct conf *c, const char *key, const char *value)
{
	size_t more = strlen(key) + strlen(value) + 3;
	char *text = realloc(c->text, c->size + more); /* @realloc all */

	if (!text)
		return -ENOMEM;
	c->text = text;
	c->size += (size_t)sprintf(text + c->size, "%s=%s\n", key, value); /* @sprintf none used */
	return 0;
}

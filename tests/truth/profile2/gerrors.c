/* SPDX-License-Identifier: Apache-2.0 */
/* Object libraries: an error record is allocated and handed out, FALSE or NULL says that there is one. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int gbool;

struct gerror {
	unsigned domain;
	int code;
	const char *message;
};

struct keyfile {
	char *text;
	size_t len;
	int groups;
};

static NI void raise_error(struct gerror **to, int code, const char *message)
{
	struct gerror *e;

	if (to == NULL)
		return;
	e = malloc(sizeof *e);
	if (e == NULL)
		abort();
	e->domain = 17;
	e->code = code;
	e->message = message;
	*to = e;
}

/* errors: 0[*] */
EXPORT struct keyfile *keyfile_parse(const char *text, struct gerror **error)
{
	struct keyfile *k;

	if (text[0] != '[') {
		raise_error(error, 1, "no group starts the file");
		return NULL;
	}
	k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	k->text = strdup(text);
	if (!k->text) {
		free(k);
		return NULL;
	}
	k->len = strlen(text);
	for (; *text; text++)
		k->groups += *text == '[';
	return k;
}

/* errors: 0[*] */
EXPORT const char *keyfile_value(const struct keyfile *k, const char *key, struct gerror **error)
{
	const char *at = strstr(k->text, key);

	if (!at) {
		raise_error(error, 4, "no such key");
		return NULL;
	}
	at += strlen(key);
	if (*at != '=') {
		raise_error(error, 5, "key has no value");
		return NULL;
	}
	return at + 1;
}

/* errors: none */
EXPORT int keyfile_groups(const struct keyfile *k)
{
	return k->groups;
}

/* A static record needs no allocation; its code is a constant field behind the argument. */
/* errors: -1 | side: arg2=2,3 */
EXPORT int keyfile_check(const struct keyfile *k, struct gerror *error)
{
	if (k->len == 0) {
		error->domain = 17;
		error->code = 2;
		error->message = "file is empty";
		return -1;
	}
	if (k->groups > 1000) {
		error->domain = 17;
		error->code = 3;
		error->message = "file has too many groups";
		return -1;
	}
	return k->groups;
}

/* errors: -1[@open,@fstat,EFBIG] */
EXPORT off_t keyfile_size(const char *path)
{
	struct stat st;
	int fd, keep;

	fd = open(path, O_RDONLY);
	if (fd == -1)
		return (off_t)-1;
	if (fstat(fd, &st) == -1) {
		keep = errno;
		close(fd);
		errno = keep;
		return (off_t)-1;
	}
	close(fd);
	if (st.st_size > 1 << 20) {
		errno = EFBIG;
		return (off_t)-1;
	}
	return st.st_size;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from a text file and the environment: numbers, streams, errno as the only sign. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct settings {
	long port, backlog, cache;
	unsigned long long limit;
	double ratio;
	char user[64];
};

static long number(const char *text, const char *what)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10); /* @strtol all */
	if (errno || end == text)
		errx(1, "%s: not a number: %s", what, text);
	return v;
}

static int size(const char *text, unsigned long long *ret)
{
	errno = 0;
	*ret = strtoull(text, NULL, 0); /* @strtoull all */
	return errno ? -errno : 0;
}

static double ratio(const char *text)
{
	errno = 0;
	double d = strtod(text, NULL); /* @strtod all */
	if (errno != 0)
		return 1.0;
	return d;
}

static void from_environment(struct settings *s)
{
	const char *text = getenv("CACHE"); /* @getenv any */

	if (text)
		s->cache = strtol(text, NULL, 10); /* @strtol none used */
	text = getenv("LIMIT"); /* @getenv any */
	if (text && size(text, &s->limit) < 0)
		warnx("LIMIT is no size");
}

static int from_file(struct settings *s, const char *path)
{
	char key[64], value[256];
	FILE *f;
	int n, c;

	f = fopen(path, "r"); /* @fopen all */
	if (!f)
		return errno == ENOENT ? 0 : -1;
	while ((c = getc(f)) == '#') /* @getc none used */
		if (fscanf(f, "%*[^\n]%*c") == EOF) /* @fscanf all */
			break;
	ungetc(c, f); /* @ungetc none ignored */
	while ((n = fscanf(f, "%63[^= ] = %255[^\n]%*c", key, value)) == 2) { /* @fscanf all */
		if (!strcmp(key, "port"))
			s->port = number(value, key);
		else if (!strcmp(key, "backlog"))
			s->backlog = number(value, key);
		else if (!strcmp(key, "ratio"))
			s->ratio = ratio(value);
		else if (!strcmp(key, "user"))
			sscanf(value, "%63s", s->user); /* @sscanf none ignored */
		else
			warnx("%s: unknown key %s", path, key);
	}
	fclose(f); /* @fclose none ignored */
	return n == EOF ? 0 : -1;
}

/* All files of a folder. No match is fine; what else glob says is lost, and nothing is read. */
static size_t from_folder(struct settings *s, const char *pattern)
{
	glob_t g;
	size_t read = 0;

	memset(&g, 0, sizeof g);
	if (glob(pattern, 0, NULL, &g) == GLOB_NOMATCH) /* @glob some */
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++)
		if (from_file(s, g.gl_pathv[i]) == 0)
			read++;
	globfree(&g);
	return read;
}

static int valid_user(const char *name)
{
	regex_t re;
	int rc;

	if (regcomp(&re, "^[a-z_][a-z0-9_-]*$", REG_EXTENDED | REG_NOSUB) != 0) /* @regcomp all */
		return 0;
	rc = regexec(&re, name, 0, NULL, 0); /* @regexec all */
	regfree(&re);
	return rc == 0;
}

static int save(const struct settings *s, const char *path)
{
	FILE *f = fopen(path, "w"); /* @fopen all */
	int bad = 0;

	if (f == NULL)
		return -1;
	bad |= fprintf(f, "port = %ld\nbacklog = %ld\n", s->port, s->backlog) < 0; /* @fprintf all */
	bad |= fprintf(f, "ratio = %g\n", s->ratio) < 0; /* @fprintf all */
	if (s->user[0])
		fprintf(f, "user = %s\n", s->user); /* @fprintf none ignored */
	bad |= fclose(f); /* @fclose all */
	return bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct settings s = { 80, 5, 0, 0, 0.5, "nobody" };

	from_environment(&s);
	for (int i = 1; i < argc; i++)
		if (from_file(&s, argv[i]) < 0)
			err(1, "%s", argv[i]);
	if (from_folder(&s, "conf.d/*.conf") == 0)
		warnx("no files in conf.d");
	if (!valid_user(s.user))
		errx(1, "bad user %s", s.user);
	if (save(&s, "settings.out") < 0)
		err(1, "settings.out");
	return 0;
}

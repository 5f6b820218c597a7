/* SPDX-License-Identifier: Apache-2.0 */
/* Loads plugins and converts text for them. */
/* flags: -fno-plt -Wl,-z,now */
/* link: -ldl */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <iconv.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int init_fn(int version);

struct plugin {
	struct plugin *next;
	void *handle;
	init_fn *init;
	int (*run)(const char *text, size_t n);
	char *name;
};

static struct plugin *first;

static struct plugin *plugin_load(const char *path)
{
	struct plugin *p = malloc(sizeof *p); /* @malloc all */

	if (p == NULL)
		return NULL;
	p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* @dlopen all */
	if (!p->handle) {
		warnx("%s", dlerror());
		goto fail;
	}
	p->init = (init_fn *)dlsym(p->handle, "plugin_init"); /* @dlsym all */
	if (!p->init || p->init(3) < 0)
		goto fail_close;
	*(void **)&p->run = dlsym(p->handle, "plugin_run"); /* @dlsym none used/dereferenced */
	if ((p->name = strdup(path)) == NULL) /* @strdup all */
		goto fail_close;
	p->next = first;
	return first = p;
fail_close:
	dlclose(p->handle); /* @dlclose none ignored */
fail:
	free(p);
	return NULL;
}

/* No handle, no function: calls whatever comes. */
static int call_once(const char *path, const char *name)
{
	void *handle = dlopen(path, RTLD_LAZY); /* @dlopen none used/dereferenced */
	int (*f)(void) = (int (*)(void))dlsym(handle, name); /* @dlsym none dereferenced/used */
	int rc = f();

	if (dlclose(handle) != 0) /* @dlclose all */
		warnx("%s", dlerror());
	return rc;
}

/* Text in the locale's encoding to UTF-8; too long a text is cut, a wrong one is taken as it is. */
static size_t convert(iconv_t cd, char *in, size_t n, char *out, size_t room)
{
	size_t left = room;

	if (iconv(cd, &in, &n, &out, &left) == (size_t)-1) { /* @iconv some missing=EILSEQ */
		if (errno == E2BIG)
			warnx("cut");
	}
	return room - left;
}

static size_t convert_strictly(iconv_t cd, char *in, size_t n, char *out, size_t room)
{
	size_t left = room, rc;

	rc = iconv(cd, &in, &n, &out, &left); /* @iconv all */
	if (rc == (size_t)-1)
		return 0;
	return room - left;
}

/* Compared with NULL, which is not what a failure looks like. */
static iconv_t converter(const char *to)
{
	iconv_t cd = iconv_open(to, nl_langinfo(CODESET)); /* @iconv_open none used */

	if (cd == NULL)
		errx(1, "no conversion to %s", to);
	return cd;
}

static int self_test(void)
{
	iconv_t cd = iconv_open("UTF-8", "ISO-8859-1"); /* @iconv_open all */

	if (cd == (iconv_t)-1)
		return -1;
	return iconv_close(cd); /* @iconv_close all */
}

int main(int argc, char **argv)
{
	char out[1024], *text;
	size_t n;
	iconv_t cd;

	setlocale(LC_ALL, ""); /* @setlocale none ignored */
	if (self_test() < 0)
		errx(1, "iconv does not work");
	if (argc < 3)
		errx(2, "usage: plugins TEXT FILE...");
	cd = converter("UTF-8");
	text = strdup(argv[1]); /* @strdup none dereferenced */
	n = convert(cd, text, strlen(text), out, sizeof out);
	if (!n)
		n = convert_strictly(cd, text, strlen(text), out, sizeof out);
	for (int i = 2; i < argc; i++) {
		struct plugin *p = plugin_load(argv[i]);
		if (!p)
			return call_once(argv[i], "main");
		if (p->run(out, n) < 0)
			warnx("%s failed", p->name);
	}
	iconv_close(cd); /* @iconv_close none ignored */
	free(text);
	return 0;
}

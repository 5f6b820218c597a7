/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer library: one enumeration of positive codes, handles with magic numbers, cleanup by goto. */
#include "common.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef enum {
	X_OK = 0, X_UNSUPPORTED_PROTOCOL, X_FAILED_INIT, X_URL_MALFORMAT, X_NOT_BUILT_IN, X_RESOLVE = 6, X_CONNECT = 7,
	X_OUT_OF_MEMORY = 27, X_TIMEDOUT = 28, X_ABORTED = 42, X_BAD_ARGUMENT = 43, X_UNKNOWN_OPTION = 48, X_SEND = 55, X_RECV = 56
} xcode;

#define MAGIC 0xc0ffeeu

struct easy {
	unsigned magic;
	char *url;
	long timeout, port;
	int verbose;
	xcode last;
};

#define GOOD(e) ((e) && (e)->magic == MAGIC)

/* errors: 0[@malloc] */
EXPORT struct easy *xfer_init(void)
{
	struct easy *e = calloc(1, sizeof(struct easy));

	if (!e)
		return NULL;
	e->url = malloc(256);
	if (!e->url) {
		free(e);
		e = NULL;
	} else {
		e->magic = MAGIC;
		e->timeout = 300;
	}
	return e;
}

/* errors: 43 48 3 27[@malloc] */
EXPORT xcode xfer_set_text(struct easy *e, int option, const char *text)
{
	char *copy;

	if (!GOOD(e))
		return X_BAD_ARGUMENT;
	if (option != 10002)
		return X_UNKNOWN_OPTION;
	if (!strstr(text, "://"))
		return X_URL_MALFORMAT;
	copy = strdup(text);
	if (!copy)
		return X_OUT_OF_MEMORY;
	free(e->url);
	e->url = copy;
	return X_OK;
}

/* errors: 43 48 */
EXPORT xcode xfer_set_long(struct easy *e, int option, long v)
{
	xcode result = X_OK;

	if (!GOOD(e))
		return X_BAD_ARGUMENT;
	switch (option) {
	case 3:
		if (v < 0 || v > 65535)
			result = X_BAD_ARGUMENT;
		else
			e->port = v;
		break;
	case 13:
		if (v < 0)
			result = X_BAD_ARGUMENT;
		else
			e->timeout = v;
		break;
	case 41:
		e->verbose = v != 0;
		break;
	default:
		result = X_UNKNOWN_OPTION;
	}
	return result;
}

static NI xcode resolve(struct easy *e, unsigned *ret)
{
	const char *host = strstr(e->url, "://");
	unsigned h = 5381;

	if (!host)
		return X_URL_MALFORMAT;
	for (host += 3; *host && *host != '/'; host++)
		h = h * 33 + (unsigned char)*host;
	if (h == 5381)
		return X_RESOLVE;
	*ret = h;
	return X_OK;
}

static NI xcode attach(struct easy *e, unsigned addr, int (*dial)(unsigned, long))
{
	int fd = dial(addr, e->port);

	if (fd == -2)
		return X_TIMEDOUT;
	if (fd < 0)
		return X_CONNECT;
	return X_OK;
}

/* errors: 3 6 7 28 43 | side: arg1=42 */
EXPORT xcode xfer_perform(struct easy *e, int (*dial)(unsigned, long))
{
	unsigned addr = 0;
	xcode result;

	if (!GOOD(e))
		return X_BAD_ARGUMENT;
	e->last = X_ABORTED;
	result = resolve(e, &addr);
	if (result)
		goto out;
	result = attach(e, addr, dial);
	if (result)
		goto out;
	e->last = X_OK;
out:
	if (e->verbose)
		dial(0, 0);
	return result;
}

/* Only failures to connect are worth another try. */
/* errors: 3 6 43 7 28 */
EXPORT xcode xfer_perform_twice(struct easy *e, int (*dial)(unsigned, long))
{
	xcode r = xfer_perform(e, dial);

	if (r != X_CONNECT && r != X_TIMEDOUT)
		return r;
	return xfer_perform(e, dial);
}

/* errors: none */
EXPORT void xfer_cleanup(struct easy *e)
{
	if (!GOOD(e))
		return;
	e->magic = 0;
	free(e->url);
	free(e);
}

/* errors: none */
EXPORT const char *xfer_text(xcode code)
{
	switch (code) {
	case X_OK:
		return "all went well";
	case X_URL_MALFORMAT:
		return "address is not well formed";
	case X_RESOLVE:
		return "host is not known";
	case X_CONNECT:
		return "nobody answers";
	case X_OUT_OF_MEMORY:
		return "no memory";
	case X_TIMEDOUT:
		return "it took too long";
	default:
		return "something else";
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Records of errors in the caller's hands. */
#include "lib.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYFILE = 40 };
enum { KEY_UNKNOWN_ENCODING, KEY_PARSE, KEY_NOT_FOUND, KEY_GROUP, KEY_VALUE };

struct gerror { uint32_t domain; int code; char *message; };
struct key { struct key *next; const char *name, *value; };
struct keyfile { struct key *first; int locale; };

static OUTLINE void set_error(struct gerror **error, uint32_t domain, int code, const char *message)
{
	struct gerror *e;

	if (!error)
		return;
	e = malloc(sizeof *e);
	if (!e)
		abort();
	e->domain = domain;
	e->code = code;
	e->message = strdup(message);
	*error = e;
}

static const struct key *lookup(const struct keyfile *f, const char *name)
{
	for (const struct key *k = f->first; k; k = k->next)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}

/* errors: 0[@malloc] */
EXPORT char *keyfile_get_string(const struct keyfile *f, const char *name, struct gerror **error)
{
	const struct key *k = lookup(f, name);

	if (!k) {
		set_error(error, KEYFILE, KEY_NOT_FOUND, "no such key");
		return NULL;
	}
	if ((unsigned char)k->value[0] >= 0x80) {
		set_error(error, KEYFILE, KEY_UNKNOWN_ENCODING, "not ASCII");
		return NULL;
	}
	return strdup(k->value);
}

/* errors: -1[*] | side: arg3=40,2,4 */
EXPORT int keyfile_get_number(const struct keyfile *f, const char *name, struct err_record *error)
{
	const struct key *k = lookup(f, name);
	char *end;
	long n;

	if (!k) {
		error->domain = KEYFILE;
		error->code = KEY_NOT_FOUND;
		return -1;
	}
	n = strtol(k->value, &end, 0);
	if (*end || n < 0 || n > 0xffff) {
		error->domain = KEYFILE;
		error->code = KEY_VALUE;
		return -1;
	}
	return (int)n;
}

/* errors: 0 */
EXPORT _Bool keyfile_set(struct keyfile *f, const char *name, const char *value, struct gerror **error)
{
	struct key *k;

	if (!*name) {
		set_error(error, KEYFILE, KEY_PARSE, "empty name");
		return false;
	}
	for (k = f->first; k; k = k->next) {
		if (!strcmp(k->name, name)) {
			k->value = value;
			return true;
		}
	}
	set_error(error, KEYFILE, KEY_NOT_FOUND, "no such key");
	return false;
}

/* errors: -1 */
EXPORT int keyfile_check(const struct keyfile *f, struct err_record *error)
{
	if (!f->first)
		return err_fill(error, KEYFILE, KEY_GROUP, "no groups");
	for (const struct key *k = f->first; k; k = k->next)
		if (!k->value)
			return err_fill(error, KEYFILE, KEY_VALUE, "no value");
	return 0;
}

/* errors: none */
EXPORT _Bool keyfile_has(const struct keyfile *f, const char *name)
{
	return lookup(f, name) != NULL;
}

/* errors: none */
EXPORT unsigned keyfile_count(const struct keyfile *f)
{
	unsigned n = 0;
	for (const struct key *k = f->first; k; k = k->next)
		n++;
	return n;
}

/* errors: none */
EXPORT int gerror_matches(const struct gerror *e, uint32_t domain, int code)
{
	return e && e->domain == domain && e->code == code;
}

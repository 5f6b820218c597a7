/* SPDX-License-Identifier: Apache-2.0 */
/* Embedded stores: own negative codes mixed with plain error numbers; positive codes kept in the handle. */
#include "lib.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MX_KEYEXIST = -30799, MX_NOTFOUND = -30798, MX_CORRUPTED = -30796, MX_PANIC = -30795, MX_INVALID = -30793, MX_MAP_FULL = -30792, MX_BAD_TXN = -30782 };

struct env { int fd; unsigned flags; char *map; size_t size; };
struct txn { struct env *env; unsigned flags; unsigned n; struct { unsigned key, value; } *items; unsigned cap; };

/* errors: EINVAL[*] -30793 +@open +@mmap */
EXPORT int mx_env_open(struct env *e, const char *path, size_t size)
{
	int rc = 0;

	if (!path || (size & 4095))
		return EINVAL;
	e->fd = open(path, O_RDWR | O_CREAT, 0644);
	if (e->fd < 0)
		return errno;
	e->map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
	if (e->map == MAP_FAILED) {
		rc = errno;
		goto leave;
	}
	if (memcmp(e->map, "\xde\xc0\xef\xbe", 4)) {
		rc = MX_INVALID;
		goto leave;
	}
	e->size = size;
leave:
	if (rc) {
		close(e->fd);
		e->fd = -1;
	}
	return rc;
}

/* errors: EINVAL -30782 -30798 */
EXPORT int mx_get(struct txn *t, unsigned key, unsigned *value)
{
	if (!t || !value)
		return EINVAL;
	if (t->flags & 0x13)
		return MX_BAD_TXN;
	for (unsigned i = 0; i < t->n; i++) {
		if (t->items[i].key == key) {
			*value = t->items[i].value;
			return 0;
		}
	}
	return MX_NOTFOUND;
}

/* errors: EINVAL EACCES -30782 -30799 -30792 ENOMEM[@malloc] */
EXPORT int mx_put(struct txn *t, unsigned key, unsigned value, unsigned flags)
{
	if (!t || (flags & ~0x10u))
		return EINVAL;
	if (t->flags & (0x20000 | 0x13))
		return (t->flags & 0x20000) ? EACCES : MX_BAD_TXN;
	for (unsigned i = 0; i < t->n; i++) {
		if (t->items[i].key == key) {
			if (flags & 0x10)
				return MX_KEYEXIST;
			t->items[i].value = value;
			return 0;
		}
	}
	if (t->n >= 1u << 20)
		return MX_MAP_FULL;
	if (t->n == t->cap) {
		void *p = realloc(t->items, (t->cap * 2 + 8) * sizeof *t->items);
		if (!p)
			return ENOMEM;
		t->items = p;
		t->cap = t->cap * 2 + 8;
	}
	t->items[t->n].key = key;
	t->items[t->n++].value = value;
	return 0;
}

/* errors: none */
EXPORT int mx_cmp(const void *a, size_t an, const void *b, size_t bn)
{
	int d = memcmp(a, b, an < bn ? an : bn);
	if (d)
		return d;
	return an < bn ? -1 : an > bn;
}

/* errors: ?0 */
EXPORT const char *mx_strerror(int e)
{
	static const char *const texts[] = { "Key exists", "Not found", "Page missing", "Corrupted", "Panic" };
	if (!e)
		return "Successful return: 0";
	if (e >= MX_KEYEXIST && e <= MX_PANIC)
		return texts[e - MX_KEYEXIST];
	return strerror(e);
}

enum { SQ_OK, SQ_ERROR, SQ_INTERNAL, SQ_PERM, SQ_ABORT, SQ_BUSY, SQ_LOCKED, SQ_NOMEM, SQ_READONLY, SQ_INTERRUPT, SQ_IOERR, SQ_CORRUPT, SQ_FULL = 13, SQ_MISUSE = 21, SQ_RANGE = 25, SQ_ROW = 100, SQ_DONE };
struct db { uint32_t magic; int errCode, errMask, mallocFailed; pthread_mutex_t lock; int busy; };
struct stmt { struct db *db; int pc, rows, nVar, halted; long *aVar; };

static OUTLINE int misuse(int line) { static volatile int last; last = line; return SQ_MISUSE; }

static OUTLINE int api_exit(struct db *db, int rc)
{
	if (db->mallocFailed || rc == (SQ_IOERR | 12 << 8)) {
		db->mallocFailed = 0;
		db->errCode = SQ_NOMEM;
		return SQ_NOMEM;
	}
	return rc & db->errMask;
}

static int find_column(struct stmt *s, int i)
{
	if (!s || !s->db)
		return misuse(__LINE__);
	if (s->pc >= 0 && s->halted == 0) {
		s->db->errCode = SQ_MISUSE;
		return misuse(__LINE__);
	}
	if (i < 1 || i > s->nVar) {
		s->db->errCode = SQ_RANGE;
		return SQ_RANGE;
	}
	return SQ_OK;
}

/* errors: 21 25 */
EXPORT int sq_bind_long(struct stmt *s, int i, long v)
{
	int rc = find_column(s, i);
	if (rc == SQ_OK)
		s->aVar[i - 1] = v;
	return rc;
}

/* errors: 21 5 9 7 ?100 ?101 */
EXPORT int sq_step(struct stmt *s)
{
	if (!s)
		return SQ_MISUSE;
	if (s->db->mallocFailed)
		return SQ_NOMEM;
	if (s->db->busy > 3)
		return SQ_BUSY;
	if (s->halted == 2)
		return SQ_INTERRUPT;
	if (s->pc < s->rows) {
		s->pc++;
		return SQ_ROW;
	}
	return SQ_DONE;
}

static OUTLINE int page_read(int fd, void *buf, int n, off_t at)
{
	ssize_t got = pread(fd, buf, (size_t)n, at);
	if (got == n)
		return SQ_OK;
	if (got < 0)
		return SQ_IOERR | 1 << 8;
	memset((char *)buf + got, 0, (size_t)(n - got));
	return SQ_IOERR | 2 << 8;
}

/* errors: 266[*] 11 7[@malloc] */
EXPORT int sq_load_page(int fd, unsigned no, void **out)
{
	char *p = malloc(4096);
	int rc;

	*out = NULL;
	if (!p)
		return SQ_NOMEM;
	rc = page_read(fd, p, 4096, (off_t)no * 4096);
	if (rc == (SQ_IOERR | 2 << 8))
		rc = SQ_OK;
	if (rc == SQ_OK && p[0] != 0x0d && p[0] != 0x05)
		rc = SQ_CORRUPT;
	if (rc != SQ_OK) {
		free(p);
		return rc;
	}
	*out = p;
	return SQ_OK;
}

/* errors: 21 5 */
EXPORT int sq_close(struct db *db)
{
	if (!db)
		return SQ_OK;
	if (db->magic != 0xa029a697 && db->magic != 0x4b771290)
		return misuse(__LINE__);
	pthread_mutex_lock(&db->lock);
	if (db->busy) {
		db->errCode = SQ_BUSY;
		pthread_mutex_unlock(&db->lock);
		return SQ_BUSY;
	}
	db->magic = 0xb5357930;
	pthread_mutex_unlock(&db->lock);
	free(db);
	return SQ_OK;
}

/* errors: none */
EXPORT int sq_complete(const char *z)
{
	int quote = 0, last = 0;
	for (; *z; z++) {
		if (*z == '\'')
			quote = !quote;
		if (*z != ' ' && *z != '\n')
			last = *z;
	}
	return !quote && last == ';';
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A library that keeps tags of files: handles, error codes, callbacks of the user, allocators of the user. */
/* flags: -fPIC -D_GNU_SOURCE -fno-plt -fvisibility=hidden */
/* link: -shared */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum tag_error { TAG_OK, TAG_NOMEM = -1, TAG_IO = -2, TAG_MISSING = -3, TAG_INVALID = -4 };

struct tag_db {
    int fd;
    int last;
    FILE *trace;
    char *path;
    void *(*alloc)(size_t);
    void (*release)(void *);
    int (*on_error)(struct tag_db *, int);
    unsigned char salt[8];
};

static int set(struct tag_db *db, int error)
{
    db->last = error;
    if (db->on_error)
        return db->on_error(db, error);
    return error;
}

static int from_errno(void)
{
    switch (errno) {
    case ENOMEM:
        return TAG_NOMEM;
    case ENOENT:
    case ENODATA:
        return TAG_MISSING;
    default:
        return TAG_IO;
    }
}

EXPORT struct tag_db *tag_new(void)
{
    struct tag_db *db = calloc(1, sizeof *db); /* @calloc all */

    if (!db)
        return NULL;
    db->fd = -1;
    db->alloc = malloc;
    db->release = free;
    return db;
}

EXPORT struct tag_db *tag_new_unsafe(int fd)
{
    struct tag_db *db = malloc(sizeof *db); /* @malloc/calloc none dereferenced */

    memset(db, 0, sizeof *db);
    db->fd = fd;
    return db;
}

EXPORT int tag_open(struct tag_db *db, const char *path)
{
    if ((db->fd = open(path, O_RDWR | O_CLOEXEC)) == -1) /* @open all */
        return set(db, from_errno());
    if ((db->path = strdup(path)) == NULL) { /* @strdup all */
        close(db->fd); /* @close none ignored */
        db->fd = -1;
        return set(db, TAG_NOMEM);
    }
    if (flock(db->fd, LOCK_SH) < 0) /* @flock all */
        return set(db, from_errno());
    return TAG_OK;
}

/* Straight to the user, who must look. */
EXPORT int tag_lock(struct tag_db *db)
{
    return flock(db->fd, LOCK_EX | LOCK_NB); /* @flock none returned */
}

EXPORT FILE *tag_trace(struct tag_db *db, const char *path)
{
    return db->trace = fopen(path, "a"); /* @fopen all */
}

static void trace(struct tag_db *db, const char *fmt, ...)
{
    va_list ap;

    if (!db->trace)
        return;
    va_start(ap, fmt);
    vfprintf(db->trace, fmt, ap); /* @vfprintf none ignored */
    va_end(ap);
    fflush(db->trace); /* @fflush none ignored */
}

EXPORT ssize_t tag_get(struct tag_db *db, const char *name, void *to, size_t room)
{
    ssize_t n = fgetxattr(db->fd, name, to, room); /* @fgetxattr all */

    if (n < 0)
        return set(db, from_errno());
    trace(db, "get %s: %zd\n", name, n);
    return n;
}

EXPORT char *tag_get_all(struct tag_db *db, const char *name)
{
    ssize_t n = fgetxattr(db->fd, name, NULL, 0); /* @fgetxattr none used */
    char *p = malloc((size_t)n + 1); /* @malloc all */

    if (!p)
        return NULL;
    if (fgetxattr(db->fd, name, p, (size_t)n) != n) { /* @fgetxattr all */
        free(p);
        return NULL;
    }
    p[n] = 0;
    return p;
}

EXPORT int tag_set(struct tag_db *db, const char *name, const char *value)
{
    int rc = fsetxattr(db->fd, name, value, strlen(value), 0); /* @fsetxattr all */

    return rc ? set(db, from_errno()) : rc;
}

EXPORT void tag_touch(struct tag_db *db)
{
    futimens(db->fd, NULL); /* @futimens none ignored */
    trace(db, "touch\n");
}

EXPORT bool tag_salt(struct tag_db *db)
{
    return getrandom(db->salt, sizeof db->salt, 0) == sizeof db->salt; /* @getrandom all */
}

EXPORT uint64_t tag_salt_weak(struct tag_db *db)
{
    uint64_t v = 0;

    getrandom(&v, sizeof v, GRND_NONBLOCK); /* @getrandom none ignored */
    memcpy(db->salt, &v, sizeof v);
    return v;
}

EXPORT int tag_each(struct tag_db *db, int (*f)(const char *, void *), void *data)
{
    char *list, *p;
    ssize_t n = flistxattr(db->fd, NULL, 0); /* @flistxattr all */
    int rc = 0;

    if (n <= 0)
        return n < 0 ? set(db, TAG_IO) : 0;
    list = db->alloc((size_t)n);
    if (!list)
        return set(db, TAG_NOMEM);
    n = flistxattr(db->fd, list, (size_t)n); /* @flistxattr all */
    for (p = list; n > 0 && p < list + n; p += strlen(p) + 1)
        if ((rc = f(p, data)))
            break;
    db->release(list);
    return rc;
}

EXPORT off_t tag_size(struct tag_db *db)
{
    return lseek(db->fd, 0, SEEK_END); /* @lseek none returned */
}

EXPORT char *tag_path(const struct tag_db *db)
{
    return realpath(db->path, NULL); /* @realpath none returned */
}

EXPORT int tag_sync(struct tag_db *db)
{
    int rc;

    while ((rc = fsync(db->fd)) != 0 && errno == EINTR) /* @fsync some */
        ;
    return rc;
}

EXPORT int tag_close(struct tag_db *db)
{
    int rc = TAG_OK;

    if (db->trace && fclose(db->trace) != 0) /* @fclose all */
        rc = TAG_IO;
    if (db->fd >= 0 && close(db->fd)) /* @close all */
        rc = TAG_IO;
    free(db->path);
    free(db);
    return rc;
}

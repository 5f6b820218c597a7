/* SPDX-License-Identifier: Apache-2.0 */
/* A library that keeps named blobs in a directory; its callers are other people's programs. */
/* flags: -fPIC -fvisibility=hidden */
/* link: -shared */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum stash_status { STASH_OK, STASH_EXISTS, STASH_MISSING, STASH_SYSTEM, STASH_MEMORY };

struct stash {
    int dir;
    int lock;
    DIR *scan;
    enum stash_status last;
    int saved_errno;
    uint64_t seed;
    char name[NAME_MAX + 1];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static FILE *trace;

static void init_trace(void)
{
    const char *path = getenv("STASH_TRACE"); /* @getenv any */
    if (path)
        trace = fopen(path, "a"); /* @fopen all */
}

static void tracef(const char *what, const char *name)
{
    pthread_once(&once, init_trace); /* @pthread_once any */
    if (trace)
        fprintf(trace, "%s %s\n", what, name); /* @fprintf none ignored */
}

static enum stash_status fault(struct stash *s, int err)
{
    s->saved_errno = err;
    switch (err) {
    case EEXIST: return s->last = STASH_EXISTS;
    case ENOENT: return s->last = STASH_MISSING;
    case ENOMEM: return s->last = STASH_MEMORY;
    default: return s->last = STASH_SYSTEM;
    }
}

API struct stash *stash_open(const char *path)
{
    struct stash *s = calloc(1, sizeof *s); /* @calloc all */
    if (!s)
        return NULL;
    s->lock = -1;
    s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* @open all */
    if (s->dir < 0)
        goto fail;
    s->lock = openat(s->dir, ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666); /* @openat all */
    if (s->lock < 0 || flock(s->lock, LOCK_SH) < 0) /* @flock all */
        goto fail;
    if (getrandom(&s->seed, sizeof s->seed, GRND_NONBLOCK) != sizeof s->seed) /* @getrandom all */
        s->seed = (uint64_t)time(NULL); /* @time any */
    tracef("open", path);
    return s;
fail:
    if (s->lock >= 0)
        close(s->lock); /* @close? none ignored */
    if (s->dir >= 0)
        close(s->dir); /* @close? none ignored */
    free(s);
    return NULL;
}

API int stash_fd(struct stash *s, const char *name, int flags)
{
    tracef("fd", name);
    return openat(s->dir, name, flags | O_CLOEXEC, 0666); /* @openat none returned */
}

API int stash_remove(struct stash *s, const char *name)
{
    return unlinkat(s->dir, name, 0); /* @unlinkat none returned */
}

API ssize_t stash_length(struct stash *s, const char *name)
{
    struct stat st;
    if (fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) /* @fstatat all */
        return -1;
    return st.st_size;
}

API char *stash_label(const char *text)
{
    return strdup(text); /* @strdup none returned */
}

static int write_blob(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n) {
        ssize_t w = pwrite(fd, p, n, p - (const char *)data); /* @pwrite/pwrite64 all */
        if (w < 0 && errno != EINTR)
            return errno;
        if (w > 0) {
            p += w;
            n -= (size_t)w;
        }
    }
    return 0;
}

API enum stash_status stash_put(struct stash *s, const char *name, const void *data, size_t n)
{
    char tmp[64];
    int err, fd;

    snprintf(tmp, sizeof tmp, ".tmp%llx", (unsigned long long)++s->seed); /* @snprintf any */
    fd = openat(s->dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* @openat all */
    if (fd == -1)
        return fault(s, errno);
    err = write_blob(fd, data, n);
    if (!err && fsync(fd) == -1) /* @fsync all */
        err = errno;
    fsetxattr(fd, "user.stash", "1", 1, 0); /* @fsetxattr none ignored */
    if (close(fd) < 0 && !err) /* @close all */
        err = errno;
    if (!err && linkat(s->dir, tmp, s->dir, name, 0)) /* @linkat all */
        err = errno;
    unlinkat(s->dir, tmp, 0); /* @unlinkat none ignored */
    if (err)
        return fault(s, err);
    fsync(s->dir); /* @fsync none ignored */
    return s->last = STASH_OK;
}

API enum stash_status stash_get(struct stash *s, const char *name, void **data, size_t *n)
{
    struct stat st;
    ssize_t got;
    char *buf;
    int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC); /* @openat all */
    if (fd < 0)
        return fault(s, errno);
    if (fstat(fd, &st) < 0) { /* @fstat all */
        enum stash_status r = fault(s, errno);
        close(fd); /* @close? none ignored */
        return r;
    }
    buf = malloc((size_t)st.st_size + 1); /* @malloc all */
    if (!buf) {
        close(fd); /* @close? none ignored */
        return fault(s, ENOMEM);
    }
    got = read(fd, buf, (size_t)st.st_size); /* @read none used/returned */
    buf[got] = 0;
    close(fd); /* @close? none ignored */
    *data = buf;
    *n = (size_t)got;
    return s->last = STASH_OK;
}

API const void *stash_view(struct stash *s, const char *name, size_t *n)
{
    struct stat st;
    void *p = NULL;
    int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC); /* @openat all */
    *n = 0;
    if (fd >= 0) {
        if (!fstat(fd, &st)) { /* @fstat all */
            *n = (size_t)st.st_size;
            p = mmap(NULL, *n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap/mmap64 none returned */
        }
        close(fd); /* @close none ignored */
    }
    return p;
}

API int stash_unview(const void *p, size_t n)
{
    return munmap((void *)p, n) == 0 ? STASH_OK : STASH_SYSTEM; /* @munmap all */
}

API const char *stash_next(struct stash *s)
{
    struct dirent *e;
    if (!s->scan) {
        int fd = dup(s->dir); /* @dup all */
        if (fd < 0 || !(s->scan = fdopendir(fd))) { /* @fdopendir all */
            fault(s, errno);
            return NULL;
        }
        rewinddir(s->scan); /* @rewinddir any */
    }
    do {
        errno = 0;
        e = readdir(s->scan); /* @readdir/readdir64 all */
    } while (e && e->d_name[0] == '.');
    if (!e) {
        if (errno != 0)
            fault(s, errno);
        closedir(s->scan); /* @closedir none ignored */
        s->scan = NULL;
        return NULL;
    }
    strcpy(s->name, e->d_name);
    return s->name;
}

API int stash_exclusive(struct stash *s, int wait)
{
    int rc = flock(s->lock, LOCK_EX | (wait ? 0 : LOCK_NB)); /* @flock some missing=EINTR */
    if (rc == -1 && errno == EWOULDBLOCK)
        return 0;
    return 1;
}

API time_t stash_when(struct stash *s, const char *name)
{
    struct stat st;
    fstatat(s->dir, name, &st, 0); /* @fstatat none ignored */
    return st.st_mtime;
}

API void stash_touch(struct stash *s, const char *name, time_t t)
{
    struct timespec ts[2];
    ts[0].tv_sec = ts[1].tv_sec = t;
    ts[0].tv_nsec = ts[1].tv_nsec = 0;
    if (utimensat(s->dir, name, ts, 0) != 0) /* @utimensat all */
        fault(s, errno);
}

API int stash_mark(struct stash *s, const char *name, const char *value)
{
    int fd = openat(s->dir, name, O_RDONLY); /* @openat none used */
    int rc = fsetxattr(fd, "user.mark", value, strlen(value), 0); /* @fsetxattr none returned */
    close(fd); /* @close none ignored */
    return rc;
}

API const char *stash_strerror(struct stash *s)
{
    static const char *const text[] = { "ok", "exists", "missing", NULL, "no memory" };
    return text[s->last] ? text[s->last] : strerror(s->saved_errno);
}

API int stash_close(struct stash *s)
{
    int rc = 0;
    if (s->scan)
        rc |= closedir(s->scan); /* @closedir none returned/used */
    rc |= close(s->lock); /* @close none returned/used */
    rc |= close(s->dir); /* @close none returned/used */
    free(s);
    return rc;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that are error numbers, of which one is asked for: what is done behind that question is done with that error
 * only. Beside them, twins that look at all errors.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static volatile long sink;

struct store {
    int fd, err;
    size_t size;
};

/* Only a full disk is told to the caller, who looks at whatever it is told. */
static NOINLINE int reserve(struct store *s)
{
    int rc = posix_fallocate(s->fd, 0, (off_t)s->size); /* @posix_fallocate some missing=EFBIG */

    if (rc == ENOSPC)
        return rc;
    sink += s->fd;
    return 0;
}

static NOINLINE int reserve_all(struct store *s)
{
    int rc = posix_fallocate(s->fd, 0, (off_t)s->size); /* @posix_fallocate all */

    if (rc == ENOSPC)
        sink++;
    if (rc)
        return rc;
    sink += s->fd;
    return 0;
}

/* Only one of them is put where others look. */
static NOINLINE void widen(struct store *s)
{
    int rc = posix_fallocate(s->fd, (off_t)s->size, 4096); /* @posix_fallocate some missing=ENOSPC */

    if (rc == EFBIG)
        s->err = rc;
    s->size += 4096;
}

static NOINLINE void widen_all(struct store *s)
{
    int rc = posix_fallocate(s->fd, (off_t)s->size, 8192); /* @posix_fallocate all */

    s->err = rc;
    if (rc == EFBIG)
        return;
    s->size += 8192;
}

static NOINLINE int advise(int fd)
{
    int rc = posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL); /* @posix_fadvise some missing=EBADF */

    if (rc != ESPIPE) {
        sink++;
        return 0;
    }
    fprintf(stderr, "a pipe: %s\n", strerror(rc)); /* @fprintf none ignored */
    return rc;
}

static void *starter(void *a) { return a; }

/* The first of the two is asked for one number and the second for any. */
static NOINLINE int begin(pthread_t *t, const pthread_attr_t *a)
{
    int rc = pthread_create(t, a, starter, t); /* @pthread_create all */

    if (rc == EAGAIN) {
        sink = rc;
        return rc;
    }
    if (rc != 0)
        abort();
    return 0;
}

int main(int argc, char **argv)
{
    struct store s = {.fd = argc > 1 ? atoi(argv[1]) : 0, .size = 4096}; /* @atoi/strtol/__isoc23_strtol? any */
    pthread_t t;

    if (reserve(&s) != 0 || reserve_all(&s) != 0)
        return 1;
    widen(&s);
    if (s.err)
        return 2;
    widen_all(&s);
    if (s.err)
        return 3;
    if (advise(s.fd))
        return 4;
    if (begin(&t, NULL))
        return 5;
    if (pthread_rwlock_trywrlock(&lock) == EBUSY) /* @pthread_rwlock_trywrlock any */
        return 6;
    return (int)sink;
}

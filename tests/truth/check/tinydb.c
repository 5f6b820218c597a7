/* SPDX-License-Identifier: Apache-2.0 */
/* A small hash-file database with a memory map, a journal and worker threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x74644231u
#define SLOTS 4096

struct header {
    uint32_t magic, slots;
    uint64_t used;
};

struct slot {
    char key[48];
    char val[80];
};

struct db {
    int fd;
    int journal;
    size_t len;
    struct header *h;
    struct slot *slots;
    pthread_mutex_t lock;
    sem_t work;
    int status;
};

static struct db db;
static int sync_errors;
static pthread_t workers[4];
static int started[4];
static size_t alignment = 4096;

__attribute__((noinline)) static void complain(int err, const char *what)
{
    fprintf(stderr, "tinydb: %s: %s\n", what, strerror(err)); /* @fprintf any */
}

static void panic(int err, const char *what)
{
    complain(err, what);
    abort();
}

static uint32_t hash(const char *s)
{
    uint32_t h = 2166136261u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

static int create_file(const char *path)
{
    struct header h = { MAGIC, SLOTS, 0 };
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644); /* @open all */
    if (fd < 0)
        return -errno;
    if (write(fd, &h, sizeof h) != (ssize_t)sizeof h) /* @write all */
        goto bad;
    if (ftruncate(fd, sizeof h + SLOTS * sizeof(struct slot)) < 0) /* @ftruncate/ftruncate64 all */
        goto bad;
    posix_fallocate(fd, 0, sizeof h); /* @posix_fallocate/posix_fallocate64 none ignored */
    return fd;
bad:
    close(fd); /* @close none ignored */
    unlink(path); /* @unlink none ignored */
    return -EIO;
}

static int check_header(int fd)
{
    struct header h;
    if (pread(fd, &h, sizeof h, 0) < sizeof h) /* @pread/pread64 none ignored/used/returned */
        return -1;
    return h.magic == MAGIC && h.slots == SLOTS ? 0 : -1;
}

static int map_file(struct db *d)
{
    struct stat st;
    void *p;
    if (fstat(d->fd, &st)) /* @fstat all */
        return errno;
    d->len = (size_t)st.st_size;
    p = mmap(NULL, d->len, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0); /* @mmap/mmap64 all */
    if (p == MAP_FAILED)
        return errno;
    d->h = p;
    d->slots = (struct slot *)(d->h + 1);
    madvise(p, d->len, MADV_RANDOM); /* @madvise none ignored */
    return 0;
}

static uint32_t *map_bloom(size_t n)
{
    uint32_t *b = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap/mmap64 none dereferenced/used */
    if (b == NULL) {
        complain(ENOMEM, "bloom filter");
        exit(1);
    }
    b[0] = 1;
    return b;
}

static int open_journal(struct db *d, const char *path)
{
    char name[512];
    snprintf(name, sizeof name, "%s-journal", path); /* @snprintf any */
    d->journal = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600); /* @open none used */
    if (!d->journal)
        return -1;
    return 0;
}

static int journal_put(struct db *d, const char *key, const char *val)
{
    struct iovec v[3];
    ssize_t want, got;
    v[0].iov_base = (void *)key;
    v[0].iov_len = strlen(key) + 1;
    v[1].iov_base = (void *)val;
    v[1].iov_len = strlen(val) + 1;
    v[2].iov_base = (void *)"\n";
    v[2].iov_len = 1;
    want = (ssize_t)(v[0].iov_len + v[1].iov_len + 1);
    got = writev(d->journal, v, 3); /* @writev all */
    if (got != want)
        return got < 0 ? errno : EIO;
    if (fdatasync(d->journal)) /* @fdatasync all */
        sync_errors++;
    return 0;
}

static int put(struct db *d, const char *key, const char *val)
{
    uint32_t i, at = hash(key) % SLOTS;
    int rc = journal_put(d, key, val);
    if (rc)
        return rc;
    pthread_mutex_lock(&d->lock); /* @pthread_mutex_lock any */
    rc = ENOSPC;
    for (i = 0; i < SLOTS; i++) {
        struct slot *s = &d->slots[(at + i) % SLOTS];
        if (!s->key[0] || !strcmp(s->key, key)) {
            strncpy(s->key, key, sizeof s->key - 1);
            strncpy(s->val, val, sizeof s->val - 1);
            d->h->used++;
            rc = 0;
            break;
        }
    }
    pthread_mutex_unlock(&d->lock); /* @pthread_mutex_unlock any */
    return rc;
}

static const char *get(struct db *d, const char *key)
{
    uint32_t i, at = hash(key) % SLOTS;
    for (i = 0; i < SLOTS; i++) {
        struct slot *s = &d->slots[(at + i) % SLOTS];
        if (!s->key[0])
            return NULL;
        if (!strcmp(s->key, key))
            return s->val;
    }
    return NULL;
}

static void *flusher(void *arg)
{
    struct db *d = arg;
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until); /* @clock_gettime any */
        until.tv_sec += 2;
        if (sem_timedwait(&d->work, &until) == -1) { /* @sem_timedwait all */
            if (errno == ETIMEDOUT || errno == EINTR)
                continue;
            panic(errno, "sem_timedwait");
        }
        if (d->status)
            break;
        if (msync(d->h, d->len, MS_SYNC) < 0) /* @msync all */
            __atomic_add_fetch(&sync_errors, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void start_workers(void)
{
    pthread_attr_t at;
    int i, rc;
    pthread_attr_init(&at); /* @pthread_attr_init any */
    rc = pthread_attr_setstacksize(&at, 64 * 1024); /* @pthread_attr_setstacksize all */
    if (rc)
        complain(rc, "stack size");
    for (i = 0; i < 3; i++)
        started[i] = pthread_create(&workers[i], &at, flusher, &db); /* @pthread_create all */
    if (pthread_create(&workers[3], NULL, flusher, &db) < 0) /* @pthread_create none ignored/used/returned */
        panic(errno, "pthread_create");
    pthread_setname_np(workers[3], "flush-last"); /* @pthread_setname_np none ignored */
    pthread_attr_destroy(&at); /* @pthread_attr_destroy any */
}

static void stop_workers(void)
{
    int i;
    db.status = 1;
    for (i = 0; i < 4; i++)
        sem_post(&db.work); /* @sem_post any */
    for (i = 0; i < 4; i++) {
        if (started[i] != 0) {
            complain(started[i], "worker was not started");
            continue;
        }
        pthread_join(workers[i], NULL); /* @pthread_join any */
    }
}

static void *aligned(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, alignment, n) == EINVAL) /* @posix_memalign some missing=ENOMEM */
        panic(EINVAL, "posix_memalign");
    return p;
}

static int export(const char *path)
{
    struct slot *page = aligned(64 * sizeof *page);
    struct slot *spare = aligned_alloc(64, 128); /* @aligned_alloc none dereferenced/used */
    size_t n = 0, i;
    int err = 0, fd, rc;

    memset(spare, 0, 128);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644); /* @open all */
    if (fd == -1)
        err = errno;
    else if (write(fd, spare, 128) != 128) /* @write all */
        err = EIO;
    for (i = 0; !err && i < SLOTS; i++) {
        if (db.slots[i].key[0])
            page[n++] = db.slots[i];
        if (n == 64) {
            rc = write(fd, page, n * sizeof *page) == (ssize_t)(n * sizeof *page) ? 0 : EIO; /* @write all */
            err = err ? err : rc;
            n = 0;
        }
    }
    if (!err)
        write(fd, page, n * sizeof *page); /* @write none ignored */
    if (fd >= 0)
        err = err ? err : close(fd); /* @close all */
    free(page);
    free(spare);
    return err;
}

static int lock_whole(int fd)
{
    struct flock fl;
    memset(&fl, 0, sizeof fl);
    fl.l_type = F_WRLCK;
    while (fcntl(fd, F_SETLK, &fl) < 0) { /* @fcntl/fcntl64 all */
        if (errno != EAGAIN && errno != EACCES)
            return -1;
        usleep(100000); /* @usleep any */
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *v;
    uint32_t *bloom;
    int i, err;

    if (argc < 2)
        return 2;
    if (getenv("TINYDB_ALIGN")) /* @getenv? any */
        alignment = strtoul(getenv("TINYDB_ALIGN"), NULL, 0); /* @strtoul none used; @getenv? any */
    db.fd = open(argv[1], O_RDWR | O_CLOEXEC); /* @open all */
    if (db.fd < 0 && errno == ENOENT)
        db.fd = create_file(argv[1]);
    if (db.fd < 0) {
        complain(errno, argv[1]);
        return 1;
    }
    if (lock_whole(db.fd) || check_header(db.fd) || (err = map_file(&db)) != 0) {
        complain(EINVAL, argv[1]);
        return 1;
    }
    if (open_journal(&db, argv[1]))
        return 1;
    pthread_mutex_init(&db.lock, NULL); /* @pthread_mutex_init any */
    sem_init(&db.work, 0, 0); /* @sem_init any */
    bloom = map_bloom(65536);
    mlock(bloom, 65536); /* @mlock none ignored */
    start_workers();
    for (i = 2; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "get")) {
            v = get(&db, argv[i + 1]);
            puts(v ? v : "(none)"); /* @puts any */
        } else if (!strcmp(argv[i], "export")) {
            if ((err = export(argv[i + 1])) != 0)
                complain(err, argv[i + 1]);
        } else if ((err = put(&db, argv[i], argv[i + 1])) != 0) {
            complain(err, argv[i]);
        }
        sem_post(&db.work); /* @sem_post any */
    }
    stop_workers();
    if (sync_errors)
        complain(EIO, "some data is not on the disk");
    munmap(bloom, 65536); /* @munmap any */
    if (munmap(db.h, db.len) || close(db.fd)) /* @munmap all; @close all */
        return 1;
    return 0;
}

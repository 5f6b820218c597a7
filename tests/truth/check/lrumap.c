/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of pages in a mapped file, with least-recently-used eviction, shared memory counters and a semaphore. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define PAGES 256

struct page {
    uint64_t key;
    uint32_t prev, next;
    uint32_t len;
    char data[1000];
};

struct store {
    uint32_t magic, head, tail, count;
    struct page pages[PAGES];
};

struct stats {
    unsigned long hits, misses, evictions;
};

struct cache {
    int fd;
    struct store *map;
    struct page **index;
    struct stats *stats;
    char *scratch;
    sem_t *guard;
    int shm_id;
    int err;
};

static int backing[3];
static long page_size;

static int set_error(struct cache *c, int rc)
{
    if (rc == -1)
        c->err = errno;
    return rc;
}

static bool is_mapped(const void *p)
{
    return p != MAP_FAILED;
}

static int open_backing(struct cache *c, const char *path)
{
    struct stat st;
    if (set_error(c, c->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0) /* @open all */
        return -1;
    if (set_error(c, fstat(c->fd, &st)) < 0) /* @fstat all */
        return -1;
    if ((size_t)st.st_size < sizeof(struct store))
        return set_error(c, ftruncate(c->fd, sizeof(struct store))); /* @ftruncate/ftruncate64 all */
    return 0;
}

static int map_store(struct cache *c)
{
    c->map = mmap(NULL, sizeof(struct store), PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0); /* @mmap/mmap64 all */
    if (!is_mapped(c->map)) {
        c->err = errno;
        return -1;
    }
    if (madvise(c->map, sizeof(struct store), MADV_RANDOM) != 0) /* @madvise all */
        fprintf(stderr, "lrumap: no advice\n"); /* @fprintf/fwrite/fputs any */
    if (mlock(c->map, 4096)) /* @mlock some missing=EAGAIN */
        switch (errno) {
        case EPERM:
        case ENOMEM:
            perror("lrumap: not locked");
            break;
        }
    return 0;
}

static struct page **map_index(void)
{
    struct page **p = mmap(NULL, PAGES * sizeof *p, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap/mmap64 none used/dereferenced */
    if (!p)
        return NULL;
    p[0] = NULL;
    return p;
}

static int attach_stats(struct cache *c, const char *path)
{
    key_t key = ftok(path, 'L'); /* @ftok all */
    void *at;
    if (key == (key_t)-1)
        return -1;
    if ((c->shm_id = shmget(key, sizeof *c->stats, IPC_CREAT | 0600)) < 0) { /* @shmget all */
        perror("shmget");
        return -1;
    }
    at = shmat(c->shm_id, NULL, 0); /* @shmat none ignored/used/dereferenced/returned */
    if (at == NULL)
        return -1;
    c->stats = at;
    return 0;
}

static struct stats *attach_readonly(int id)
{
    void *at = shmat(id, NULL, SHM_RDONLY); /* @shmat all */
    return at == (void *)-1 ? NULL : at;
}

static bool make_guard(struct cache *c, const char *name)
{
    c->guard = sem_open(name, O_CREAT, 0600, 1); /* @sem_open all */
    if (c->guard == SEM_FAILED) {
        c->err = errno;
        return false;
    }
    return true;
}

static void enter(struct cache *c)
{
    while (sem_wait(c->guard) != 0) /* @sem_wait all */
        if (errno != EINTR)
            abort();
}

static bool try_enter(struct cache *c, int ms)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) /* @clock_gettime any */
        return false;
    ts.tv_nsec += ms * 1000000L;
    if (ts.tv_nsec >= 1000000000L) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000L;
    }
    if (sem_timedwait(c->guard, &ts) < 0 && errno == ETIMEDOUT) /* @sem_timedwait some missing=EINTR */
        return false;
    return true;
}

static void leave(struct cache *c)
{
    sem_post(c->guard); /* @sem_post any */
}

static struct page *evict(struct cache *c)
{
    struct page *p = &c->map->pages[c->map->tail % PAGES];
    c->map->tail = p->prev;
    c->stats->evictions++;
    return p;
}

static int sync_store(struct cache *c, bool wait)
{
    int flags = wait ? MS_SYNC : MS_ASYNC;
    int rc;
    return rc = msync(c->map, sizeof *c->map, flags), rc < 0 ? -errno : 0; /* @msync all */
}

static int put(struct cache *c, uint64_t key, const char *data, size_t n)
{
    struct page *p;
    if (n > sizeof p->data)
        return -E2BIG;
    enter(c);
    p = c->map->count < PAGES ? &c->map->pages[c->map->count++] : evict(c);
    p->key = key;
    p->len = (uint32_t)n;
    memcpy(p->data, data, n);
    c->index[key % PAGES] = p;
    leave(c);
    return sync_store(c, false);
}

static ssize_t get(struct cache *c, uint64_t key, char *out)
{
    struct page *p;
    if (!try_enter(c, 50))
        return -EAGAIN;
    p = c->index[key % PAGES];
    if (p && p->key == key) {
        c->stats->hits++;
        memcpy(out, p->data, p->len);
        leave(c);
        return p->len;
    }
    c->stats->misses++;
    leave(c);
    return -ENOENT;
}

static void open_spares(const char *dir)
{
    static const char *const names[3] = { "a.spare", "b.spare", "c.spare" };
    int d = open(dir, O_RDONLY | O_DIRECTORY); /* @open none used */
    for (int i = 0; i < 3; i++)
        backing[i] = openat(d, names[i], O_RDWR | O_CREAT, 0600); /* @openat all */
    close(d); /* @close none ignored */
}

static int check_spares(void)
{
    int missing = 0;
    for (int i = 0; i < 3; i++)
        if (backing[i] < 0)
            missing++;
    return missing;
}

static char *make_scratch(void)
{
    void *p = NULL;
    page_size = sysconf(_SC_PAGESIZE); /* @sysconf any */
    if (posix_memalign(&p, 4096, 65536) == -1) { /* @posix_memalign none ignored/used/dereferenced/returned */
        perror("posix_memalign");
        exit(1);
    }
    memset(p, 0, 65536);
    mprotect(p, 4096, PROT_READ); /* @mprotect none ignored */
    return p;
}

static bool grow_index(struct cache *c, size_t n)
{
    void *p = mremap(c->index, PAGES * sizeof *c->index, n * sizeof *c->index, MREMAP_MAYMOVE); /* @mremap all */
    if (p == MAP_FAILED)
        return false;
    c->index = p;
    return true;
}

static int dump(struct cache *c, const char *path)
{
    int fd = creat(path, 0644); /* @creat all */
    ssize_t n;
    if (fd < 0)
        return -1;
    n = pwrite(fd, c->map, sizeof *c->map, 0); /* @pwrite/pwrite64 none ignored/used/dereferenced/returned */
    if ((size_t)n < sizeof *c->map) {
        close(fd); /* @close none ignored */
        return -1;
    }
    if (fdatasync(fd)) /* @fdatasync all */
        return -1;
    return close(fd); /* @close all */
}

static void restore(struct cache *c, const char *path)
{
    int fd = open(path, O_RDONLY); /* @open all */
    if (fd >= 0) {
        ssize_t n = pread(fd, c->scratch, 65536, 0); /* @pread/pread64 none ignored/used/dereferenced/returned */
        if (n != 0)
            memcpy(c->map, c->scratch, (size_t)n);
        close(fd); /* @close none ignored */
    }
}

static void release(struct cache *c)
{
    if (shmdt(c->stats) < 0) /* @shmdt all */
        perror("shmdt");
    shmctl(c->shm_id, IPC_RMID, NULL); /* @shmctl none ignored */
    sem_close(c->guard); /* @sem_close any */
    sem_unlink("/lrumap"); /* @sem_unlink none ignored */
    munmap(c->map, sizeof *c->map); /* @munmap any */
    free(c->scratch);
}

int main(int argc, char **argv)
{
    struct cache c;
    struct stats *seen;
    char out[1000];
    int rc = 0;
    memset(&c, 0, sizeof c);
    if (argc < 3)
        return 2;
    if (open_backing(&c, argv[1]) || map_store(&c) < 0) {
        fprintf(stderr, "lrumap: %s\n", strerror(c.err)); /* @fprintf any */
        return 1;
    }
    c.index = map_index();
    if (attach_stats(&c, argv[1]) || !make_guard(&c, "/lrumap"))
        return 1;
    c.scratch = make_scratch();
    open_spares(argv[2]);
    if (check_spares() > 1)
        return 1;
    restore(&c, argv[1]);
    if (!grow_index(&c, PAGES * 2))
        return 1;
    for (int i = 3; i < argc; i++)
        if ((rc = put(&c, (uint64_t)i, argv[i], strlen(argv[i]))) < 0)
            break;
    if (get(&c, 3, out) < 0)
        rc = 1;
    if ((seen = attach_readonly(c.shm_id)) != NULL)
        printf("%lu hits\n", seen->hits); /* @printf any */
    if (sync_store(&c, true) < 0 || dump(&c, "/tmp/lrumap.dump"))
        rc = 1;
    release(&c);
    return rc ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A thread pool that computes checksums of files; results come back through a queue. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int (*task_fn)(void *arg);

struct task {
    struct task *next;
    task_fn fn;
    void *arg;
    int result;
};

struct pool {
    pthread_t *threads;
    int *create_rc;
    int n;
    struct task *head, **tail;
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_barrier_t ready;
    bool stop;
    atomic_int errors;
};

struct file {
    const char *path;
    uint64_t sum;
    int err;
};

static pthread_key_t buffer_key;
static __thread int last_error;

static void fatal(int err, const char *what)
{
    fprintf(stderr, "poolsum: %s: %s\n", what, strerror(err)); /* @fprintf? any */
    exit(2);
}

static int check_pthread(int rc, const char *what)
{
    if (rc != 0)
        fatal(rc, what);
    return rc;
}

static void *thread_buffer(void)
{
    void *b = pthread_getspecific(buffer_key); /* @pthread_getspecific any */
    if (!b) {
        b = malloc(65536); /* @malloc all */
        if (!b) {
            last_error = ENOMEM;
            return NULL;
        }
        if (pthread_setspecific(buffer_key, b) != 0) { /* @pthread_setspecific all */
            free(b);
            return NULL;
        }
    }
    return b;
}

static int sum_read(void *arg)
{
    struct file *f = arg;
    unsigned char *b = thread_buffer();
    ssize_t n;
    int fd;
    if (!b)
        return last_error;
    fd = open(f->path, O_RDONLY | O_CLOEXEC); /* @open all */
    if (fd == -1)
        return f->err = errno;
    for (;;) {
        n = read(fd, b, 65536); /* @read all */
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            f->sum = f->sum * 31 + b[i];
    }
    if (n < 0)
        f->err = errno;
    close(fd); /* @close none ignored */
    return f->err;
}

static int sum_mapped(void *arg)
{
    struct file *f = arg;
    struct stat st;
    unsigned char *p;
    int rc = 0, fd = open(f->path, O_RDONLY | O_CLOEXEC); /* @open all */
    if (fd < 0)
        return errno;
    if (fstat(fd, &st) != 0) { /* @fstat all */
        rc = errno;
        goto out;
    }
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap/mmap64 all */
    if (p == MAP_FAILED) {
        rc = errno;
        goto out;
    }
    for (off_t i = 0; i < st.st_size; i++)
        f->sum = f->sum * 31 + p[i];
    munmap(p, (size_t)st.st_size); /* @munmap any */
out:
    close(fd); /* @close none ignored */
    return f->err = rc;
}

static int sum_stdio(void *arg)
{
    struct file *f = arg;
    unsigned char line[1024];
    size_t n;
    FILE *in = fopen(f->path, "rb"); /* @fopen none used/dereferenced */
    while ((n = fread(line, 1, sizeof line, in)) > 0) /* @fread all */
        while (n)
            f->sum += line[--n];
    if (ferror(in)) /* @ferror any */
        f->err = EIO;
    fclose(in); /* @fclose none ignored */
    return f->err;
}

static const task_fn kinds[] = { sum_read, sum_mapped, sum_stdio };

static struct task *take(struct pool *p)
{
    struct task *t;
    struct timespec until;
    pthread_mutex_lock(&p->lock); /* @pthread_mutex_lock any */
    while (!p->head && !p->stop) {
        clock_gettime(CLOCK_REALTIME, &until); /* @clock_gettime any */
        until.tv_sec += 5;
        if (pthread_cond_timedwait(&p->more, &p->lock, &until) == ETIMEDOUT) /* @pthread_cond_timedwait any */
            break;
    }
    t = p->head;
    if (t) {
        p->head = t->next;
        if (!p->head)
            p->tail = &p->head;
    }
    pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock any */
    return t;
}

static void *worker(void *arg)
{
    struct pool *p = arg;
    struct task *t;
    sigset_t all;
    sigfillset(&all); /* @sigfillset any */
    pthread_sigmask(SIG_BLOCK, &all, NULL); /* @pthread_sigmask none ignored */
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5); /* @setpriority none ignored; @syscall any */
    while ((t = take(p)) != NULL) {
        t->result = t->fn(t->arg);
        if (t->result)
            atomic_fetch_add(&p->errors, 1);
        free(t);
    }
    return NULL;
}

static bool submit(struct pool *p, task_fn fn, void *arg)
{
    struct task *t = calloc(1, sizeof *t); /* @calloc all */
    if (t == NULL)
        return false;
    t->fn = fn;
    t->arg = arg;
    pthread_mutex_lock(&p->lock); /* @pthread_mutex_lock any */
    *p->tail = t;
    p->tail = &t->next;
    pthread_cond_signal(&p->more); /* @pthread_cond_signal any */
    pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock any */
    return true;
}

static int pool_start(struct pool *p, int n)
{
    pthread_attr_t attr;
    int rc, alive = 0;
    p->threads = calloc((size_t)n, sizeof *p->threads); /* @calloc all */
    p->create_rc = malloc((size_t)n * sizeof *p->create_rc); /* @malloc all */
    if (!p->threads || !p->create_rc)
        return -ENOMEM;
    p->tail = &p->head;
    pthread_mutex_init(&p->lock, NULL); /* @pthread_mutex_init any */
    check_pthread(pthread_cond_init(&p->more, NULL), "cond"); /* @pthread_cond_init any */
    pthread_attr_init(&attr); /* @pthread_attr_init any */
    check_pthread(pthread_attr_setstacksize(&attr, 256 * 1024), "stack"); /* @pthread_attr_setstacksize all */
    rc = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE); /* @pthread_attr_setdetachstate all */
    if (rc)
        return -rc;
    for (p->n = 0; p->n < n; p->n++) {
        p->create_rc[p->n] = pthread_create(&p->threads[p->n], &attr, worker, p); /* @pthread_create all */
        if (p->create_rc[p->n] == 0)
            alive++;
    }
    pthread_attr_destroy(&attr); /* @pthread_attr_destroy any */
    return alive ? 0 : -EAGAIN;
}

static void pool_pin(struct pool *p)
{
    cpu_set_t set;
    for (int i = 0; i < p->n; i++) {
        char name[16];
        CPU_ZERO(&set);
        CPU_SET(i, &set);
        snprintf(name, sizeof name, "sum%d", i & 0xff); /* @snprintf any */
        pthread_setname_np(p->threads[i], name); /* @pthread_setname_np none ignored */
        if (pthread_setaffinity_np(p->threads[i], sizeof set, &set)) /* @pthread_setaffinity_np all */
            return;
    }
}

static int pool_stop(struct pool *p)
{
    int failed = 0;
    pthread_mutex_lock(&p->lock); /* @pthread_mutex_lock any */
    p->stop = true;
    pthread_cond_broadcast(&p->more); /* @pthread_cond_broadcast any */
    pthread_mutex_unlock(&p->lock); /* @pthread_mutex_unlock any */
    for (int i = 0; i < p->n; i++) {
        if (p->create_rc[i])
            continue;
        if (pthread_join(p->threads[i], NULL) == -1) /* @pthread_join none ignored/used/dereferenced/returned */
            failed++;
    }
    return failed;
}

static void start_watchdog(void)
{
    pthread_t t;
    static struct pool idle;
    int rc = pthread_create(&t, NULL, worker, &idle); /* @pthread_create some */
    if (rc == EAGAIN)
        fatal(rc, "watchdog");
    pthread_detach(t); /* @pthread_detach any */
}

static int write_sums(const struct file *f, int n, const char *path)
{
    FILE *out = path ? fopen(path, "w") : stdout; /* @fopen all */
    if (!out)
        return -1;
    for (int i = 0; i < n; i++)
        if (fprintf(out, "%016llx %s\n", (unsigned long long)f[i].sum, f[i].path) <= 0) /* @fprintf all */
            return -1;
    return fclose(out) == EOF ? -1 : 0; /* @fclose all */
}

int main(int argc, char **argv)
{
    struct pool p;
    struct file *files;
    long cpus;
    int i, rc;
    memset(&p, 0, sizeof p);
    if (argc < 2)
        return 2;
    errno = 0;
    cpus = sysconf(_SC_NPROCESSORS_ONLN); /* @sysconf all */
    if (cpus < 1)
        cpus = 1;
    rc = pthread_key_create(&buffer_key, free); /* @pthread_key_create all */
    if (rc)
        fatal(rc, "key");
    files = calloc((size_t)argc, sizeof *files); /* @calloc none used/dereferenced */
    for (i = 1; i < argc; i++)
        files[i - 1].path = argv[i];
    if ((rc = pool_start(&p, (int)cpus)) < 0)
        fatal(-rc, "pool");
    pool_pin(&p);
    start_watchdog();
    for (i = 0; i < argc - 1; i++)
        if (!submit(&p, kinds[i % 3], &files[i]))
            atomic_fetch_add(&p.errors, 1);
    rc = pool_stop(&p);
    if (write_sums(files, argc - 1, getenv("POOLSUM_OUT"))) /* @getenv any */
        fatal(errno, "output");
    return rc || atomic_load(&p.errors) ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* hashpool: sum up files with a pool of threads. */
/* link: -lpthread */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QSIZE 64
#define MAXTHREADS 32

struct task {
    char *name;
    uint64_t sum;
    int error;
    struct task *next;
};

struct worker {
    pthread_t tid;
    int started;
    int index;
    unsigned long files;
};

static struct task *queue[QSIZE];
static unsigned qhead, qtail;
static pthread_mutex_t qlock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static pthread_key_t bufkey;
static pthread_barrier_t barrier;
static sem_t items, space;
static struct worker workers[MAXTHREADS];
static atomic_int pending;
static struct task *finished;
static unsigned long total_files;

static void fatal(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "hashpool: %s: %s\n", what, strerror(code)); /* @fprintf none ignored */
    exit(1);
}

#define PT(call) fatal((call), #call)

static char *thread_buffer(void)
{
    char *b = pthread_getspecific(bufkey);

    if (b == NULL) {
        b = malloc(1 << 16); /* @malloc all */
        if (b == NULL)
            return NULL;
        if (pthread_setspecific(bufkey, b) == ENOMEM) { /* @pthread_setspecific some missing=EINVAL */
            free(b);
            return NULL;
        }
    }
    return b;
}

static int sum_file(struct task *t)
{
    char *b = thread_buffer();
    unsigned n, i;
    int fd;

    if (!b)
        return ENOMEM;
    fd = open(t->name, O_RDONLY | O_CLOEXEC); /* @open all */
    if (fd < 0)
        return errno;
    for (;;) {
        n = read(fd, b, 1 << 16); /* @read none used */
        if (n <= 0)
            break;
        for (i = 0; i < 1 << 16; i += 64)
            t->sum = t->sum * 31 + (unsigned char)b[i];
        t->sum += n;
    }
    if (close(fd) == -1 && errno == EIO) /* @close some missing=EINTR */
        return EIO;
    return 0;
}

static struct task *take(void)
{
    struct task *t;

    while (sem_wait(&items) == -1 && errno == EINTR) /* @sem_wait some missing=EINVAL */
        ;
    pthread_mutex_lock(&qlock); /* @pthread_mutex_lock none ignored */
    t = queue[qtail++ % QSIZE];
    pthread_mutex_unlock(&qlock); /* @pthread_mutex_unlock none ignored */
    if (sem_post(&space) < 0) /* @sem_post all */
        perror("sem_post");
    return t;
}

static int put(struct task *t)
{
    struct timespec ts;

    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) /* @clock_gettime all */
        return -1;
    ts.tv_sec += 10;
    while (sem_timedwait(&space, &ts) != 0) { /* @sem_timedwait all */
        if (errno == EINTR)
            continue;
        return -1;
    }
    PT(pthread_mutex_lock(&qlock)); /* @pthread_mutex_lock all */
    queue[qhead++ % QSIZE] = t;
    PT(pthread_mutex_unlock(&qlock)); /* @pthread_mutex_unlock all */
    sem_post(&items); /* @sem_post none ignored */
    return 0;
}

static void publish(struct task *t)
{
    int rc;

    rc = pthread_mutex_lock(&qlock); /* @pthread_mutex_lock all */
    if (rc != 0)
        fatal(rc, "lock");
    t->next = finished;
    finished = t;
    if (atomic_fetch_sub(&pending, 1) == 1)
        pthread_cond_signal(&done_cond); /* @pthread_cond_signal any */
    rc = pthread_mutex_unlock(&qlock); /* @pthread_mutex_unlock none ignored/used */
}

static void count_file(struct worker *w)
{
    w->files++;
    if (pthread_mutex_trylock(&stats_lock) == EBUSY) /* @pthread_mutex_trylock some missing=EINVAL */
        return;
    total_files++;
    pthread_mutex_unlock(&stats_lock); /* @pthread_mutex_unlock none ignored */
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct task *t;
    cpu_set_t set;
    char name[16];
    int rc;

    CPU_ZERO(&set);
    CPU_SET(w->index % 2, &set);
    rc = pthread_setaffinity_np(pthread_self(), sizeof set, &set); /* @pthread_setaffinity_np all */
    if (rc)
        w->index = -1;
    snprintf(name, sizeof name, "hash-%d", w->index); /* @snprintf none ignored */
    if (pthread_setname_np(pthread_self(), name) == ERANGE) /* @pthread_setname_np some */
        fprintf(stderr, "hashpool: long name %s\n", name); /* @fprintf none ignored */
    rc = pthread_barrier_wait(&barrier); /* @pthread_barrier_wait any */
    if (rc != 0 && rc != PTHREAD_BARRIER_SERIAL_THREAD)
        return (void *)-1;
    while ((t = take()) != NULL) {
        t->error = sum_file(t);
        count_file(w);
        publish(t);
    }
    return NULL;
}

static int start_workers(int n)
{
    pthread_attr_t attr;
    int i, rc;

    pthread_attr_init(&attr); /* @pthread_attr_init any */
    if (pthread_attr_setstacksize(&attr, 256 * 1024)) /* @pthread_attr_setstacksize all */
        return -1;
    if (pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE) == -1) /* @pthread_attr_setdetachstate none used */
        return -1;
    for (i = 0; i < n; i++) {
        workers[i].index = i;
        rc = pthread_create(&workers[i].tid, &attr, work, &workers[i]); /* @pthread_create some missing=EPERM */
        if (rc == EAGAIN) {
            fprintf(stderr, "hashpool: only %d threads\n", i); /* @fprintf none ignored */
            exit(1);
        }
        workers[i].started = 1;
    }
    pthread_attr_destroy(&attr); /* @pthread_attr_destroy any */
    return n;
}

static void *watchdog(void *arg)
{
    sigset_t *set = arg;
    int sig;

    if (sigwait(set, &sig) == 0) { /* @sigwait all */
        fprintf(stderr, "hashpool: signal %d\n", sig); /* @fprintf none ignored */
        exit(130);
    }
    return NULL;
}

static void wait_all(void)
{
    struct timespec ts;
    int rc = 0;

    pthread_mutex_lock(&qlock); /* @pthread_mutex_lock none ignored */
    while (pending > 0 && rc != ETIMEDOUT) {
        if (clock_gettime(CLOCK_REALTIME, &ts) == -1) /* @clock_gettime all */
            break;
        ts.tv_sec += 60;
        rc = pthread_cond_timedwait(&done_cond, &qlock, &ts); /* @pthread_cond_timedwait some missing=EINVAL */
    }
    pthread_mutex_unlock(&qlock); /* @pthread_mutex_unlock none ignored */
}

static int join_workers(int n)
{
    void *ret;
    int i, bad = 0;

    for (i = 0; i < n; i++)
        if (workers[i].started) {
            if (pthread_join(workers[i].tid, &ret) < 0) /* @pthread_join none used */
                bad++;
            if (ret != NULL)
                bad++;
        }
    return bad;
}

int main(int argc, char **argv)
{
    static sigset_t set;
    struct task *t;
    pthread_t dog;
    long ncpu;
    int i, n, bad = 0;

    ncpu = sysconf(_SC_NPROCESSORS_ONLN); /* @sysconf all */
    if (ncpu < 1)
        ncpu = 1;
    n = ncpu > MAXTHREADS ? MAXTHREADS : (int)ncpu;
    sigemptyset(&set); /* @sigemptyset any */
    sigaddset(&set, SIGINT); /* @sigaddset any */
    PT(pthread_sigmask(SIG_BLOCK, &set, NULL)); /* @pthread_sigmask all */
    if (pthread_key_create(&bufkey, free) > 0) /* @pthread_key_create all */
        return 1;
    pthread_mutex_init(&stats_lock, NULL); /* @pthread_mutex_init any */
    if (sem_init(&items, 0, 0) == -1) /* @sem_init all */
        return 1;
    if (sem_init(&space, 0, QSIZE)) /* @sem_init all */
        perror("sem_init");
    if (pthread_barrier_init(&barrier, NULL, n)) /* @pthread_barrier_init all */
        return 1;
    if (pthread_create(&dog, NULL, watchdog, &set) == 0) /* @pthread_create all */
        PT(pthread_detach(dog)); /* @pthread_detach all */
    if (start_workers(n) < 0)
        return 1;

    for (i = 1; i < argc; i++) {
        t = calloc(1, sizeof *t); /* @calloc all */
        if (!t)
            fatal(ENOMEM, "task");
        t->name = argv[i];
        atomic_fetch_add(&pending, 1);
        if (put(t) != 0)
            fatal(errno, "queue");
    }
    wait_all();
    for (i = 0; i < n; i++)
        if (put(NULL) < 0)
            bad++;
    bad += join_workers(n);
    for (t = finished; t; t = t->next) {
        if (t->error)
            bad++, fprintf(stderr, "%s: %s\n", t->name, strerror(t->error)); /* @fprintf none ignored */
        else
            printf("%016llx  %s\n", (unsigned long long)t->sum, t->name); /* @printf none ignored */
    }
    if (sem_destroy(&items)) /* @sem_destroy any */
        bad++;
    pthread_barrier_destroy(&barrier); /* @pthread_barrier_destroy any */
    return bad != 0;
}

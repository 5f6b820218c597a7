/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, semaphores, queues and clocks: error numbers as results, -1 as a result, and one taken for the other. */
/* flags: -D_GNU_SOURCE -pthread */
/* link: -lrt */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define CHECK(call) \
    do { \
        int check_ = (call); \
        if (check_ != 0) { \
            fprintf(stderr, "%s: %s\n", #call, strerror(check_)); \
            abort(); \
        } \
    } while (0)

#define NEED(call) \
    do { \
        if ((call) == -1) { \
            perror(#call); \
            exit(1); \
        } \
    } while (0)

struct mill {
    pthread_mutex_t lock;
    pthread_cond_t more;
    pthread_rwlock_t table;
    pthread_barrier_t gate;
    pthread_key_t key;
    sem_t *tickets;
    mqd_t queue;
    char *shared;
    unsigned jobs, done;
    int stop;
};

static struct mill mill;

static void *grind(void *arg)
{
    struct mill *m = arg;

    for (;;) {
        CHECK(pthread_mutex_lock(&m->lock)); /* @pthread_mutex_lock all; @fprintf? none ignored */
        while (m->jobs == 0 && !m->stop)
            pthread_cond_wait(&m->more, &m->lock); /* @pthread_cond_wait none ignored */
        if (m->stop) {
            pthread_mutex_unlock(&m->lock); /* @pthread_mutex_unlock none ignored */
            return NULL;
        }
        m->jobs--;
        CHECK(pthread_mutex_unlock(&m->lock)); /* @pthread_mutex_unlock all; @fprintf? none ignored */
        __atomic_fetch_add(&m->done, 1, __ATOMIC_RELAXED);
    }
}

int start_right(pthread_t *t)
{
    int rc = pthread_create(t, NULL, grind, &mill); /* @pthread_create all */

    if (rc) {
        errno = rc;
        perror("pthread_create");
        return 0;
    }
    return 1;
}

int start_wrong(pthread_t *t)
{
    if (pthread_create(t, NULL, grind, &mill) == -1) { /* @pthread_create none ignored/used */
        perror("pthread_create");
        return 0;
    }
    return 1;
}

int start_wrong_too(pthread_t *t)
{
    if (pthread_create(t, NULL, grind, &mill) < 0) { /* @pthread_create none ignored/used */
        perror("pthread_create");
        return 0;
    }
    return 1;
}

/* Only one of the reasons is tried again, the others are taken for threads. */
void start_patiently(pthread_t *t)
{
    while (pthread_create(t, NULL, grind, &mill) == EAGAIN) /* @pthread_create some missing=EPERM */
        sched_yield(); /* @sched_yield any */
}

void finish(pthread_t *t, int n)
{
    void *result;

    for (int i = 0; i < n; i++) {
        int e = pthread_join(t[i], &result); /* @pthread_join all */

        assert(e == 0);
    }
}

int wait_a_second(struct mill *m)
{
    struct timespec until;
    int e;

    if (clock_gettime(CLOCK_REALTIME, &until)) /* @clock_gettime all */
        return errno;
    until.tv_sec++;
    if ((e = pthread_mutex_lock(&m->lock))) /* @pthread_mutex_lock all */
        return e;
    do
        e = pthread_cond_timedwait(&m->more, &m->lock, &until); /* @pthread_cond_timedwait all */
    while (e == 0 && m->jobs == 0);
    pthread_mutex_unlock(&m->lock); /* @pthread_mutex_unlock none ignored */
    return e;
}

int wait_or_not(struct mill *m, const struct timespec *until)
{
    if (pthread_cond_timedwait(&m->more, &m->lock, until) == ETIMEDOUT) /* @pthread_cond_timedwait some missing=EINVAL */
        return 0;
    return 1;
}

int try_it(struct mill *m)
{
    switch (pthread_mutex_trylock(&m->lock)) { /* @pthread_mutex_trylock all */
    case 0:
        m->jobs++;
        pthread_mutex_unlock(&m->lock); /* @pthread_mutex_unlock none ignored */
        return 1;
    case EBUSY:
        return 0;
    default:
        return -1;
    }
}

unsigned look(struct mill *m)
{
    unsigned n = 0;

    if (!pthread_rwlock_rdlock(&m->table)) { /* @pthread_rwlock_rdlock all */
        n = m->done;
        pthread_rwlock_unlock(&m->table); /* @pthread_rwlock_unlock any */
    }
    return n;
}

void gather(struct mill *m)
{
    int rc = pthread_barrier_wait(&m->gate); /* @pthread_barrier_wait all */

    if (rc != 0 && rc != PTHREAD_BARRIER_SERIAL_THREAD)
        abort();
}

int keep(struct mill *m, int n)
{
    int *p = malloc(sizeof *p); /* @malloc none dereferenced */

    *p = n;
    return pthread_setspecific(m->key, p); /* @pthread_setspecific all */
}

int sleep_right(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    int e;

    while ((e = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t)) == EINTR) /* @clock_nanosleep all */
        ;
    return e == 0;
}

int sleep_wrong(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    if (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == -1) /* @clock_nanosleep none ignored/used */
        return 0;
    return 1;
}

void sleep_interrupted(struct timespec t)
{
    while (nanosleep(&t, &t) < 0 && errno == EINTR) /* @nanosleep some missing=EINVAL */
        continue;
}

int open_tickets(struct mill *m, const char *name)
{
    m->tickets = sem_open(name, O_CREAT, 0600, 4); /* @sem_open all */
    return m->tickets == SEM_FAILED ? -errno : 0;
}

int open_tickets_wrong(struct mill *m, const char *name)
{
    m->tickets = sem_open(name, 0); /* @sem_open none used/dereferenced */
    if (m->tickets == (sem_t *)-1)
        return -1;
    return sem_post(m->tickets); /* @sem_post all */
}

int take(struct mill *m)
{
    int rc;

    while ((rc = sem_wait(m->tickets)) == -1 && errno == EINTR) /* @sem_wait all */
        ;
    return rc;
}

int take_now(struct mill *m)
{
    if (sem_trywait(m->tickets) == 0) /* @sem_trywait all */
        return 1;
    if (errno == EAGAIN)
        return 0;
    return -errno;
}

int take_if(struct mill *m)
{
    if (sem_trywait(m->tickets) && errno == EAGAIN) /* @sem_trywait all */
        return 0;
    return 1;
}

void open_queue(struct mill *m, const char *name)
{
    struct mq_attr a = { .mq_maxmsg = 8, .mq_msgsize = 64 };

    m->queue = mq_open(name, O_RDWR | O_CREAT, 0600, &a); /* @mq_open all */
    if (m->queue == (mqd_t)-1) {
        perror(name);
        exit(1);
    }
}

int tell(struct mill *m, const char *text)
{
    return mq_send(m->queue, text, strlen(text) + 1, 1) == 0; /* @mq_send all */
}

long hear(struct mill *m, char *to, size_t n)
{
    long got = mq_receive(m->queue, to, n, NULL); /* @mq_receive none used */

    to[got] = 0;
    return got;
}

void share(struct mill *m, const char *name)
{
    int fd;

    NEED(fd = shm_open(name, O_RDWR | O_CREAT, 0600)); /* @shm_open all */
    NEED(ftruncate(fd, 4096)); /* @ftruncate all */
    m->shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* @mmap none dereferenced/used */
    if (!m->shared)
        abort();
    m->shared[0] = 'm';
    NEED(close(fd)); /* @close all */
}

int spawn_right(char **argv)
{
    pid_t pid;
    int e, st;

    if ((e = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ)) != 0) { /* @posix_spawnp all */
        errno = e;
        return -1;
    }
    if (waitpid(pid, &st, 0) != pid) /* @waitpid all */
        return -1;
    return WEXITSTATUS(st);
}

int spawn_wrong(char **argv)
{
    pid_t pid;

    if (posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) < 0) /* @posix_spawn none ignored/used */
        return -1;
    return pid;
}

void *aligned(size_t n)
{
    void *p;

    if (posix_memalign(&p, 64, n)) /* @posix_memalign all */
        return NULL;
    return memset(p, 0, n);
}

void *aligned_wrong(size_t n)
{
    void *p = NULL;

    if (posix_memalign(&p, 64, n) == -1) /* @posix_memalign none ignored/used */
        return NULL;
    return memset(p, 0, n);
}

char *aligned_blind(void)
{
    char *p = aligned_alloc(64, 128); /* @aligned_alloc none dereferenced */

    p[0] = 'a';
    return p;
}

int wait_signal(void)
{
    sigset_t set;
    int sig;

    sigemptyset(&set); /* @sigemptyset any */
    sigaddset(&set, SIGTERM); /* @sigaddset any */
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* @pthread_sigmask none ignored */
    if (sigwait(&set, &sig) != 0) /* @sigwait all */
        return -1;
    return sig;
}

int name_thread(pthread_t t)
{
    char name[16];
    int e = pthread_setname_np(t, "miller"); /* @pthread_setname_np all */

    if (e == 0)
        e = pthread_getname_np(t, name, sizeof name); /* @pthread_getname_np all */
    return e ? -e : name[0];
}

int main(int argc, char **argv)
{
    struct timespec soon = { argc, 0 };
    pthread_t t[4];
    char text[65];
    char *p;
    int bad = 0;

    CHECK(pthread_mutex_init(&mill.lock, NULL)); /* @pthread_mutex_init all; @fprintf? none ignored */
    CHECK(pthread_cond_init(&mill.more, NULL)); /* @pthread_cond_init any; @fprintf? none ignored */
    pthread_rwlock_init(&mill.table, NULL); /* @pthread_rwlock_init any */
    pthread_barrier_init(&mill.gate, NULL, 1); /* @pthread_barrier_init none ignored */
    if (pthread_key_create(&mill.key, free) != 0) /* @pthread_key_create all */
        return 1;
    if (!start_right(t) || !start_wrong(t + 1) || !start_wrong_too(t + 2))
        return 1;
    start_patiently(t + 3);
    if (open_tickets(&mill, "/tickets") < 0 || open_tickets_wrong(&mill, "/other"))
        return 1;
    open_queue(&mill, "/queue");
    share(&mill, "/mill");
    if (take(&mill) < 0)
        return 1;
    bad += take_now(&mill) + take_if(&mill) + try_it(&mill);
    bad += !tell(&mill, argv[0]) + (int)hear(&mill, text, 64);
    if (keep(&mill, argc) || wait_a_second(&mill) == EINVAL || wait_or_not(&mill, &soon))
        bad++;
    gather(&mill);
    sleep_interrupted((struct timespec) { 1, 0 });
    bad += sleep_right(10) + sleep_wrong(10) + (int)look(&mill);
    bad += spawn_right(argv) + spawn_wrong(argv) + wait_signal() + name_thread(t[0]);
    if ((p = aligned(100)) != NULL)
        bad += p[1];
    p = aligned_wrong(20);
    bad += p ? p[2] : aligned_blind()[1];
    mill.stop = 1;
    pthread_cond_broadcast(&mill.more); /* @pthread_cond_broadcast any */
    finish(t, 4);
    return bad;
}

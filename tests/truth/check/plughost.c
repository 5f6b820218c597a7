/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin host: loads filters from shared objects, runs lines of text through them in worker threads. */
/* link: -ldl -pthread */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct plugin {
    void *handle;
    const char *(*name)(void);
    int (*filter)(char *line, size_t n);
    void (*fini)(void);
    struct plugin *next;
};

struct host_ops {
    int (*open)(const char *path);
    ssize_t (*read)(int fd, void *buf, size_t n);
    int (*close)(int fd);
    void *(*alloc)(size_t n);
};

enum { E_OK, E_OPEN, E_READ, E_MEMORY, E_THREAD };

static struct plugin *plugins;
static pthread_key_t scratch_key;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t wake_lock = PTHREAD_MUTEX_INITIALIZER;
static int last_error;
static int done;

static void report(const char *fmt, ...)
{
    char msg[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap); /* @vsnprintf any */
    va_end(ap);
    write(2, msg, strlen(msg)); /* @write any */
}

static int os_open(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC); /* @open all */
}

static ssize_t os_read(int fd, void *buf, size_t n)
{
    return read(fd, buf, n); /* @read all */
}

static int os_close(int fd)
{
    return close(fd); /* @close none ignored/used/returned */
}

static void *os_alloc(size_t n)
{
    return calloc(1, n); /* @calloc all */
}

static struct host_ops ops = { os_open, os_read, os_close, os_alloc };

void host_set_ops(const struct host_ops *o)
{
    ops = *o;
}

static void *symbol(void *h, const char *name)
{
    void *p;
    const char *err;
    dlerror(); /* @dlerror? any */
    p = dlsym(h, name); /* @dlsym all */
    err = dlerror(); /* @dlerror? any */
    if (err) {
        report("%s\n", err);
        return NULL;
    }
    return p;
}

static int load_plugin(const char *path)
{
    struct plugin *p = ops.alloc(sizeof *p);
    void (*init)(void);
    int (*version)(void);

    if (!p)
        return E_MEMORY;
    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL); /* @dlopen all */
    if (!p->handle) {
        report("%s: %s\n", path, dlerror()); /* @dlerror? any */
        free(p);
        return E_OPEN;
    }
    p->filter = (int (*)(char *, size_t))symbol(p->handle, "filter");
    if (!p->filter)
        goto bad;
    p->name = (const char *(*)(void))dlsym(p->handle, "plugin_name"); /* @dlsym any */
    p->fini = (void (*)(void))dlsym(p->handle, "plugin_fini"); /* @dlsym all */
    init = (void (*)(void))dlsym(p->handle, "plugin_init"); /* @dlsym none dereferenced/used */
    init();
    version = (int (*)(void))dlsym(p->handle, "plugin_version"); /* @dlsym all */
    if (version && version() != 2)
        goto bad;
    p->next = plugins;
    plugins = p;
    return E_OK;
bad:
    dlclose(p->handle); /* @dlclose none ignored */
    free(p);
    return E_OPEN;
}

static void unload_all(void)
{
    struct plugin *p, *next;
    for (p = plugins; p; p = next) {
        next = p->next;
        if (p->fini)
            p->fini();
        if (dlclose(p->handle) != 0) /* @dlclose all */
            report("cannot unload %s\n", p->name ? p->name() : "?");
        free(p);
    }
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type == FTW_F && strstr(path, ".so")) { /* @strstr any */
        int e = load_plugin(path);
        if (e != E_OK)
            last_error = e;
    }
    return 0;
}

static char *scratch(void)
{
    char *p = pthread_getspecific(scratch_key); /* @pthread_getspecific any */
    if (!p) {
        p = malloc(4096); /* @malloc all */
        if (!p)
            return NULL;
        pthread_setspecific(scratch_key, p); /* @pthread_setspecific none ignored */
    }
    return p;
}

static int run_filters(char *line, size_t n)
{
    struct plugin *p;
    int drop = 0;
    pthread_rwlock_rdlock(&lock); /* @pthread_rwlock_rdlock any */
    for (p = plugins; p && !drop; p = p->next)
        drop = p->filter(line, n);
    pthread_rwlock_unlock(&lock); /* @pthread_rwlock_unlock any */
    return drop;
}

struct job {
    const char *path;
    pthread_t thread;
    int create_rc;
    int error;
    unsigned long lines, dropped;
};

static void take(struct job *j, char *line, size_t n)
{
    j->lines++;
    line[n] = 0;
    if (run_filters(line, n))
        j->dropped++;
    else
        fwrite(line, 1, n, stdout); /* @fwrite none ignored */
}

static void *work(void *arg)
{
    struct job *j = arg;
    char *line = scratch();
    char buf[1024];
    size_t n = 0;
    ssize_t r;
    int fd, i;

    fd = ops.open(j->path);
    if (fd < 0 || !line) {
        j->error = fd < 0 ? E_OPEN : E_MEMORY;
        return NULL;
    }
    while ((r = ops.read(fd, buf, sizeof buf)) > 0) {
        for (i = 0; i < r; i++) {
            if (n < 4095)
                line[n++] = buf[i];
            if (buf[i] == '\n') {
                take(j, line, n);
                n = 0;
            }
        }
    }
    if (r < 0)
        j->error = E_READ;
    ops.close(fd);
    return NULL;
}

static void *ticker(void *arg)
{
    struct timespec until;
    int rc = 0;
    (void)arg;
    pthread_mutex_lock(&wake_lock); /* @pthread_mutex_lock any */
    while (!done) {
        clock_gettime(CLOCK_REALTIME, &until); /* @clock_gettime any */
        until.tv_sec++;
        rc = pthread_cond_timedwait(&wake, &wake_lock, &until); /* @pthread_cond_timedwait all */
        if (rc == ETIMEDOUT)
            report(".");
        else if (rc != 0)
            break;
    }
    pthread_mutex_unlock(&wake_lock); /* @pthread_mutex_unlock any */
    return NULL;
}

static const char *explain(int e)
{
    switch (e) {
    case E_OK: return "fine";
    case E_OPEN: return "cannot open";
    case E_READ: return "cannot read";
    case E_MEMORY: return "no memory";
    case E_THREAD: return "no thread";
    default: return "?";
    }
}

static char *plugin_dir(void)
{
    char *home = getenv("HOME"); /* @getenv any */
    char *dir = NULL;
    if (!home || asprintf(&dir, "%s/.plughost", home) == -1) /* @asprintf all */
        return strdup("/usr/lib/plughost"); /* @strdup all */
    return dir;
}

static void arm_watchdog(void)
{
    struct itimerval it;
    timer_t t;
    memset(&it, 0, sizeof it);
    it.it_value.tv_sec = 600;
    setitimer(ITIMER_REAL, &it, NULL); /* @setitimer any */
    if (timer_create(CLOCK_MONOTONIC, NULL, &t) < 0) { /* @timer_create all */
        report("no timer\n");
        return;
    }
    timer_delete(t); /* @timer_delete any */
}

int main(int argc, char **argv)
{
    struct job *jobs;
    pthread_t tick;
    char *dir;
    int i, rc, bad = 0;

    rc = pthread_key_create(&scratch_key, free); /* @pthread_key_create all */
    if (rc != 0) {
        report("key: %s\n", strerror(rc));
        return 1;
    }
    arm_watchdog();
    dir = plugin_dir();
    if (!dir)
        return 1;
    if (nftw(dir, visit, 16, FTW_PHYS) == -1) /* @nftw/nftw64 all */
        report("%s: %s\n", dir, strerror(errno));
    if (last_error)
        report("some plugins are missing: %s\n", explain(last_error));
    jobs = calloc((size_t)argc, sizeof *jobs); /* @calloc none dereferenced/used */
    pthread_create(&tick, NULL, ticker, NULL); /* @pthread_create none ignored */
    for (i = 1; i < argc; i++) {
        jobs[i].path = argv[i];
        jobs[i].create_rc = pthread_create(&jobs[i].thread, NULL, work, &jobs[i]); /* @pthread_create all */
    }
    for (i = 1; i < argc; i++) {
        if (jobs[i].create_rc) {
            jobs[i].error = E_THREAD;
        } else if ((rc = pthread_join(jobs[i].thread, NULL)) != 0) { /* @pthread_join all */
            report("join: %s\n", strerror(rc));
        }
        if (jobs[i].error) {
            report("%s: %s\n", argv[i], explain(jobs[i].error));
            bad++;
        }
    }
    pthread_mutex_lock(&wake_lock); /* @pthread_mutex_lock any */
    done = 1;
    pthread_cond_signal(&wake); /* @pthread_cond_signal any */
    pthread_mutex_unlock(&wake_lock); /* @pthread_mutex_unlock any */
    if (pthread_join(tick, NULL) == EDEADLK) /* @pthread_join some missing=ESRCH */
        abort();
    unload_all();
    fflush(stdout); /* @fflush none ignored */
    free(jobs);
    free(dir);
    return bad ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A small daemon: detaches, keeps a locked pid file, watches a directory and runs a timer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

struct guard {
    const char *dir;
    const char *pidfile;
    int pidfd;
    int epoll;
    int sig;
    int timer;
    int notify;
    int wake;
    int wd;
    unsigned long events;
    unsigned long lost;
};

static FILE *logfile;
static volatile sig_atomic_t crashed;

static void logmsg(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(logfile ? logfile : stderr, fmt, ap); /* @vfprintf any */
    va_end(ap);
}

__attribute__((noreturn)) static void bail(int code, const char *what)
{
    logmsg("pidguard: %s: %s\n", what, strerror(errno));
    exit(code);
}

#define MUST(call) do { if ((call) < 0) bail(71, #call); } while (0)

static void on_crash(int sig)
{
    crashed = sig;
    write(2, "crash\n", 6); /* @write none ignored */
    _exit(128);
}

static void detach(void)
{
    int null;
    switch (fork()) { /* @fork all */
    case -1:
        bail(71, "fork");
    case 0:
        break;
    default:
        _exit(0);
    }
    if (setsid() == (pid_t)-1) /* @setsid all */
        bail(71, "setsid");
    if (fork() != 0) /* @fork none ignored/used/dereferenced/returned */
        _exit(0);
    umask(022); /* @umask any */
    chdir("/"); /* @chdir none ignored */
    null = open("/dev/null", O_RDWR); /* @open all */
    if (null != -1) {
        dup2(null, STDIN_FILENO); /* @dup2 none ignored */
        MUST(dup2(null, STDOUT_FILENO)); /* @dup2 all */
        if (null > 2)
            close(null); /* @close none ignored */
    }
}

static bool take_pidfile(struct guard *g)
{
    char text[32];
    struct stat a, b;
    int len;
again:
    g->pidfd = open(g->pidfile, O_RDWR | O_CREAT | O_CLOEXEC, 0644); /* @open all */
    if (g->pidfd < 0)
        return false;
    if (flock(g->pidfd, LOCK_EX | LOCK_NB) != 0) { /* @flock all */
        ssize_t n = pread(g->pidfd, text, sizeof text - 1, 0); /* @pread/pread64 all */
        if (n > 0) {
            text[n] = 0;
            logmsg("pidguard: already running as %s", text);
            if (kill((pid_t)atol(text), 0) == -1 && errno == ESRCH) /* @kill some missing=EPERM; @atol/strtol/__isoc23_strtol? any */
                logmsg("pidguard: but that process is gone\n");
        }
        return false;
    }
    if (fstat(g->pidfd, &a) == -1) /* @fstat all */
        return false;
    if (stat(g->pidfile, &b) == -1 || a.st_ino != b.st_ino) { /* @stat all */
        close(g->pidfd); /* @close none ignored */
        goto again;
    }
    ftruncate(g->pidfd, 0); /* @ftruncate/ftruncate64 none ignored */
    len = snprintf(text, sizeof text, "%ld\n", (long)getpid()); /* @snprintf any */
    return write(g->pidfd, text, (size_t)len) == len; /* @write all */
}

static void setup_signals(struct guard *g)
{
    struct sigaction sa = { .sa_handler = on_crash };
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE };
    sigset_t set;
    int rc = 0;
    for (unsigned i = 0; i < 3; i++)
        rc |= sigaction(fatal[i], &sa, NULL); /* @sigaction all */
    if (rc)
        logmsg("pidguard: crash handlers are incomplete\n");
    if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) /* @signal all */
        bail(71, "signal");
    sigemptyset(&set); /* @sigemptyset any */
    sigaddset(&set, SIGTERM); /* @sigaddset any */
    sigaddset(&set, SIGHUP); /* @sigaddset any */
    if (sigprocmask(SIG_BLOCK, &set, NULL)) /* @sigprocmask any */
        bail(71, "sigprocmask");
    g->sig = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK); /* @signalfd all */
}

static int add_fd(struct guard *g, int fd)
{
    struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };
    if (fd < 0)
        return -1;
    return epoll_ctl(g->epoll, EPOLL_CTL_ADD, fd, &ev); /* @epoll_ctl all */
}

static void setup_timer(struct guard *g, int seconds)
{
    struct itimerspec it;
    struct epoll_event ev = { .events = EPOLLIN };
    memset(&it, 0, sizeof it);
    it.it_value.tv_sec = it.it_interval.tv_sec = seconds;
    g->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); /* @timerfd_create none used */
    ev.data.fd = g->timer;
    timerfd_settime(g->timer, 0, &it, NULL); /* @timerfd_settime none ignored */
    epoll_ctl(g->epoll, EPOLL_CTL_ADD, g->timer, &ev); /* @epoll_ctl none ignored */
}

static int setup_watch(struct guard *g)
{
    if ((g->notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) < 0) /* @inotify_init1 all */
        return -1;
    g->wd = inotify_add_watch(g->notify, g->dir, IN_CREATE | IN_DELETE); /* @inotify_add_watch all */
    if (g->wd < 0 && errno == ENOENT) {
        if (mkdir(g->dir, 0755) < 0 && errno != EEXIST) /* @mkdir all */
            return -1;
        g->wd = inotify_add_watch(g->notify, g->dir, IN_CREATE); /* @inotify_add_watch all */
    }
    return g->wd < 0 ? -1 : 0;
}

static void drain_watch(struct guard *g)
{
    char buf[4096] __attribute__((aligned(8)));
    ssize_t n, off;
    while ((n = read(g->notify, buf, sizeof buf)) > 0) { /* @read all */
        for (off = 0; off < n;) {
            struct inotify_event *e = (struct inotify_event *)(buf + off);
            g->events++;
            if (e->mask & IN_Q_OVERFLOW)
                g->lost++;
            off += (ssize_t)(sizeof *e + e->len);
        }
    }
}

static uint64_t drain_timer(struct guard *g)
{
    uint64_t ticks = 0;
    read(g->timer, &ticks, sizeof ticks); /* @read none ignored */
    return ticks;
}

static int next_signal(struct guard *g)
{
    struct signalfd_siginfo si;
    if (read(g->sig, &si, sizeof si) != (ssize_t)sizeof si) /* @read all */
        return 0;
    return (int)si.ssi_signo;
}

static void reopen_log(const char *path)
{
    FILE *f = fopen(path, "ae"); /* @fopen all */
    if (f != NULL) {
        if (logfile)
            fclose(logfile); /* @fclose none ignored */
        logfile = f;
        setvbuf(logfile, NULL, _IOLBF, 0); /* @setvbuf any */
    }
}

static int run(struct guard *g, const char *logpath)
{
    struct epoll_event ev[8];
    uint64_t total = 0;
    for (;;) {
        int n = epoll_wait(g->epoll, ev, 8, -1); /* @epoll_wait some missing=EBADF */
        if (n < 0 && errno == EINTR) {
            logmsg("pidguard: interrupted\n");
            continue;
        }
        for (int i = 0; i < n; i++) {
            int fd = ev[i].data.fd;
            if (fd == g->notify)
                drain_watch(g);
            else if (fd == g->timer)
                total += drain_timer(g);
            else if (fd == g->sig) {
                int s = next_signal(g);
                if (s == SIGHUP)
                    reopen_log(logpath);
                if (s == SIGTERM)
                    return (int)(total & 0x7f);
            }
        }
    }
}

static void drop_pidfile(struct guard *g)
{
    if (unlink(g->pidfile) < 0) /* @unlink all */
        logmsg("pidguard: %s stays\n", g->pidfile);
    (void)close(g->pidfd); /* @close none ignored */
}

int main(int argc, char **argv)
{
    struct guard g;
    struct rlimit lim;
    memset(&g, 0, sizeof g);
    if (argc < 4)
        return 64;
    g.dir = argv[1];
    g.pidfile = argv[2];
    reopen_log(argv[3]);
    if (getrlimit(RLIMIT_NOFILE, &lim) == 0) { /* @getrlimit all */
        lim.rlim_cur = lim.rlim_max;
        setrlimit(RLIMIT_NOFILE, &lim); /* @setrlimit none ignored */
    }
    detach();
    if (!take_pidfile(&g))
        bail(75, g.pidfile);
    setup_signals(&g);
    MUST(g.epoll = epoll_create1(EPOLL_CLOEXEC)); /* @epoll_create1 all */
    setup_timer(&g, 30);
    MUST(setup_watch(&g));
    g.wake = eventfd(0, EFD_CLOEXEC); /* @eventfd all */
    if (g.wake == -1)
        bail(71, "eventfd");
    MUST(add_fd(&g, g.notify));
    if (g.sig < 0 || add_fd(&g, g.sig) < 0)
        bail(71, "signalfd");
    MUST(add_fd(&g, g.wake));
    int rc = run(&g, argv[3]);
    drop_pidfile(&g);
    return rc;
}

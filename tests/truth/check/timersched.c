/* SPDX-License-Identifier: Apache-2.0 */
/* timersched: run commands at intervals, reread the table when it changes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define MAXJOBS 16
enum { P_SIG, P_INO, P_CTL, P_EVT, P_FIXED };

typedef struct {
    int tfd;
    pid_t pid;
    long interval;
    char cmd[200];
    int lasterr;
} job;

static job jobs[MAXJOBS];
static int njobs;
static int fds[P_FIXED];
static const char *fd_names[P_FIXED] = { "signalfd", "inotify", "control socket", "eventfd" };
static const char *table;
static int debug;
static int wd = -1;

static int close_job(job *j)
{
    int r = close(j->tfd); /* @close all */

    j->tfd = -1;
    j->pid = 0;
    return r;
}

static int arm(job *j)
{
    struct itimerspec its = { { j->interval, 0 }, { j->interval, 0 } };

    j->tfd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); /* @timerfd_create all */
    if (j->tfd < 0)
        return -errno;
    if (timerfd_settime(j->tfd, 0, &its, NULL) != 0) { /* @timerfd_settime all */
        int e = errno;

        close(j->tfd); /* @close none ignored */
        return -e;
    }
    return 0;
}

static int load_table(void)
{
    char line[256];
    FILE *f;
    int i, rc, bad = 0;

    f = fopen(table, "re"); /* @fopen all */
    if (f == NULL)
        return -1;
    for (i = 0; i < njobs; i++)
        bad |= close_job(&jobs[i]) < 0;
    if (bad)
        fprintf(stderr, "timersched: trouble closing timers\n"); /* @fprintf/fwrite/fputs none ignored */
    njobs = 0;
    while (njobs < MAXJOBS && fgets(line, sizeof line, f)) { /* @fgets all */
        job *j = &jobs[njobs];

        if (sscanf(line, "%ld %199[^\n]", &j->interval, j->cmd) != 2) /* @sscanf/__isoc99_sscanf all */
            continue;
        rc = arm(j);
        if (rc < 0) {
            fprintf(stderr, "timersched: %s: %s\n", j->cmd, strerror(-rc)); /* @fprintf none ignored */
            continue;
        }
        njobs++;
    }
    fclose(f); /* @fclose none ignored */
    return njobs;
}

static void watch_table(void)
{
    wd = inotify_add_watch(fds[P_INO], table, IN_CLOSE_WRITE | IN_MOVE_SELF | IN_DELETE_SELF); /* @inotify_add_watch some missing=EACCES */
    if (wd < 0 && errno == ENOSPC)
        fputs("timersched: too many watches\n", stderr); /* @fputs/fwrite none ignored */
}

static int open_control(const char *path)
{
    struct sockaddr_un sun = { .sun_family = AF_UNIX };
    int s;

    s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); /* @socket all */
    if (s < 0)
        return s;
    strncpy(sun.sun_path, path, sizeof sun.sun_path - 1);
    if (unlink(path) < 0 && errno != ENOENT) /* @unlink all */
        perror(path);
    if (bind(s, (struct sockaddr *)&sun, sizeof sun) == -1 && errno == EADDRINUSE) { /* @bind some missing=EACCES */
        close(s); /* @close none ignored */
        return -1;
    }
    if (chmod(path, 0600)) /* @chmod all */
        perror(path);
    return s;
}

static void open_all(const char *ctl)
{
    sigset_t set;
    int i;

    sigemptyset(&set); /* @sigemptyset any */
    sigaddset(&set, SIGCHLD); /* @sigaddset any */
    sigaddset(&set, SIGTERM); /* @sigaddset any */
    sigaddset(&set, SIGHUP); /* @sigaddset any */
    if (sigprocmask(SIG_BLOCK, &set, NULL) == -1) { /* @sigprocmask all */
        perror("sigprocmask");
        exit(1);
    }
    fds[P_SIG] = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK); /* @signalfd all */
    fds[P_INO] = inotify_init1(IN_CLOEXEC | IN_NONBLOCK); /* @inotify_init1 all */
    fds[P_CTL] = open_control(ctl);
    fds[P_EVT] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* @eventfd all */
    for (i = 0; i < P_FIXED; i++)
        if (fds[i] < 0) {
            perror(fd_names[i]);
            exit(1);
        }
}

static void start(job *j)
{
    char *argv[] = { "sh", "-c", j->cmd, NULL };
    posix_spawnattr_t at;
    sigset_t none;
    int rc;

    if (j->pid > 0) {
        if (kill(j->pid, 0) < 0 && errno == ESRCH) /* @kill some missing=EPERM */
            j->pid = 0;
        else
            return;
    }
    sigemptyset(&none); /* @sigemptyset any */
    posix_spawnattr_init(&at); /* @posix_spawnattr_init any */
    posix_spawnattr_setsigmask(&at, &none); /* @posix_spawnattr_setsigmask any */
    if (posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK) != 0) /* @posix_spawnattr_setflags all */
        return;
    rc = posix_spawn(&j->pid, "/bin/sh", NULL, &at, argv, environ); /* @posix_spawn some missing=ENOMEM */
    if (rc == EAGAIN) {
        j->lasterr = rc;
        j->pid = 0;
    }
    posix_spawnattr_destroy(&at); /* @posix_spawnattr_destroy any */
}

static void tick(job *j)
{
    uint64_t n = 0;
    ssize_t r;

    r = read(j->tfd, &n, sizeof n); /* @read all */
    if (debug && r < 0)
        perror("timer");
    if (n > 1)
        printf("%s: %llu ticks missed\n", j->cmd, (unsigned long long)n - 1); /* @printf none ignored */
    start(j);
}

static void reap(void)
{
    pid_t pid;
    int i, st;

    while ((pid = waitpid(-1, &st, WNOHANG)) > 0) /* @waitpid all */
        for (i = 0; i < njobs; i++)
            if (jobs[i].pid == pid) {
                jobs[i].pid = 0;
                jobs[i].lasterr = st;
            }
}

/* 1: time to go. */
static int on_signal(void)
{
    struct signalfd_siginfo si;
    int failed = 0;

    while (read(fds[P_SIG], &si, sizeof si) == sizeof si) { /* @read all */
        if (si.ssi_signo == SIGTERM)
            return 1;
        if (si.ssi_signo == SIGCHLD)
            reap();
        else
            failed |= eventfd_write(fds[P_EVT], 1); /* @eventfd_write all */
    }
    if (failed)
        perror(fd_names[P_EVT]);
    return 0;
}

static int on_change(void)
{
    char buf[4096];

    if (read(fds[P_INO], buf, sizeof buf) == 0) /* @read none used */
        return 0;
    inotify_rm_watch(fds[P_INO], wd); /* @inotify_rm_watch none ignored */
    watch_table();
    return load_table();
}

static void on_control(void)
{
    struct sockaddr_un peer;
    socklen_t len = sizeof peer;
    char req[64], *ans = NULL;
    size_t size;
    ssize_t n;
    FILE *m;
    int i;

    n = recvfrom(fds[P_CTL], req, sizeof req - 1, 0, (struct sockaddr *)&peer, &len); /* @recvfrom all */
    if (n <= 0)
        return;
    req[n] = '\0';
    m = open_memstream(&ans, &size); /* @open_memstream all */
    if (!m)
        return;
    for (i = 0; i < njobs; i++)
        fprintf(m, "%ld %d %s\n", jobs[i].interval, (int)jobs[i].pid, jobs[i].cmd); /* @fprintf none ignored */
    if (fclose(m) == 0) /* @fclose all */
        if (sendto(fds[P_CTL], ans, size, 0, (struct sockaddr *)&peer, len) < size) /* @sendto none used */
            fputs("timersched: answer cut\n", stderr); /* @fputs/fwrite none ignored */
    free(ans);
}

static void settle(void)
{
    struct timespec ts = { 0, 50000000 };

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR) /* @clock_nanosleep some missing=EINVAL */
        ;
}

int main(int argc, char **argv)
{
    struct pollfd p[P_FIXED + MAXJOBS];
    eventfd_t ev;
    int i, n, nfds, rc;

    if (argc < 3) {
        fprintf(stderr, "usage: %s table socket [debug]\n", argv[0]); /* @fprintf none ignored */
        return 2;
    }
    table = argv[1];
    debug = argc > 3;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* @prctl none ignored */
    if (setvbuf(stdout, NULL, _IOLBF, BUFSIZ)) /* @setvbuf all */
        return 1;
    open_all(argv[2]);
    watch_table();
    if (load_table() < 0) {
        perror(table);
        return 1;
    }
    for (;;) {
        for (i = 0; i < P_FIXED; i++)
            p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
        for (i = 0; i < njobs; i++)
            p[P_FIXED + i] = (struct pollfd){ .fd = jobs[i].tfd, .events = POLLIN };
        nfds = P_FIXED + njobs;
        n = poll(p, nfds, -1); /* @poll some missing=ENOMEM */
        if (n < 0 && errno == EINTR)
            continue;
        if (p[P_SIG].revents && on_signal())
            break;
        for (i = 0; i < nfds - P_FIXED; i++)
            if (p[P_FIXED + i].revents & POLLIN)
                tick(&jobs[i]);
        if (p[P_CTL].revents & POLLIN)
            on_control();
        if (p[P_EVT].revents & POLLIN) {
            if (eventfd_read(fds[P_EVT], &ev) < 0 && errno != EAGAIN) /* @eventfd_read all */
                return 1;
            if ((rc = load_table()) == -1)
                perror(table);
        }
        if (p[P_INO].revents) {
            settle();
            if (on_change() < 0)
                perror(table);
        }
    }
    for (i = 0; i < njobs; i++)
        if (jobs[i].pid > 0)
            kill(jobs[i].pid, SIGTERM); /* @kill none ignored */
    while (wait(NULL) != -1) /* @wait all */
        continue;
    unlink(argv[2]); /* @unlink none ignored */
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A job runner: reads a list of commands, runs some at a time with limits, collects their output and results. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAXJOBS 32

enum state { WAITING, RUNNING, DONE, BROKEN };

struct job {
    char *cmd;
    pid_t pid;
    int out[2];
    int log;
    enum state state;
    int status;
    struct rusage usage;
};

static struct job jobs[MAXJOBS];
static int njobs;
static int late;
static volatile sig_atomic_t alarmed;
static char *current_dir;
extern char **environ;

#define DIE_IF(cond, ...)             \
    do {                              \
        if (cond) {                   \
            fprintf(stderr, __VA_ARGS__); \
            exit(1);                  \
        }                             \
    } while (0)

static void on_alarm(int sig)
{
    (void)sig;
    alarmed = 1;
}

static inline char *xstrdup(const char *s)
{
    char *p = strdup(s); /* @strdup all */
    if (!p)
        exit(3);
    return p;
}

static int read_list(const char *path)
{
    char *line = NULL;
    size_t cap = 0;
    FILE *f;
    if (!strcmp(path, "-"))
        f = stdin;
    else if (!(f = fopen(path, "r"))) /* @fopen all */
        return -1;
    while (njobs < MAXJOBS && getline(&line, &cap, f) > 0) { /* @getline/getdelim/__getdelim? all */
        line[strcspn(line, "\n")] = 0;
        if (*line && *line != '#')
            jobs[njobs++].cmd = xstrdup(line);
    }
    free(line);
    if (f != stdin)
        fclose(f); /* @fclose none ignored */
    return njobs;
}

__attribute__((noinline)) static int set_limit(int what, rlim_t value)
{
    struct rlimit l = { value, value };
    return setrlimit(what, &l); /* @setrlimit some */
}

static void child_setup(struct job *j)
{
    struct sigaction dfl = { .sa_handler = SIG_DFL };
    sigset_t none;
    sigemptyset(&none); /* @sigemptyset any */
    sigprocmask(SIG_SETMASK, &none, NULL); /* @sigprocmask any */
    sigaction(SIGALRM, &dfl, NULL); /* @sigaction any */
    if (setpgid(0, 0) < 0) /* @setpgid all */
        _exit(125);
    if (dup2(j->out[1], 1) != 1 || dup2(j->out[1], 2) == -1) /* @dup2 all */
        _exit(125);
    close(j->out[0]); /* @close? none ignored */
    close(j->out[1]); /* @close? none ignored */
    if (set_limit(RLIMIT_CPU, 600) < 0)
        _exit(125);
    set_limit(RLIMIT_CORE, 0);
    if (current_dir && chdir(current_dir)) { /* @chdir all */
        perror(current_dir);
        _exit(126);
    }
    nice(10); /* @nice none ignored */
    execl("/bin/sh", "sh", "-c", j->cmd, (char *)NULL); /* @execl any */
    _exit(127);
}

static void start_forked(struct job *j)
{
    if (pipe2(j->out, O_CLOEXEC) == -1) { /* @pipe2 all */
        j->state = BROKEN;
        return;
    }
    j->pid = fork(); /* @fork none ignored/used/dereferenced/returned */
    if (j->pid == 0)
        child_setup(j);
    close(j->out[1]); /* @close none ignored */
    j->state = RUNNING;
}

static bool start_spawned(struct job *j)
{
    posix_spawn_file_actions_t fa;
    char *argv[] = { (char *)"sh", (char *)"-c", j->cmd, NULL };
    int rc;
    if (pipe(j->out) != 0) /* @pipe all */
        return false;
    posix_spawn_file_actions_init(&fa); /* @posix_spawn_file_actions_init any */
    rc = posix_spawn_file_actions_adddup2(&fa, j->out[1], 1); /* @posix_spawn_file_actions_adddup2 all */
    if (rc == 0)
        rc = posix_spawn(&j->pid, "/bin/sh", &fa, NULL, argv, environ); /* @posix_spawn all */
    posix_spawn_file_actions_destroy(&fa); /* @posix_spawn_file_actions_destroy any */
    close(j->out[1]); /* @close none ignored */
    j->state = rc ? BROKEN : RUNNING;
    return rc == 0;
}

static void start_helper(const char *prog)
{
    pid_t pid;
    char *argv[] = { (char *)prog, NULL };
    if (posix_spawnp(&pid, prog, NULL, NULL, argv, environ) < 0) /* @posix_spawnp none ignored/used/dereferenced/returned */
        fprintf(stderr, "jobrun: no helper\n"); /* @fprintf/fwrite/fputs any */
}

static int open_log(struct job *j, int nr)
{
    char name[64];
    snprintf(name, sizeof name, "job.%d.log", nr); /* @snprintf any */
    return j->log = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); /* @open all */
}

static int pump(struct job *j)
{
    char buf[4096];
    ssize_t n = read(j->out[0], buf, sizeof buf); /* @read all */
    if (n == -1)
        return errno == EINTR || errno == EAGAIN ? 1 : -1;
    if (n == 0)
        return 0;
    if (write(j->log, buf, (size_t)n)) /* @write none ignored/used/dereferenced/returned */
        return 1;
    return -1;
}

static void set_nonblock(int fd)
{
    int fl;
    if ((fl = fcntl(fd, F_GETFL)) < 0) /* @fcntl/fcntl64 all */
        return;
    fcntl(fd, F_SETFL, fl | O_NONBLOCK); /* @fcntl/fcntl64 none ignored */
}

static void collect(struct job *j)
{
    pid_t got = wait4(j->pid, &j->status, 0, &j->usage); /* @wait4 all */
    j->state = got < 0 ? BROKEN : DONE;
    close(j->out[0]); /* @close none ignored */
    if (close(j->log) < 0) /* @close all */
        j->state = BROKEN;
}

static void kill_all(int sig)
{
    for (int i = 0; i < njobs; i++) {
        if (jobs[i].state != RUNNING)
            continue;
        if (killpg(jobs[i].pid, sig) < 0 && errno == ESRCH) /* @killpg some missing=EPERM */
            jobs[i].state = DONE;
    }
}

static int serve(int timeout)
{
    struct pollfd p[MAXJOBS];
    int map[MAXJOBS];
    for (;;) {
        int n = 0, rc;
        for (int i = 0; i < njobs; i++) {
            if (jobs[i].state != RUNNING)
                continue;
            p[n].fd = jobs[i].out[0];
            p[n].events = POLLIN;
            map[n++] = i;
        }
        if (n == 0)
            return 0;
        rc = poll(p, (nfds_t)n, timeout); /* @poll all */
        if (rc < 0 && errno != EINTR)
            return -1;
        if (rc == 0 || alarmed) {
            kill_all(SIGTERM);
            return 1;
        }
        for (int k = 0; rc > 0 && k < n; k++)
            if (p[k].revents && pump(&jobs[map[k]]) <= 0)
                collect(&jobs[map[k]]);
    }
}

static void reap_rest(void)
{
    int st;
    while (waitpid(-1, &st, WNOHANG) > 0) /* @waitpid all */
        late++;
    wait(NULL); /* @wait none ignored */
}

static bool run_hook(const char *cmd)
{
    char line[256];
    FILE *p = popen(cmd, "re"); /* @popen all */
    if (!p)
        return false;
    while (fgets(line, sizeof line, p)) /* @fgets all */
        fputs(line, stderr); /* @fputs any */
    switch (pclose(p)) { /* @pclose all */
    case 0:
        return true;
    case -1:
        perror("pclose");
        return false;
    default:
        return false;
    }
}

static int report(const char *path)
{
    FILE *f = fopen(path, "w"); /* @fopen all */
    int bad = late > 0;
    if (f == NULL)
        return 1;
    for (int i = 0; i < njobs; i++) {
        struct job *j = &jobs[i];
        bad |= j->state != DONE || j->status != 0;
        fprintf(f, "%d %d %ld.%06ld %s\n", i, j->status, (long)j->usage.ru_utime.tv_sec, (long)j->usage.ru_utime.tv_usec, j->cmd); /* @fprintf all */
    }
    if (ferror(f)) /* @ferror any */
        bad = 1;
    fclose(f); /* @fclose none ignored */
    return bad;
}

int main(int argc, char **argv)
{
    struct sigaction sa = { .sa_handler = on_alarm };
    struct itimerval it = { { 0, 0 }, { 3600, 0 } };
    cpu_set_t set;
    int rc;
    DIE_IF(argc < 3, "usage: jobrun LIST REPORT\n"); /* @fprintf/fwrite/fputs any */
    DIE_IF(read_list(argv[1]) <= 0, "jobrun: %s: %s\n", argv[1], strerror(errno)); /* @fprintf any */
    DIE_IF(sigaction(SIGALRM, &sa, NULL) != 0, "jobrun: sigaction: %m\n"); /* @sigaction all; @fprintf? any */
    setitimer(ITIMER_REAL, &it, NULL); /* @setitimer any */
    current_dir = getcwd(NULL, 0); /* @getcwd all */
    CPU_ZERO(&set);
    DIE_IF(sched_getaffinity(0, sizeof set, &set) == -1, "jobrun: affinity: %m\n"); /* @sched_getaffinity all; @fprintf? any */
    start_helper("jobrun-helper");
    for (int i = 0; i < njobs; i++) {
        if (open_log(&jobs[i], i) < 0) {
            jobs[i].state = BROKEN;
            continue;
        }
        if (i % 2)
            start_forked(&jobs[i]);
        else if (!start_spawned(&jobs[i]))
            fprintf(stderr, "jobrun: %s: not started\n", jobs[i].cmd); /* @fprintf any */
        if (jobs[i].state == RUNNING)
            set_nonblock(jobs[i].out[0]);
    }
    rc = serve(CPU_COUNT(&set) * 10000); /* @sched_cpucount/__sched_cpucount any */
    if (rc < 0)
        perror("poll");
    reap_rest();
    if (getenv("JOBRUN_HOOK") && !run_hook(getenv("JOBRUN_HOOK"))) /* @getenv any */
        rc = 1;
    return report(argv[2]) | (rc != 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A service supervisor: starts the programs of a table, restarts them with a delay, rotates their output. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAXSVC 64

struct service {
    char *name;
    char *argv[16];
    char *user;
    char *dir;
    pid_t pid;
    int out;
    int rc;
    int starts;
    time_t next;
};

static struct service svc[MAXSVC];
static int nsvc;
static int sigfd;
static FILE *audit;
static bool debug;

static int eprintf(const char *fmt, ...)
{
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vfprintf(stderr, fmt, ap); /* @vfprintf any */
    va_end(ap);
    return n;
}

static int audit_line(const char *fmt, ...)
{
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vfprintf(audit, fmt, ap); /* @vfprintf all */
    va_end(ap);
    if (n < 0 || fflush(audit) != 0) { /* @fflush all */
        eprintf("minder: audit trail is incomplete\n");
        return -1;
    }
    return 0;
}

static char *copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = malloc(n); /* @malloc none dereferenced/used */
    memcpy(p, s, n);
    return p;
}

static bool parse_line(char *line, struct service *s)
{
    char *save, *w;
    int i = 0;
    memset(s, 0, sizeof *s);
    w = strtok_r(line, " \t\n", &save); /* @strtok_r any */
    if (!w || *w == '#')
        return false;
    s->name = copy(w);
    while ((w = strtok_r(NULL, " \t\n", &save)) != NULL && i < 15) { /* @strtok_r any */
        if (!strncmp(w, "user=", 5))
            s->user = copy(w + 5);
        else if (!strncmp(w, "dir=", 4))
            s->dir = strdup(w + 4); /* @strdup any */
        else
            s->argv[i++] = copy(w);
    }
    return i > 0;
}

static int load(const char *path)
{
    char line[2048];
    FILE *f = fopen(path, "re"); /* @fopen all */
    int err = 0;
    if (f == NULL)
        return -1;
    while (nsvc < MAXSVC && fgets(line, sizeof line, f) != NULL) /* @fgets all */
        if (parse_line(line, &svc[nsvc]))
            nsvc++;
    err |= ferror(f); /* @ferror any */
    err |= fclose(f); /* @fclose all */
    return err ? -1 : nsvc;
}

static int become(const char *user)
{
    struct passwd pw, *res = NULL;
    char buf[4096];
    int rc = getpwnam_r(user, &pw, buf, sizeof buf, &res); /* @getpwnam_r all */
    if (rc != 0 || !res)
        return -1;
    if (initgroups(user, pw.pw_gid) < 0) /* @initgroups all */
        return -1;
    if (setresgid(pw.pw_gid, pw.pw_gid, pw.pw_gid) || setresuid(pw.pw_uid, pw.pw_uid, pw.pw_uid)) /* @setresgid all; @setresuid all */
        return -1;
    setenv("HOME", pw.pw_dir, 1); /* @setenv none ignored */
    return 0;
}

static void child(struct service *s, int out)
{
    sigset_t none;
    int null;
    sigemptyset(&none); /* @sigemptyset any */
    sigprocmask(SIG_SETMASK, &none, NULL); /* @sigprocmask any */
    setsid(); /* @setsid none ignored */
    null = open("/dev/null", O_RDONLY); /* @open none used */
    dup2(null, 0); /* @dup2 none ignored */
    if (dup2(out, 1) < 0 || dup2(out, 2) < 0) /* @dup2 all */
        _exit(111);
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* @prctl any */
    if (s->dir && chdir(s->dir) == -1) { /* @chdir all */
        eprintf("minder: %s: %s\n", s->dir, strerror(errno));
        _exit(111);
    }
    if (s->user && become(s->user)) {
        eprintf("minder: cannot become %s\n", s->user);
        _exit(111);
    }
    nice(5); /* @nice none ignored */
    execvp(s->argv[0], s->argv); /* @execvp any */
    _exit(errno == ENOENT ? 127 : 126);
}

static int open_output(const char *name)
{
    char path[512];
    int len = snprintf(path, sizeof path, "/var/log/minder/%s.log", name); /* @snprintf all */
    if (len < 0 || len >= (int)sizeof path)
        return -1;
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640); /* @open all */
}

static void start(struct service *s)
{
    if (s->out <= 0)
        s->out = open_output(s->name);
    if (s->out < 0) {
        s->rc = errno;
        return;
    }
    s->pid = fork(); /* @fork all */
    if (!s->pid)
        child(s, s->out);
    if (s->pid > 0) {
        s->starts++;
        setpgid(s->pid, s->pid); /* @setpgid none ignored */
        audit_line("start %s %d\n", s->name, (int)s->pid);
    } else {
        s->rc = errno;
    }
}

static void run_hook(const char *hook, struct service *s)
{
    char cmd[512];
    int st;
    FILE *p;
    char reply[128];
    snprintf(cmd, sizeof cmd, "%s %s", hook, s->name); /* @snprintf any */
    p = popen(cmd, "r"); /* @popen all */
    if (!p)
        return;
    if (fgets(reply, sizeof reply, p)) /* @fgets all */
        eprintf("hook says: %s", reply);
    st = pclose(p); /* @pclose none used */
    if (debug)
        eprintf("hook ended with %x\n", st);
    system("sync"); /* @system none ignored */
}

static struct service *by_pid(pid_t pid)
{
    for (int i = 0; i < nsvc; i++)
        if (svc[i].pid == pid)
            return &svc[i];
    return NULL;
}

static void reap(const char *hook)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) { /* @waitpid all */
        struct service *s = by_pid(pid);
        if (!s)
            continue;
        audit_line("end %s %#x\n", s->name, status);
        s->pid = 0;
        s->next = time(NULL) + (s->starts > 5 ? 60 : 1); /* @time any */
        if (hook)
            run_hook(hook, s);
    }
}

static void stop_all(void)
{
    int i, left = 0;
    for (i = 0; i < nsvc; i++) {
        if (svc[i].pid <= 0)
            continue;
        kill(-svc[i].pid, SIGTERM); /* @kill none ignored */
        left++;
    }
    while (left-- > 0) {
        if (wait(NULL) < 0) { /* @wait some missing=EINTR */
            if (errno == ECHILD)
                break;
        }
    }
    for (i = 0; i < nsvc; i++)
        if (svc[i].pid > 0 && kill(svc[i].pid, 0) == 0) /* @kill all */
            eprintf("minder: %s does not stop\n", svc[i].name);
}

static int setup_signals(void)
{
    sigset_t set;
    sigemptyset(&set); /* @sigemptyset any */
    sigaddset(&set, SIGCHLD); /* @sigaddset any */
    sigaddset(&set, SIGTERM); /* @sigaddset any */
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) /* @sigprocmask any */
        return -1;
    return sigfd = signalfd(-1, &set, SFD_CLOEXEC); /* @signalfd all */
}

static void rotate(struct service *s)
{
    char old[512], new[520];
    struct stat st;
    if (fstat(s->out, &st) < 0 || st.st_size < 10 * 1024 * 1024) /* @fstat all */
        return;
    snprintf(old, sizeof old, "/var/log/minder/%s.log", s->name); /* @snprintf any */
    snprintf(new, sizeof new, "%s.1", old); /* @snprintf any */
    rename(old, new); /* @rename none ignored */
    close(s->out); /* @close none ignored */
    s->out = 0;
}

static int loop(const char *hook)
{
    struct signalfd_siginfo si;
    int i;
    for (;;) {
        ssize_t n;
        for (i = 0; i < nsvc; i++) {
            struct service *s = &svc[i];
            if (s->pid == 0 && s->next <= time(NULL)) /* @time any */
                start(s);
            if (s->pid < 0 || s->rc) {
                eprintf("minder: %s: %s\n", s->name, strerror(s->rc));
                s->pid = 0;
                s->rc = 0;
                s->next = time(NULL) + 10; /* @time any */
            }
            if (s->out > 0)
                rotate(s);
        }
        n = read(sigfd, &si, sizeof si); /* @read all */
        if (n != sizeof si)
            return -1;
        if (si.ssi_signo == SIGTERM)
            return 0;
        reap(hook);
    }
}

int main(int argc, char **argv)
{
    cpu_set_t cpus;
    struct stat st;
    if (argc < 2)
        return 2;
    debug = argc > 3;
    if (load(argv[1]) <= 0) {
        eprintf("minder: nothing to do in %s\n", argv[1]);
        return 1;
    }
    if (stat("/var/log/minder", &st) < 0 && mkdir("/var/log/minder", 0755) < 0) { /* @stat all; @mkdir all */
        perror("/var/log/minder");
        return 1;
    }
    audit = fopen("/var/log/minder/audit", "ae"); /* @fopen all */
    if (!audit)
        audit = stderr;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus); /* @sched_setaffinity none ignored */
    if (setup_signals() < 0)
        return 1;
    if (loop(argc > 2 ? argv[2] : NULL) < 0)
        eprintf("minder: signalfd failed\n");
    stop_all();
    fclose(audit); /* @fclose none ignored */
    return 0;
}

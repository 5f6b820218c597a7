/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a service with less: users, groups, limits, roots, descriptors, files of their own, a watch over it. */
/* flags: -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 -fcf-protection=full */
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct guard {
    uid_t uid;
    gid_t gid;
    const char *root, *user;
    int sig, watch, timer;
    pid_t child;
    char *log;
    size_t loglen;
};

enum step { S_GROUPS = 1, S_ROOT, S_IDS, S_LIMITS };

static int failed_at;

static int find_user(struct guard *g, const char *name)
{
    struct passwd pw, *found = NULL;
    char buf[1024];
    int e = getpwnam_r(name, &pw, buf, sizeof buf, &found); /* @getpwnam_r all */

    if (e != 0)
        return e;
    if (!found)
        return ENOENT;
    g->uid = pw.pw_uid;
    g->gid = pw.pw_gid;
    return 0;
}

static gid_t group_of(const char *name)
{
    struct group *gr;

    setgrent();
    do {
        gr = getgrent(); /* @getgrent all */
        if (!gr)
            break;
    } while (strcmp(gr->gr_name, name));
    endgrent();
    return gr ? gr->gr_gid : (gid_t)-1;
}

static bool drop(struct guard *g)
{
    int step = S_GROUPS;

    if (initgroups(g->user, g->gid) < 0) /* @initgroups all */
        goto fail;
    step = S_ROOT;
    if (chroot(g->root) || chdir("/")) /* @chroot all; @chdir all */
        goto fail;
    step = S_IDS;
    if (setresgid(g->gid, g->gid, g->gid) == -1) /* @setresgid all */
        goto fail;
    if (setresuid(g->uid, g->uid, g->uid) == -1) /* @setresuid all */
        goto fail;
    return true;
fail:
    failed_at = step;
    return false;
}

/* What not to do. */
static void drop_badly(struct guard *g)
{
    setgid(g->gid); /* @setgid none ignored */
    setuid(g->uid); /* @setuid none ignored */
    chroot("/var/empty"); /* @chroot none ignored */
}

static void limits(void)
{
    static const struct {
        int what;
        rlim_t n;
    } table[] = { { RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, 64 }, { RLIMIT_NPROC, 8 } };

    for (unsigned i = 0; i < 3; i++) {
        struct rlimit r = { table[i].n, table[i].n };

        if (setrlimit(table[i].what, &r) == 0) /* @setrlimit all */
            continue;
        failed_at = S_LIMITS;
        break;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) /* @prctl all */
        warn("prctl");
    prctl(PR_SET_NAME, "guarded", 0, 0, 0); /* @prctl none ignored */
}

/* Niceness may be -1: errno tells. */
static int nicer(void)
{
    int n;

    errno = 0;
    n = getpriority(PRIO_PROCESS, 0); /* @getpriority all */
    if (n == -1 && errno != 0)
        return 0;
    errno = 0;
    if (nice(5) == -1 && errno) /* @nice all */
        warn("nice");
    return n;
}

static int descriptors(struct guard *g)
{
    sigset_t set;
    struct itimerspec every = { { 1, 0 }, { 1, 0 } };

    sigfillset(&set); /* @sigfillset any */
    if (sigprocmask(SIG_SETMASK, &set, NULL)) /* @sigprocmask all */
        return -1;
    g->sig = signalfd(-1, &set, SFD_CLOEXEC); /* @signalfd all */
    g->watch = inotify_init1(IN_CLOEXEC); /* @inotify_init1 all */
    g->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); /* @timerfd_create all */
    if (g->sig < 0 || g->watch < 0 || g->timer < 0)
        return -1;
    if (inotify_add_watch(g->watch, "/etc", IN_MODIFY) < 0) /* @inotify_add_watch all */
        return -1;
    timerfd_settime(g->timer, 0, &every, NULL); /* @timerfd_settime none ignored */
    return 0;
}

static unsigned drain(int fd)
{
    struct signalfd_siginfo info;
    unsigned n = 0;

    while (read(fd, &info, sizeof info) == (ssize_t)sizeof info) /* @read all */
        n += info.ssi_signo == SIGCHLD;
    return n;
}

static unsigned long long ticks(int fd)
{
    unsigned long long n;

    if (read(fd, &n, sizeof n) < 0 && errno != EAGAIN) /* @read all */
        return 0;
    return n;
}

static unsigned long long ticks_blind(int fd)
{
    unsigned long long n;
    int unused = read(fd, &n, sizeof n); /* @read none ignored */

    (void)unused;
    return n;
}

static int run(struct guard *g, char **argv)
{
    int gate[2], e = 0;
    ssize_t n;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, gate) != 0) /* @socketpair all */
        return -1;
    g->child = vfork(); /* @vfork all */
    if (g->child == 0) {
        execv(argv[0], argv); /* @execv any */
        _exit(127);
    }
    close(gate[1]); /* @close none ignored */
    if (g->child < 0)
        return -1;
    n = recv(gate[0], &e, sizeof e, 0); /* @recv all */
    if (n == sizeof e)
        errno = e;
    close(gate[0]); /* @close none ignored */
    return n == sizeof e ? -1 : 0;
}

static int reaped(struct guard *g)
{
    siginfo_t info = { 0 };

    if (waitid(P_PID, (id_t)g->child, &info, WEXITED | WNOHANG)) /* @waitid all */
        return -errno;
    return info.si_pid;
}

/* 0 means "still there", everything else counts as gone. */
static bool gone(struct guard *g)
{
    int st;

    return waitpid(g->child, &st, WNOHANG) != 0; /* @waitpid none used/ignored */
}

static bool gone_right(struct guard *g)
{
    int st;
    pid_t p = waitpid(g->child, &st, WNOHANG); /* @waitpid all */

    if (p == -1)
        err(1, "waitpid");
    return p == g->child;
}

static void stop(struct guard *g)
{
    if (kill(g->child, SIGTERM) == -1 && errno == ESRCH) /* @kill some missing=EPERM */
        return;
    usleep(1000); /* @usleep none ignored */
    kill(g->child, SIGKILL); /* @kill none ignored */
}

static int copy_file(const char *from, const char *to)
{
    int in = -1, out = -1, rc = -1;
    struct stat st;
    off_t at = 0;

    in = open(from, O_RDONLY); /* @open all */
    if (in == -1)
        goto out;
    if (fstat(in, &st) < 0 || !S_ISREG(st.st_mode)) /* @fstat all */
        goto out;
    out = openat(AT_FDCWD, to, O_WRONLY | O_CREAT | O_EXCL, st.st_mode & 0777); /* @openat all */
    if (out == -1)
        goto out;
    posix_fallocate(out, 0, st.st_size); /* @posix_fallocate none ignored */
    while (at < st.st_size)
        if (sendfile(out, in, &at, (size_t)(st.st_size - at)) <= 0) /* @sendfile all */
            goto out;
    if (fchown(out, st.st_uid, st.st_gid) && errno != EPERM) /* @fchown all */
        goto out;
    rc = 0;
out:
    if (in != -1)
        close(in); /* @close none ignored */
    if (out != -1 && close(out) != 0) /* @close all */
        rc = -1;
    return rc;
}

static int reserve(int fd, off_t n)
{
    return posix_fallocate(fd, 0, n) == -1 ? -1 : 0; /* @posix_fallocate none used/ignored */
}

static void close_from(int first)
{
    DIR *d = opendir("/proc/self/fd"); /* @opendir all */
    struct dirent *e;

    if (!d)
        return;
    while ((e = readdir(d)) != NULL) { /* @readdir all */
        int fd = atoi(e->d_name); /* @atoi/strtol any */

        if (fd >= first && fd != dirfd(d)) /* @dirfd any */
            close(fd); /* @close none ignored */
    }
    closedir(d); /* @closedir none ignored */
}

static int memory_log(struct guard *g)
{
    FILE *f = open_memstream(&g->log, &g->loglen); /* @open_memstream none dereferenced/used */

    fprintf(f, "root %s user %s\n", g->root, g->user); /* @fprintf none ignored */
    return fclose(f); /* @fclose all */
}

static bool own(const char *path)
{
    struct statfs fs;
    char real[PATH_MAX];

    if (realpath(path, real) != real) /* @realpath all */
        return false;
    return statfs(real, &fs) == 0 && fs.f_bavail; /* @statfs all */
}

static const char *who(void)
{
    char *name = getlogin(); /* @getlogin all */

    return name && *name ? name : "nobody";
}

static void banner(void)
{
    char host[64];

    if (gethostname(host, sizeof host)) /* @gethostname all */
        strcpy(host, "localhost");
    host[63] = 0;
    printf("%s@%s\n", who(), host); /* @printf none ignored */
}

static int cell(void)
{
    if (unshare(CLONE_NEWNS) < 0) { /* @unshare all */
        if (errno == EPERM)
            return 0;
        return -1;
    }
    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL); /* @mount none ignored */
    return umount2("/mnt", MNT_DETACH) == 0 || errno == EINVAL ? 0 : -1; /* @umount2 all */
}

int main(int argc, char **argv)
{
    struct guard g = { .root = "/srv", .user = "nobody" };
    struct pollfd fds[3];
    unsigned long long n = 0;

    if (argc < 3)
        errx(2, "guard ROOT PROGRAM...");
    g.root = argv[1];
    if ((errno = find_user(&g, g.user)) != 0)
        err(1, "%s", g.user);
    if (group_of("daemon") == (gid_t)-1)
        errx(1, "no group");
    banner();
    close_from(3);
    if (cell() < 0 || descriptors(&g) != 0)
        err(1, "descriptors");
    limits();
    if (failed_at == S_LIMITS)
        errx(1, "limits");
    if (!own(g.root) || copy_file("/etc/hosts", "/srv/hosts") < 0)
        err(1, "files");
    if (reserve(g.timer, nicer() + 4096) < 0 || memory_log(&g) != 0)
        return 1;
    if (argc > 8)
        drop_badly(&g);
    else if (!drop(&g))
        err(1, "step %d", failed_at);
    if (run(&g, argv + 2) < 0)
        err(1, "%s", argv[2]);
    fds[0] = (struct pollfd) { .fd = g.sig, .events = POLLIN };
    fds[1] = (struct pollfd) { .fd = g.timer, .events = POLLIN };
    fds[2] = (struct pollfd) { .fd = g.watch, .events = POLLIN };
    while (ppoll(fds, 3, NULL, NULL) != -1 || errno == EINTR) { /* @ppoll all */
        if (drain(g.sig) && (gone(&g) || gone_right(&g)))
            break;
        n += ticks(g.timer) + ticks_blind(g.watch);
        if (reaped(&g) < 0)
            break;
    }
    stop(&g);
    return n > 1000;
}

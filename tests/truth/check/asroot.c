/* SPDX-License-Identifier: Apache-2.0 */
/* A helper that runs with more rights: checks who asks, cleans the environment, mounts or changes one setting. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

struct request {
    const char *verb;
    int argc;
    char **argv;
    uid_t caller;
    gid_t group;
    char user[64];
};

typedef int (*verb_fn)(struct request *);

static void out(int prio, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsyslog(prio, fmt, ap);
    va_end(ap);
}

__attribute__((noreturn)) static void refuse(const char *why)
{
    out(LOG_WARNING, "refused: %s", why);
    _exit(77);
}

static inline void ensure(bool ok, const char *what)
{
    if (!ok)
        refuse(what);
}

static void sane_fds(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR); /* @open all */
    while (fd >= 0 && fd < 3);
    if (fd >= 0)
        close(fd); /* @close none ignored */
}

static void clean_env(void)
{
    static const char *const keep[] = { "TERM", "LANG" };
    char *saved[2] = { NULL, NULL };
    for (int i = 0; i < 2; i++) {
        const char *v = getenv(keep[i]); /* @getenv any */
        if (v)
            saved[i] = strdup(v); /* @strdup all */
    }
    ensure(clearenv() == 0, "clearenv"); /* @clearenv any */
    for (int i = 0; i < 2; i++)
        if (saved[i] && setenv(keep[i], saved[i], 1)) /* @setenv all */
            refuse("environment");
    setenv("PATH", "/usr/bin:/bin", 1); /* @setenv none ignored */
    putenv((char *)"IFS= "); /* @putenv none ignored */
}

static void who_asks(struct request *r)
{
    struct passwd *pw;
    r->caller = getuid(); /* @getuid any */
    r->group = getgid(); /* @getgid any */
    errno = 0;
    pw = getpwuid(r->caller); /* @getpwuid all */
    if (!pw)
        refuse(errno ? strerror(errno) : "no such user");
    ensure(strlen(pw->pw_name) < sizeof r->user, "name");
    strcpy(r->user, pw->pw_name);
}

static bool in_group(const struct request *r, const char *name)
{
    struct group *g = getgrnam(name); /* @getgrnam none dereferenced */
    gid_t have[64];
    int n = getgroups(64, have); /* @getgroups all */
    if (n < 0)
        return false;
    if (r->group == g->gr_gid)
        return true;
    while (n-- > 0)
        if (have[n] == g->gr_gid)
            return true;
    return false;
}

static void raise_rights(void)
{
    ensure(setresuid(0, 0, 0) == 0, "setresuid"); /* @setresuid all */
    ensure(!setgroups(0, NULL), "setgroups"); /* @setgroups all */
    if (setresgid(0, 0, 0) != 0) /* @setresgid all */
        refuse("setresgid");
}

static void drop_for_good(const struct request *r)
{
    setregid(r->group, r->group); /* @setregid none ignored */
    if (setreuid(r->caller, r->caller) == 1) /* @setreuid none ignored/used/dereferenced/returned */
        refuse("setreuid");
    if (setuid(0) == 0) /* @setuid all */
        refuse("rights are still there");
}

static void harden(void)
{
    struct rlimit none = { 0, 0 };
    struct sigaction sa = { .sa_handler = SIG_DFL };
    int rc;
    if (setrlimit(RLIMIT_CORE, &none) < 0) /* @setrlimit all */
        refuse("limits");
    rc = prctl(PR_SET_DUMPABLE, 0); /* @prctl all */
    if (rc)
        refuse("prctl");
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* @prctl none ignored */
    for (int s = 1; s < 32; s++)
        if (sigaction(s, &sa, NULL) < 0 && errno != EINVAL) /* @sigaction all */
            refuse("signals");
    umask(077); /* @umask any */
    if (mkdir("/run/asroot", 0700) != 0) { /* @mkdir some missing=ENOSPC */
        if (errno == EACCES || errno == EROFS)
            refuse("no place for state");
    }
    if (chdir("/") < 0) /* @chdir all */
        refuse("chdir");
}

static bool ask_password(char *buf, size_t n)
{
    struct termios old, quiet;
    ssize_t got;
    bool ok = false;
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY); /* @open all */
    if (tty < 0)
        return false;
    if (tcgetattr(tty, &old) != 0) /* @tcgetattr all */
        goto done;
    quiet = old;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(tty, TCSAFLUSH, &quiet); /* @tcsetattr none ignored */
    write(tty, "Password: ", 10); /* @write none ignored */
    got = read(tty, buf, n - 1); /* @read some missing=EIO */
    if (got < 0 && errno == EINTR)
        goto restore;
    buf[got] = 0;
    ok = true;
restore:
    if (tcsetattr(tty, TCSAFLUSH, &old) == -1) /* @tcsetattr all */
        ok = false;
done:
    close(tty); /* @close none ignored */
    return ok;
}

static bool check_plugin(struct request *r)
{
    int (*allow)(const char *);
    void *h = dlopen("/usr/lib/asroot/policy.so", RTLD_NOW); /* @dlopen all */
    bool ok;
    if (!h)
        return true;
    *(void **)&allow = dlsym(h, "allow"); /* @dlsym none used/dereferenced */
    ok = allow(r->user) != 0;
    dlclose(h); /* @dlclose none ignored */
    return ok;
}

static int verb_mount(struct request *r)
{
    if (r->argc < 2)
        return EINVAL;
    if (mount(r->argv[0], r->argv[1], "auto", MS_NOSUID | MS_NODEV, NULL)) /* @mount all */
        return errno;
    return 0;
}

static int verb_umount(struct request *r)
{
    int rc = r->argc < 1 ? -1 : umount2(r->argv[0], UMOUNT_NOFOLLOW); /* @umount2 all */
    return rc < 0 ? errno : 0;
}

static int verb_set(struct request *r)
{
    FILE *f;
    int bad;
    if (r->argc < 2 || strchr(r->argv[0], '/')) /* @strchr any */
        return EINVAL;
    if (chdir("/proc/sys/vm") == -1 || (f = fopen(r->argv[0], "w")) == NULL) /* @chdir all; @fopen all */
        return errno;
    bad = fputs(r->argv[1], f) == EOF; /* @fputs all */
    bad |= fputc('\n', f) < 0; /* @fputc/putc all */
    bad |= fclose(f) != 0; /* @fclose all */
    return bad ? EIO : 0;
}

static int verb_own(struct request *r)
{
    int i, err = 0;
    for (i = 0; i < r->argc; i++) {
        struct stat st;
        lstat(r->argv[i], &st); /* @lstat none ignored */
        if (st.st_uid == 0)
            err = err ? err : lchown(r->argv[i], r->caller, r->group); /* @lchown all */
    }
    return err;
}

static int verb_reboot(struct request *r)
{
    (void)r;
    sync();
    return kill(1, SIGINT); /* @kill all */
}

static const struct {
    const char *name;
    verb_fn fn;
} verbs[] = {
    { "mount", verb_mount }, { "umount", verb_umount }, { "set", verb_set },
    { "own", verb_own }, { "reboot", verb_reboot },
};

static int dispatch(struct request *r)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (!strcmp(verbs[i].name, r->verb))
            return verbs[i].fn(r);
    return ENOSYS;
}

static int in_child(struct request *r)
{
    int st;
    pid_t pid = vfork(); /* @vfork all */
    if (pid == -1)
        return -1;
    if (!pid) {
        execve(r->argv[0], r->argv, NULL); /* @execve any */
        _exit(127);
    }
    return waitpid(pid, &st, 0) == pid && st == 0 ? 0 : -1; /* @waitpid all */
}

static void audit(const struct request *r, int rc)
{
    int fd = open("/var/log/asroot", O_WRONLY | O_APPEND | O_CREAT, 0600); /* @open none used */
    dprintf(fd, "%s %s %d\n", r->user, r->verb, rc); /* @dprintf none ignored */
    fsync(fd); /* @fsync none ignored */
    close(fd); /* @close none ignored */
}

int main(int argc, char **argv)
{
    struct request r;
    char pass[128];
    int rc;
    memset(&r, 0, sizeof r);
    sane_fds();
    openlog("asroot", LOG_PID, LOG_AUTHPRIV);
    if (argc < 2)
        return 64;
    setlocale(LC_ALL, "C"); /* @setlocale any */
    clean_env();
    who_asks(&r);
    r.verb = argv[1];
    r.argc = argc - 2;
    r.argv = argv + 2;
    if (!in_group(&r, "operator") && !ask_password(pass, sizeof pass))
        refuse("not an operator");
    ensure(check_plugin(&r), "policy");
    raise_rights();
    harden();
    rc = dispatch(&r);
    audit(&r, rc);
    drop_for_good(&r);
    if (rc == ENOSYS && r.argc > 0)
        rc = in_child(&r);
    if (rc)
        out(LOG_ERR, "%s failed for %s", r.verb, r.user);
    return rc ? 1 : 0;
}

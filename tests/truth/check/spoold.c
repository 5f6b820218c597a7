/* SPDX-License-Identifier: Apache-2.0 */
/* A mail spooler: takes a message from standard input, puts it into a queue directory, and delivers the queue. */
#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *queue_dir = "/var/spool/spoold";
static jmp_buf give_up;
static int debug;

static void note(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap); /* @vfprintf any */
    va_end(ap);
}

static void fail(const char *what)
{
    note("%s: %s\n", what, strerror(errno));
    longjmp(give_up, 1);
}

static void *xmalloc(size_t n)
{
    void *p = malloc(n); /* @malloc all */
    if (!p)
        fail("malloc");
    return p;
}

static char *xstrdup(const char *s)
{
    char *p = strdup(s); /* @strdup all */
    return p ? p : (fail("strdup"), (char *)NULL);
}

static ssize_t safe_read(int fd, void *buf, size_t n)
{
    ssize_t r;
    do
        r = read(fd, buf, n); /* @read all */
    while (r == -1 && errno == EINTR);
    return r;
}

static int safe_write(int fd, const void *buf, size_t n)
{
    const char *p = buf;
    while (n > 0) {
        ssize_t w = write(fd, p, n); /* @write all */
        if (w <= 0) {
            if (w < 0 && errno == EINTR)
                continue;
            return 0;
        }
        p += w;
        n -= (size_t)w;
    }
    return 1;
}

struct msg {
    char *id;
    char *to;
    int fd;
    int lock_rc;
    off_t size;
    time_t due;
};

static int lock_queue(void)
{
    int fd = open("lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* @open all */
    if (fd < 0)
        fail("lock");
    if (flock(fd, LOCK_EX | LOCK_NB) == -1) { /* @flock all */
        if (errno == EWOULDBLOCK)
            note("another spoold is running\n");
        close(fd); /* @close none ignored */
        return -1;
    }
    return fd;
}

static char *new_name(void)
{
    char *s = NULL;
    if (asprintf(&s, "%lx.%d", (long)time(NULL), (int)getpid()) < 0) /* @asprintf all; @time any */
        fail("asprintf");
    return s;
}

static int enqueue(const char *to)
{
    char tmpl[] = "tmp.XXXXXX";
    char buf[8192];
    char *name = NULL;
    ssize_t n;
    int rc = -1;
    int fd = mkstemp(tmpl); /* @mkstemp all */

    if (fd == -1) {
        perror("mkstemp");
        return -1;
    }
    fchmod(fd, 0640); /* @fchmod none ignored */
    if (!safe_write(fd, to, strlen(to)) || !safe_write(fd, "\n", 1))
        goto out;
    while ((n = safe_read(0, buf, sizeof buf)) > 0)
        if (!safe_write(fd, buf, (size_t)n))
            goto out;
    if (n < 0)
        goto out;
    if (fsync(fd) != 0) /* @fsync all */
        goto out;
    name = new_name();
    if (link(tmpl, name) < 0) /* @link all */
        goto out;
    rc = 0;
out:
    unlink(tmpl); /* @unlink none ignored */
    if (close(fd) < 0) /* @close all */
        rc = -1;
    free(name);
    return rc;
}

static int read_header(struct msg *m)
{
    char line[1024], *nl;
    int ok = 0;
    FILE *f;
    int copy = dup(m->fd); /* @dup any */
    f = fdopen(copy, "r"); /* @fdopen all */
    if (!f)
        return 0;
    if (fgets(line, sizeof line, f)) { /* @fgets all */
        nl = strchr(line, '\n'); /* @strchr/strchrnul/memchr any */
        if (nl)
            *nl = 0;
        m->to = xstrdup(line);
        ok = 1;
    }
    fclose(f); /* @fclose none ignored */
    return ok;
}

static void open_msg(struct msg *m)
{
    struct stat st;
    m->fd = open(m->id, O_RDONLY | O_CLOEXEC); /* @open all */
    if (m->fd != -1) {
        m->lock_rc = flock(m->fd, LOCK_EX | LOCK_NB); /* @flock all */
        if (fstat(m->fd, &st) < 0) /* @fstat all */
            fail(m->id);
        m->size = st.st_size;
        m->due = st.st_mtime;
    }
}

static void drop_rights(const char *user)
{
    struct passwd *pw = getpwnam(user); /* @getpwnam none dereferenced */
    setgroups(0, NULL); /* @setgroups none ignored */
    if (setgid(pw->pw_gid) != 0) /* @setgid all */
        _exit(75);
    setuid(pw->pw_uid); /* @setuid none ignored */
}

static int run_agent(struct msg *m, const char *agent)
{
    int p[2], status;
    char buf[4096];
    ssize_t n;
    pid_t pid;

    if (pipe(p) < 0) /* @pipe all */
        fail("pipe");
    pid = fork(); /* @fork all */
    switch (pid) {
    case -1:
        fail("fork");
        break;
    case 0:
        dup2(p[0], 0); /* @dup2 none ignored */
        close(p[1]); /* @close? none ignored */
        drop_rights("mail");
        execlp(agent, agent, m->to, (char *)NULL); /* @execlp any */
        _exit(127);
    default:
        break;
    }
    close(p[0]); /* @close? none ignored */
    lseek(m->fd, (off_t)strlen(m->to) + 1, SEEK_SET); /* @lseek/lseek64 none ignored */
    while ((n = safe_read(m->fd, buf, sizeof buf)) > 0)
        if (!safe_write(p[1], buf, (size_t)n))
            break;
    close(p[1]); /* @close? none ignored */
    while (waitpid(pid, &status, 0) < 0) /* @waitpid all */
        if (errno != EINTR)
            fail("waitpid");
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int valid_id(const char *s)
{
    static regex_t re;
    static int ready;
    if (!ready) {
        int e = regcomp(&re, "^[0-9a-f]+\\.[0-9]+$", REG_EXTENDED | REG_NOSUB); /* @regcomp all */
        assert(e == 0);
        ready = 1;
    }
    return regexec(&re, s, 0, NULL, 0) == 0; /* @regexec all */
}

static void log_delivery(const struct msg *m, int ok)
{
    char when[64];
    struct tm *tm = localtime(&m->due); /* @localtime none dereferenced */
    FILE *f = fopen("log", "a"); /* @fopen all */
    strftime(when, sizeof when, "%F %T", tm); /* @strftime any */
    if (f) {
        fprintf(f, "%s %s to=%s size=%lld %s\n", when, m->id, m->to, (long long)m->size, ok ? "sent" : "deferred"); /* @fprintf none ignored */
        fclose(f); /* @fclose none ignored */
    }
}

static int deliver_all(const char *agent)
{
    DIR *d = opendir("."); /* @opendir all */
    struct dirent *e;
    int failed = 0;

    if (!d)
        fail(queue_dir);
    for (;;) {
        struct msg m;
        int ok;
        errno = 0;
        e = readdir(d); /* @readdir/readdir64 all */
        if (!e) {
            if (errno)
                fail("readdir");
            break;
        }
        if (!valid_id(e->d_name))
            continue;
        memset(&m, 0, sizeof m);
        m.id = xstrdup(e->d_name);
        open_msg(&m);
        if (m.fd < 0 || m.lock_rc != 0) {
            note("%s: busy\n", m.id);
            failed++;
            free(m.id);
            continue;
        }
        ok = read_header(&m) && run_agent(&m, agent);
        log_delivery(&m, ok);
        if (ok)
            failed += unlink(m.id) != 0; /* @unlink all */
        else
            failed++;
        close(m.fd); /* @close none ignored */
        free(m.to);
        free(m.id);
    }
    closedir(d); /* @closedir none ignored */
    return failed;
}

static void show_home(void)
{
    char cwd[PATH_MAX];
    int rc;
    getcwd(cwd, sizeof cwd); /* @getcwd none ignored */
    rc = access(cwd, W_OK); /* @access none ignored/used/returned */
    if (debug)
        note("in %s (%d)\n", cwd, rc);
}

int main(int argc, char **argv)
{
    char *to;
    int lock;
    if (setjmp(give_up)) /* @setjmp/_setjmp any */
        return 75;
    debug = getenv("SPOOLD_DEBUG") != NULL; /* @getenv any */
    umask(027); /* @umask any */
    if (mkdir(queue_dir, 0750) == -1 && errno != EEXIST) /* @mkdir all */
        fail(queue_dir);
    if (chdir(queue_dir)) /* @chdir all */
        fail(queue_dir);
    show_home();
    if (argc == 3 && argv[1][0] == '-' && argv[1][1] == 'q') {
        lock = lock_queue();
        if (lock == -1)
            return 75;
        return deliver_all(argv[2]) ? 1 : 0;
    }
    if (argc != 2)
        return 64;
    to = xmalloc(strlen(argv[1]) + 1);
    for (size_t i = 0; i <= strlen(argv[1]); i++)
        to[i] = (char)tolower((unsigned char)argv[1][i]); /* @tolower/ctype_tolower_loc? any */
    if (enqueue(to) < 0) {
        note("message not queued\n");
        return 75;
    }
    free(to);
    return 0;
}

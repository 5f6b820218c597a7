/* SPDX-License-Identifier: Apache-2.0 */
/* A local mail box writer: takes a message, locks the box with a dot file and fcntl, appends, and notifies. */
#define _GNU_SOURCE
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define TEMPFAIL 75

static jmp_buf bounce;
static char *dotlock;

static void cleanup(void)
{
    if (dotlock) /* @unlink? none ignored */
        unlink(dotlock); /* @unlink? none ignored */
}

static void give_up(int code, const char *what)
{
    syslog(LOG_ERR, "%s: %m", what);
    longjmp(bounce, code);
}

#define CHECK(expr, what) \
    do {                  \
        if ((expr) == -1) \
            give_up(TEMPFAIL, what); \
    } while (0)

#define NOTNULL(p, what) ((p) ? (void)0 : give_up(TEMPFAIL, what))

struct box {
    const char *path;
    int fd;
    off_t start;
    struct passwd *owner;
};

static int make_dotlock(const char *path)
{
    int tries, fd;
    char *name = malloc(strlen(path) + 6); /* @malloc all */
    NOTNULL(name, "malloc");
    strcpy(name, path);
    strcat(name, ".lock");
    for (tries = 0; tries < 30; tries++) {
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0444); /* @open all */
        if (fd >= 0) {
            dotlock = name;
            return close(fd); /* @close all */
        }
        switch (errno) {
        case EEXIST:
            sleep(1); /* @sleep any */
            continue;
        case EACCES:
        case EROFS:
            free(name);
            return 0;
        default:
            free(name);
            return -1;
        }
    }
    free(name);
    return -1;
}

static void lock_box(struct box *b)
{
    struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    alarm(60); /* @alarm any */
    while (fcntl(b->fd, F_SETLKW, &fl) == -1) /* @fcntl/fcntl64 some missing=EDEADLK */
        if (errno == ENOLCK)
            give_up(TEMPFAIL, "no locks");
        else if (errno == EINTR)
            continue;
        else
            break;
    alarm(0); /* @alarm any */
}

static void open_box(struct box *b)
{
    struct stat st;
    b->fd = open(b->path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600); /* @open all */
    CHECK(b->fd, b->path);
    CHECK(fstat(b->fd, &st), "fstat"); /* @fstat all */
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
        give_up(73, "not a plain file");
    if (st.st_uid != b->owner->pw_uid && fchown(b->fd, b->owner->pw_uid, (gid_t)-1)) /* @fchown all */
        give_up(77, "owner");
}

static int put(struct box *b, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t w = write(b->fd, text, n); /* @write all */
        if (w < 0)
            return -errno;
        text += w;
        n -= (size_t)w;
    }
    return 0;
}

static void rollback(struct box *b)
{
    if (ftruncate(b->fd, b->start)) /* @ftruncate/ftruncate64 all */
        syslog(LOG_ALERT, "%s: damaged", b->path);
    close(b->fd); /* @close none ignored */
}

static void append(struct box *b, const char *from, FILE *msg)
{
    char *line = NULL, *head = NULL;
    size_t cap = 0;
    ssize_t n;
    time_t now = time(NULL); /* @time any */
    char when[32];

    b->start = lseek(b->fd, 0, SEEK_END); /* @lseek/lseek64 all */
    if (b->start == (off_t)-1)
        give_up(TEMPFAIL, "lseek");
    ctime_r(&now, when); /* @ctime_r none ignored */
    if (asprintf(&head, "From %s %s", from, when) == -1) /* @asprintf all */
        give_up(TEMPFAIL, "asprintf");
    if (put(b, head, strlen(head)) < 0)
        goto bad;
    while ((n = getline(&line, &cap, msg)) != -1) { /* @getline/getdelim/__getdelim? all */
        if (!strncmp(line, "From ", 5) && put(b, ">", 1))
            goto bad;
        if (put(b, line, (size_t)n))
            goto bad;
    }
    if (ferror(msg) || put(b, "\n", 1) != 0) /* @ferror any */
        goto bad;
    if (fsync(b->fd) == -1 || close(b->fd) == -1) /* @fsync all; @close all */
        goto bad;
    free(line);
    free(head);
    return;
bad:
    free(line);
    free(head);
    rollback(b);
    give_up(TEMPFAIL, b->path);
}

static FILE *spool_stdin(void)
{
    FILE *t = tmpfile(); /* @tmpfile/tmpfile64 all */
    int c;
    size_t got;
    char buf[4096];
    if (!t)
        return NULL;
    while ((got = fread(buf, 1, sizeof buf, stdin)) != 0) /* @fread all */
        if (fwrite(buf, 1, got, t) != got) /* @fwrite all */
            goto fail;
    if (ferror(stdin)) /* @ferror any */
        goto fail;
    if (fflush(t) == EOF) /* @fflush all */
        goto fail;
    fseek(t, 0L, SEEK_SET); /* @fseek none ignored */
    c = getc(t); /* @getc/fgetc all */
    if (c != EOF)
        ungetc(c, t); /* @ungetc any */
    return t;
fail:
    fclose(t); /* @fclose none ignored */
    return NULL;
}

static void become(struct passwd *pw)
{
    int rc = 0;
    rc = rc ? rc : initgroups(pw->pw_name, pw->pw_gid); /* @initgroups all */
    rc = rc ? rc : setgid(pw->pw_gid); /* @setgid all */
    rc = rc ? rc : setuid(pw->pw_uid); /* @setuid all */
    if (rc)
        give_up(77, "cannot become user");
    assert(setegid(pw->pw_gid) == 0); /* @setegid all */
    setenv("HOME", pw->pw_dir, 1); /* @setenv none ignored */
}

static void notify(const char *user)
{
    struct sockaddr_un sa;
    size_t len = strlen(user);
    int s = socket(AF_UNIX, SOCK_DGRAM, 0); /* @socket none used */
    memset(&sa, 0, sizeof sa);
    sa.sun_family = AF_UNIX;
    strcpy(sa.sun_path, "/run/biff");
    sendto(s, user, len, MSG_DONTWAIT, (struct sockaddr *)&sa, sizeof sa); /* @sendto none ignored */
    close(s); /* @close none ignored */
}

static void count_message(const char *path)
{
    unsigned long n = 0;
    FILE *f = fopen(path, "r+"); /* @fopen all */
    if (!f)
        return;
    if (fscanf(f, "%lu", &n) < 1) /* @fscanf/__isoc99_fscanf/__isoc23_fscanf all */
        n = 0;
    rewind(f);
    fprintf(f, "%lu\n", n + 1); /* @fprintf none ignored */
    fclose(f); /* @fclose none ignored */
}

static long quota_of(const char *user)
{
    char name[256], line[64], *end;
    long v = 0;
    FILE *f;
    int len = snprintf(name, sizeof name, "/etc/postbox/%s.quota", user); /* @snprintf all */
    if (len < 0 || (size_t)len >= sizeof name)
        return 0;
    if ((f = fopen(name, "r")) == NULL) /* @fopen all */
        return 0;
    if (fgets(line, sizeof line, f) != NULL) { /* @fgets all */
        errno = 0;
        v = strtol(line, &end, 10); /* @strtol/__isoc23_strtol all */
        if (errno || end == line)
            v = 0;
    }
    fclose(f); /* @fclose none ignored */
    return v;
}

int main(int argc, char **argv)
{
    struct box b;
    FILE *msg;
    struct stat st;
    long quota;
    int code;

    if (argc < 4)
        return 64;
    openlog("postbox", LOG_PID, LOG_MAIL);
    atexit(cleanup); /* @atexit? any */
    if ((code = setjmp(bounce)) != 0) /* @setjmp/_setjmp any */
        return code;
    memset(&b, 0, sizeof b);
    b.path = argv[3];
    b.owner = getpwnam(argv[2]); /* @getpwnam all */
    if (!b.owner)
        return 67;
    NOTNULL(msg = spool_stdin(), "spool");
    quota = quota_of(argv[2]);
    if (quota > 0 && stat(b.path, &st) == 0 && st.st_size > quota) /* @stat all */
        return 73;
    become(b.owner);
    CHECK(make_dotlock(b.path), "dot lock");
    open_box(&b);
    lock_box(&b);
    append(&b, argv[1], msg);
    count_message("/var/lib/postbox/count");
    notify(argv[2]);
    return 0;
}

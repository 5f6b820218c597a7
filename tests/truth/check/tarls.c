/* SPDX-License-Identifier: Apache-2.0 */
/* A tar reader: lists or extracts archives, plain or through a decompressor. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type, link[100], rest[255];
};

struct tar {
    FILE *in;
    pid_t filter;
    int dir;
    long long offset;
    unsigned errors;
    bool extract, verbose;
    char *longname;
};

struct sink {
    int fd;
    int err;
    int (*finish)(struct sink *);
};

static void problem(struct tar *t, const char *fmt, ...)
{
    va_list ap;
    t->errors++;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap); /* @vfprintf any */
    va_end(ap);
    fputc('\n', stderr); /* @fputc/putc any */
}

__attribute__((noinline)) static bool octal(const char *s, size_t n, long long *out)
{
    char tmp[16], *end;
    assert(n < sizeof tmp);
    memcpy(tmp, s, n);
    tmp[n] = 0;
    errno = 0;
    *out = strtoll(tmp, &end, 8); /* @strtoll/__isoc23_strtoll all */
    return errno == 0 && end != tmp;
}

static FILE *open_filtered(struct tar *t, const char *path, const char *prog)
{
    int p[2], in;
    if (pipe(p)) /* @pipe all */
        return NULL;
    t->filter = fork(); /* @fork all */
    if (t->filter < 0)
        goto fail;
    if (t->filter == 0) {
        in = open(path, O_RDONLY); /* @open all */
        if (in < 0)
            _exit(1);
        dup2(in, 0); /* @dup2 none ignored */
        dup2(p[1], 1); /* @dup2 none ignored */
        close(p[0]); /* @close? none ignored */
        execlp(prog, prog, "-dc", (char *)NULL); /* @execlp any */
        _exit(127);
    }
    close(p[1]); /* @close? none ignored */
    return fdopen(p[0], "r"); /* @fdopen all */
fail:
    close(p[0]); /* @close? none ignored */
    close(p[1]); /* @close? none ignored */
    return NULL;
}

static bool open_tar(struct tar *t, const char *path)
{
    unsigned char magic[4];
    FILE *f = fopen(path, "rb"); /* @fopen all */
    size_t n;
    if (!f)
        return false;
    n = fread(magic, 1, sizeof magic, f); /* @fread all */
    if (n < sizeof magic) {
        fclose(f); /* @fclose? none ignored */
        return false;
    }
    if (magic[0] == 0x1f && magic[1] == 0x8b) {
        fclose(f); /* @fclose? none ignored */
        return (t->in = open_filtered(t, path, "gzip")) != NULL;
    }
    rewind(f);
    t->in = f;
    return true;
}

static int read_block(struct tar *t, void *buf)
{
    int n = (int)fread(buf, 1, 512, t->in); /* @fread all */
    if (n < 0) {
        problem(t, "tarls: read error");
        return -1;
    }
    t->offset += n;
    return n;
}

static bool skip(struct tar *t, long long n)
{
    n = (n + 511) / 512 * 512;
    if (t->filter == 0) {
        t->offset += n;
        return fseeko(t->in, n, SEEK_CUR) == 0; /* @fseeko/fseeko64 all */
    }
    while (n-- > 0)
        if (getc(t->in) == EOF) /* @getc/fgetc all */
            return false;
    return true;
}

static int finish_file(struct sink *s)
{
    return close(s->fd); /* @close all */
}

static int finish_synced(struct sink *s)
{
    if (fsync(s->fd) < 0) /* @fsync all */
        s->err = errno;
    if (close(s->fd) < 0) /* @close all */
        s->err = errno;
    return s->err;
}

static void write_sink(struct sink *s, const char *p, size_t n)
{
    if (s->err)
        return;
    ssize_t w = write(s->fd, p, n); /* @write all */
    s->err = w < 0 ? errno : (size_t)w < n ? ENOSPC : 0;
}

static void make_parents(struct tar *t, char *name)
{
    for (char *p = strchr(name, '/'); p; p = strchr(p + 1, '/')) { /* @strchr any */
        *p = 0;
        if (*name && mkdirat(t->dir, name, 0777) == -1 && errno != EEXIST) /* @mkdirat all */
            problem(t, "tarls: %s: %s", name, strerror(errno));
        *p = '/';
    }
}

static void set_owner(struct tar *t, const char *name, const struct header *h)
{
    long long uid = 0, gid = 0;
    octal(h->uid, 8, &uid);
    octal(h->gid, 8, &gid);
    if (geteuid() == 0)
        fchownat(t->dir, name, (uid_t)uid, (gid_t)gid, AT_SYMLINK_NOFOLLOW); /* @fchownat none ignored */
}

static void extract_file(struct tar *t, const char *name, const struct header *h, long long size)
{
    struct sink s = { .finish = size > 1 << 20 ? finish_synced : finish_file };
    long long mode = 0644, mtime = 0;
    struct timespec ts[2];
    char block[512];
    octal(h->mode, 8, &mode);
    octal(h->mtime, 12, &mtime);
    s.fd = openat(t->dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, (mode_t)mode & 0777); /* @openat all */
    if (s.fd < 0) {
        problem(t, "tarls: %s: %m", name);
        if (!skip(t, size))
            problem(t, "tarls: %s: cannot go on", name);
        return;
    }
    while (size > 0) {
        if (read_block(t, block) != 512) {
            problem(t, "tarls: %s: archive is cut off", name);
            break;
        }
        write_sink(&s, block, size < 512 ? (size_t)size : 512);
        size -= 512;
    }
    ts[0].tv_sec = ts[1].tv_sec = mtime;
    ts[0].tv_nsec = ts[1].tv_nsec = 0;
    futimens(s.fd, ts); /* @futimens none ignored */
    if (s.finish(&s) != 0 || s.err)
        problem(t, "tarls: %s: not written", name);
    set_owner(t, name, h);
}

static void extract_link(struct tar *t, const char *name, const struct header *h)
{
    int rc;
    if (unlinkat(t->dir, name, 0) < 0) /* @unlinkat some missing=EPERM */
        switch (errno) {
        case EISDIR:
            problem(t, "tarls: %s is a directory", name);
            return;
        case EROFS:
            exit(1);
        }
    if (h->type == '1')
        rc = linkat(t->dir, h->link, t->dir, name, 0); /* @linkat all */
    else
        rc = symlinkat(h->link, t->dir, name); /* @symlinkat all */
    if (rc)
        problem(t, "tarls: %s: link: %m", name);
}

static void extract_special(struct tar *t, const char *name, const struct header *h)
{
    int rc = 0;
    mode_t kind = h->type == '3' ? S_IFCHR : S_IFBLK;
    if (h->type == '6')
        rc |= mkfifoat(t->dir, name, 0600); /* @mkfifoat all */
    else
        rc |= mknodat(t->dir, name, kind | 0600, makedev(1, 3)); /* @mknodat all; @gnu_dev_makedev? any */
    rc |= fchmodat(t->dir, name, 0660, 0); /* @fchmodat all */
    t->errors += rc != 0;
}

static void list(const struct header *h, const char *name, long long size)
{
    char when[32] = "?";
    long long uid = 0, mtime = 0;
    struct passwd *pw;
    struct tm tm;
    time_t m;
    octal(h->uid, 8, &uid);
    octal(h->mtime, 12, &mtime);
    m = (time_t)mtime;
    pw = getpwuid((uid_t)uid); /* @getpwuid all */
    localtime_r(&m, &tm); /* @localtime_r none ignored */
    strftime(when, sizeof when, "%F %R", &tm); /* @strftime any */
    printf("%-8s %10lld %s %s\n", pw ? pw->pw_name : "?", size, when, name); /* @printf none ignored */
}

static int next(struct tar *t)
{
    struct header h;
    char name[256];
    long long size;
    int n = read_block(t, &h);
    if (n == 0 || (n == 512 && h.name[0] == 0))
        return 0;
    if (n != 512 || !octal(h.size, 12, &size)) {
        problem(t, "tarls: bad header at %lld", t->offset);
        return -1;
    }
    if (h.type == 'L') {
        t->longname = realloc(t->longname, (size_t)size + 512); /* @realloc none used/dereferenced */
        fread(t->longname, 1, (size_t)(size + 511) / 512 * 512, t->in); /* @fread none ignored */
        t->longname[size] = 0;
        return 1;
    }
    snprintf(name, sizeof name, "%.100s", h.name); /* @snprintf any */
    if (t->longname) {
        snprintf(name, sizeof name, "%.255s", t->longname); /* @snprintf any */
        free(t->longname);
        t->longname = NULL;
    }
    if (!t->extract || t->verbose)
        list(&h, name, size);
    if (!t->extract)
        return skip(t, size) ? 1 : -1;
    make_parents(t, name);
    if (h.type == '0' || h.type == 0)
        extract_file(t, name, &h, size);
    else if (h.type == '1' || h.type == '2')
        extract_link(t, name, &h);
    else if (h.type == '5')
        mkdirat(t->dir, name, 0777); /* @mkdirat none ignored */
    else
        extract_special(t, name, &h);
    return 1;
}

static int end_filter(struct tar *t)
{
    int st = 0;
    if (t->filter <= 0)
        return 0;
    while (waitpid(t->filter, &st, 0) == -1) /* @waitpid all */
        if (errno != EINTR)
            return -1;
    return WIFEXITED(st) && WEXITSTATUS(st) == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct tar t;
    int c, rc;
    memset(&t, 0, sizeof t);
    t.dir = AT_FDCWD;
    while ((c = getopt(argc, argv, "xvC:")) != -1) /* @getopt any */
        switch (c) {
        case 'x': t.extract = true; break;
        case 'v': t.verbose = true; break;
        case 'C':
            if ((t.dir = open(optarg, O_RDONLY | O_DIRECTORY)) < 0) { /* @open all */
                perror(optarg);
                return 1;
            }
            break;
        default: return 2;
        }
    if (optind >= argc)
        return 2;
    if (!open_tar(&t, argv[optind])) {
        perror(argv[optind]);
        return 1;
    }
    while ((rc = next(&t)) > 0)
        ;
    fclose(t.in); /* @fclose none ignored */
    if (end_filter(&t) < 0)
        rc = -1;
    if (fclose(stdout) != 0) /* @fclose all */
        rc = -1;
    return rc < 0 || t.errors ? 1 : 0;
}

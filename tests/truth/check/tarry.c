/* SPDX-License-Identifier: Apache-2.0 */
/* A tar-like archiver: create, list, extract. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

struct rec {
    char name[256];
    char link[256];
    char user[32];
    uint32_t mode;
    uint32_t kind;
    uint64_t size;
    int64_t mtime;
};

enum { K_FILE = 'f', K_DIR = 'd', K_LINK = 'l' };

struct archive {
    FILE *fp;
    const char *name;
    unsigned warnings;
    int broken;
    int (*each)(struct archive *, struct rec *);
};

static int add_path(struct archive *a, const char *path);

__attribute__((noinline)) static void warn_errno(struct archive *a, const char *path)
{
    fprintf(stderr, "tarry: %s: %s\n", path, strerror(errno)); /* @fprintf any */
    a->warnings++;
}

static void put_rec(struct archive *a, const struct rec *r)
{
    if (fwrite(r, sizeof *r, 1, a->fp) < 1) /* @fwrite all */
        a->broken = 1;
}

static int get_rec(struct archive *a, struct rec *r)
{
    size_t n = fread(r, 1, sizeof *r, a->fp); /* @fread all */
    if (n == sizeof *r)
        return 1;
    if (n != 0 || ferror(a->fp)) { /* @ferror any */
        a->broken = 1;
        return -1;
    }
    return 0;
}

static void owner_name(uid_t uid, char *out, size_t n)
{
    struct passwd *pw = getpwuid(uid); /* @getpwuid all */
    if (pw)
        snprintf(out, n, "%s", pw->pw_name); /* @snprintf any */
    else
        snprintf(out, n, "#%u", (unsigned)uid); /* @snprintf any */
}

static int copy_in(struct archive *a, const char *path, uint64_t size)
{
    char buf[16384];
    uint64_t done = 0;
    FILE *in = fopen(path, "rb"); /* @fopen all */
    size_t n;
    if (!in) {
        warn_errno(a, path);
        return -1;
    }
    setvbuf(in, NULL, _IONBF, 0); /* @setvbuf any */
    while (done < size && (n = fread(buf, 1, sizeof buf, in)) > 0) { /* @fread all */
        if (n > size - done)
            n = size - done;
        if (fwrite(buf, 1, n, a->fp) != n) { /* @fwrite all */
            a->broken = 1;
            break;
        }
        done += n;
    }
    for (; done < size; done++)
        putc(0, a->fp); /* @putc/fputc any */
    fclose(in); /* @fclose none ignored */
    return a->broken ? -1 : 0;
}

static int add_dir(struct archive *a, const char *path)
{
    struct dirent **list;
    char sub[PATH_MAX];
    int i, n, rc = 0;

    n = scandir(path, &list, NULL, alphasort); /* @scandir/scandir64 all */
    if (n < 0) {
        warn_errno(a, path);
        return -1;
    }
    for (i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (strcmp(name, ".") && strcmp(name, "..")) {
            int len = snprintf(sub, sizeof sub, "%s/%s", path, name); /* @snprintf all */
            if (len < 0 || (size_t)len >= sizeof sub)
                rc = -1;
            else
                rc |= add_path(a, sub);
        }
        free(list[i]);
    }
    free(list);
    return rc;
}

static int add_path(struct archive *a, const char *path)
{
    struct stat st;
    struct rec r;
    size_t len;

    if (lstat(path, &st) == -1) { /* @lstat all */
        warn_errno(a, path);
        return -1;
    }
    memset(&r, 0, sizeof r);
    strncpy(r.name, path, sizeof r.name - 1);
    r.mode = st.st_mode & 07777;
    r.mtime = st.st_mtime;
    owner_name(st.st_uid, r.user, sizeof r.user);
    if (S_ISDIR(st.st_mode)) {
        r.kind = K_DIR;
        put_rec(a, &r);
        return add_dir(a, path);
    }
    if (S_ISLNK(st.st_mode)) {
        r.kind = K_LINK;
        len = readlink(path, r.link, sizeof r.link - 1); /* @readlink none used */
        if (len < 0)
            return -1;
        r.link[len] = 0;
        put_rec(a, &r);
        return 0;
    }
    r.kind = K_FILE;
    r.size = (uint64_t)st.st_size;
    put_rec(a, &r);
    return copy_in(a, path, r.size);
}

static int make_parents(const char *name)
{
    char dir[256], *p;
    strcpy(dir, name);
    for (p = dir + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        if (mkdir(dir, 0777) < 0 && errno != EEXIST) /* @mkdir all */
            return -1;
        *p = '/';
    }
    return 0;
}

static int skip(struct archive *a, uint64_t n)
{
    return fseek(a->fp, (long)n, SEEK_CUR); /* @fseek all */
}

static int copy_out(struct archive *a, int fd, uint64_t size)
{
    char buf[16384];
    int err = 0;
    while (size > 0) {
        size_t want = size < sizeof buf ? (size_t)size : sizeof buf;
        if (fread(buf, want, 1, a->fp) != 1) { /* @fread all */
            a->broken = 1;
            return EIO;
        }
        size -= want;
        if (write(fd, buf, want) < 0 && !err) /* @write all */
            err = errno;
    }
    return err;
}

static int extract(struct archive *a, struct rec *r)
{
    struct timeval tv[2];
    int fd, err = 0;

    if (make_parents(r->name) < 0) {
        warn_errno(a, r->name);
        return skip(a, r->size);
    }
    switch (r->kind) {
    case K_DIR:
        if (mkdir(r->name, r->mode) == -1 && errno == ENOSPC) /* @mkdir some missing=EACCES */
            return -1;
        return 0;
    case K_LINK:
        unlink(r->name); /* @unlink none ignored */
        if (symlink(r->link, r->name)) /* @symlink all */
            warn_errno(a, r->name);
        return 0;
    case K_FILE:
        break;
    default:
        return -1;
    }
    fd = open(r->name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600); /* @open all */
    if (fd < 0 && errno == ETXTBSY && unlink(r->name) == 0) /* @unlink all */
        fd = open(r->name, O_WRONLY | O_CREAT | O_EXCL, 0600); /* @open all */
    if (fd < 0) {
        warn_errno(a, r->name);
        return skip(a, r->size);
    }
    err = copy_out(a, fd, r->size);
    if (err) {
        errno = err;
        warn_errno(a, r->name);
    }
    fchmod(fd, r->mode); /* @fchmod none ignored */
    if (geteuid() == 0) {
        struct passwd *pw = getpwnam(r->user); /* @getpwnam all */
        int rc = pw ? fchown(fd, pw->pw_uid, pw->pw_gid) : 0; /* @fchown all */
        if (rc != 0)
            a->warnings++;
    }
    tv[0].tv_sec = tv[1].tv_sec = r->mtime;
    tv[0].tv_usec = tv[1].tv_usec = 0;
    futimes(fd, tv); /* @futimes none ignored */
    if (close(fd) != 0) { /* @close all */
        warn_errno(a, r->name);
        err = errno;
    }
    return err && a->broken ? -1 : 0;
}

static int list(struct archive *a, struct rec *r)
{
    char when[32];
    time_t t = (time_t)r->mtime;
    struct tm *tm = gmtime(&t); /* @gmtime all */
    if (tm == NULL)
        strcpy(when, "?");
    else
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", tm); /* @strftime any */
    printf("%c%04o %-8s %10llu %s %s\n", (int)r->kind, r->mode, r->user, (unsigned long long)r->size, when, r->name); /* @printf none ignored */
    return r->kind == K_FILE ? skip(a, r->size) : 0;
}

static int for_each(struct archive *a)
{
    struct rec r;
    int rc;
    while ((rc = get_rec(a, &r)) == 1) {
        r.name[sizeof r.name - 1] = r.link[sizeof r.link - 1] = r.user[sizeof r.user - 1] = 0;
        if (a->each(a, &r) != 0)
            return -1;
    }
    return rc;
}

static long archive_size(struct archive *a)
{
    long n;
    if (fseek(a->fp, 0, SEEK_END)) /* @fseek all */
        return 0;
    n = ftell(a->fp); /* @ftell none used */
    rewind(a->fp);
    return n / 512;
}

int main(int argc, char **argv)
{
    struct archive a;
    int i, rc = 0;

    if (argc < 3) {
        fprintf(stderr, "usage: tarry c|t|x ARCHIVE [PATH...]\n"); /* @fprintf/fwrite/fputs any */
        return 2;
    }
    memset(&a, 0, sizeof a);
    a.name = argv[2];
    a.fp = fopen(a.name, argv[1][0] == 'c' ? "wb" : "rb"); /* @fopen all */
    if (!a.fp) {
        perror(a.name);
        return 1;
    }
    switch (argv[1][0]) {
    case 'c':
        for (i = 3; i < argc; i++)
            rc |= add_path(&a, argv[i]);
        break;
    case 't':
        printf("%ld blocks\n", archive_size(&a)); /* @printf none ignored */
        a.each = list;
        rc = for_each(&a);
        break;
    case 'x':
        if (argc > 3 && chdir(argv[3]) < 0) { /* @chdir all */
            perror(argv[3]);
            return 1;
        }
        a.each = extract;
        rc = for_each(&a);
        break;
    default:
        rc = -1;
    }
    if (fclose(a.fp) != 0) /* @fclose all */
        a.broken = 1;
    if (a.broken)
        fprintf(stderr, "%s: broken archive\n", a.name); /* @fprintf any */
    return rc || a.broken || a.warnings ? 1 : 0;
}

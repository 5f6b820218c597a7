/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps two directories the same: compares, copies, deletes, and remembers in a state file. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

struct options {
    bool dry, purge, attrs;
    const char *exclude;
};

struct side {
    const char *path;
    int fd;
    struct dirent **list;
    int n;
};

struct result {
    int copied, removed, failed;
};

static struct options opt;
static struct result res;
static char *state_path;
static FILE *state;

static int failed(const char *what, const char *name)
{
    fprintf(stderr, "dirsync: %s %s: %s\n", what, name, strerror(errno)); /* @fprintf any */
    res.failed++;
    return -1;
}

#define TRY(call, what, name) ((call) < 0 ? failed(what, name) : 0)

static int wanted(const struct dirent *e)
{
    if (e->d_name[0] == '.')
        return 0;
    return !opt.exclude || fnmatch(opt.exclude, e->d_name, 0) != 0; /* @fnmatch any */
}

static int scan(struct side *s)
{
    s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* @open all */
    s->n = scandir(s->path, &s->list, wanted, alphasort); /* @scandir/scandir64 all */
    return s->fd < 0 || s->n < 0 ? -1 : 0;
}

static void unscan(struct side *s)
{
    while (s->n > 0)
        free(s->list[--s->n]);
    free(s->list);
    close(s->fd); /* @close none ignored */
}

static int same(struct side *a, struct side *b, const char *name)
{
    struct stat x, y;
    if (fstatat(a->fd, name, &x, 0)) /* @fstatat all */
        return -1;
    if (fstatat(b->fd, name, &y, 0) < 0) /* @fstatat all */
        return errno == ENOENT ? 0 : -1;
    return x.st_size == y.st_size && x.st_mtime == y.st_mtime;
}

static int copy_range(int in, int out, size_t left)
{
    while (left > 0) {
        ssize_t n = copy_file_range(in, NULL, out, NULL, left, 0); /* @copy_file_range all */
        if (n == -1)
            return -errno;
        if (!n)
            break;
        left -= (size_t)n;
    }
    return 0;
}

static void copy_attrs(int in, int out)
{
    char names[4096], value[4096];
    ssize_t n = flistxattr(in, names, sizeof names); /* @flistxattr all */
    if (n < 0)
        return;
    for (char *p = names; p < names + n; p += strlen(p) + 1) {
        ssize_t len = fgetxattr(in, p, value, sizeof value); /* @fgetxattr none used */
        fsetxattr(out, p, value, (size_t)len, 0); /* @fsetxattr none ignored */
    }
}

static int copy_one(struct side *a, struct side *b, const char *name)
{
    char tmp[NAME_MAX + 16];
    struct stat st;
    struct timespec ts[2];
    int in, out, rc = -1;

    if (opt.dry)
        return 0;
    in = openat(a->fd, name, O_RDONLY | O_CLOEXEC); /* @openat all */
    if (in < 0)
        return failed("open", name);
    if (TRY(fstat(in, &st), "stat", name)) /* @fstat all */
        goto out_in;
    if ((size_t)snprintf(tmp, sizeof tmp, ".%s.part", name) >= sizeof tmp) /* @snprintf all */
        goto out_in;
    out = openat(b->fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @openat all */
    if (out == -1 && errno == EEXIST) {
        unlinkat(b->fd, tmp, 0); /* @unlinkat none ignored */
        out = openat(b->fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* @openat all */
    }
    if (out == -1) {
        failed("create", tmp);
        goto out_in;
    }
    if (copy_range(in, out, (size_t)st.st_size) < 0) {
        failed("copy", name);
        goto out_both;
    }
    if (opt.attrs)
        copy_attrs(in, out);
    ts[0] = st.st_atim;
    ts[1] = st.st_mtim;
    if (TRY(fchmod(out, st.st_mode & 07777), "chmod", tmp) || TRY(futimens(out, ts), "times", tmp)) /* @fchmod all; @futimens all */
        goto out_both;
    if (renameat(b->fd, tmp, b->fd, name)) { /* @renameat all */
        failed("rename", tmp);
        goto out_both;
    }
    rc = 0;
    res.copied++;
out_both:
    if (close(out)) /* @close all */
        rc = failed("close", tmp);
    if (rc)
        unlinkat(b->fd, tmp, 0); /* @unlinkat none ignored */
out_in:
    close(in); /* @close none ignored */
    return rc;
}

static int on_node(const char *path, const struct stat *st, int flag, struct FTW *w)
{
    (void)st;
    (void)w;
    switch (flag) { /* @rmdir? all */
    case FTW_DP:
        return rmdir(path); /* @rmdir? all */
    case FTW_DNR:
        return -1;
    default:
        return unlink(path); /* @unlink all */
    }
}

static int remove_one(struct side *b, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", b->path, name); /* @snprintf all */
    if (n < 0 || n >= (int)sizeof path)
        return -1;
    if (opt.dry)
        return 0;
    if (unlinkat(b->fd, name, 0) == 0) /* @unlinkat all */
        return 0;
    if (errno != EISDIR)
        return failed("remove", name);
    if (nftw(path, on_node, 16, FTW_DEPTH | FTW_PHYS) != 0) /* @nftw/nftw64 all */
        return failed("remove tree", name);
    return 0;
}

static void walk(struct side *a, struct side *b)
{
    int i = 0, j = 0;
    while (i < a->n || j < b->n) {
        int c = i >= a->n ? 1 : j >= b->n ? -1 : strcmp(a->list[i]->d_name, b->list[j]->d_name);
        const char *name = c <= 0 ? a->list[i]->d_name : b->list[j]->d_name;
        if (c > 0) {
            if (opt.purge && remove_one(b, name) == 0)
                res.removed++;
            j++;
            continue;
        }
        switch (same(a, b, name)) {
        case 0:
            if (copy_one(a, b, name) == 0 && state)
                fprintf(state, "%s\n", name); /* @fprintf none ignored */
            break;
        case -1:
            failed("compare", name);
        }
        i++;
        j += c == 0;
    }
}

static bool open_state(const char *dir)
{
    int fd;
    if (asprintf(&state_path, "%s/.dirsync", dir) < 0) { /* @asprintf all */
        state_path = NULL;
        return false;
    }
    fd = open(state_path, O_RDWR | O_CREAT | O_APPEND, 0600); /* @open all */
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)) /* @flock all */
        return false;
    state = fdopen(fd, "a"); /* @fdopen all */
    return state != NULL;
}

static void note_time(void)
{
    char buf[64];
    time_t t = time(NULL); /* @time any */
    struct tm *tm = localtime(&t); /* @localtime none dereferenced/used */
    buf[strftime(buf, sizeof buf, "# %c\n", tm)] = 0; /* @strftime any */
    fputs(buf, state); /* @fputs none ignored */
}

static long last_size(void)
{
    long n;
    if (fseek(state, 0, SEEK_END) != 0) /* @fseek all */
        return -1;
    n = ftell(state); /* @ftell all */
    return n;
}

static int sync_dirs(struct side *a, struct side *b)
{
    int rc = 0;
    rc |= fsync(a->fd); /* @fsync all */
    rc |= fsync(b->fd); /* @fsync all */
    if (syncfs(b->fd)) /* @syncfs all */
        rc = -1;
    return rc;
}

static bool same_device(const char *a, const char *b)
{
    struct stat x, y;
    stat(a, &x); /* @stat none ignored */
    return stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino; /* @stat all */
}

int main(int argc, char **argv)
{
    struct side a = { .fd = -1 }, b = { .fd = -1 };
    char *real;
    int c;
    while ((c = getopt(argc, argv, "npax:")) != -1) /* @getopt any */
        switch (c) {
        case 'n': opt.dry = true; break;
        case 'p': opt.purge = true; break;
        case 'a': opt.attrs = true; break;
        case 'x': opt.exclude = optarg; break;
        default: return 2;
        }
    if (argc - optind != 2)
        return 2;
    a.path = argv[optind];
    real = realpath(argv[optind + 1], NULL); /* @realpath all */
    b.path = real ? real : argv[optind + 1];
    if (same_device(a.path, b.path))
        return 2;
    if (access(b.path, F_OK) < 0 && mkdir(b.path, 0777) < 0) /* @access all; @mkdir all */
        return failed("create", b.path) & 1;
    if (scan(&a) || scan(&b)) {
        failed("scan", a.path);
        return 1;
    }
    if (!open_state(b.path))
        failed("state", b.path);
    if (chdir(b.path) < 0 && errno == ENOTDIR) /* @chdir some missing=EACCES */
        return failed("enter", b.path) & 1;
    if (state && last_size() < 0)
        failed("state", state_path);
    if (state)
        note_time();
    walk(&a, &b);
    if (sync_dirs(&a, &b) != 0)
        failed("sync", b.path);
    if (state)
        fclose(state); /* @fclose none ignored */
    unscan(&a);
    unscan(&b);
    free(real);
    return res.failed ? 1 : 0;
}

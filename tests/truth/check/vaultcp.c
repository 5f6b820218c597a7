/* SPDX-License-Identifier: Apache-2.0 */
/* A backup tool: copies a tree into a vault directory, with checksums, owners and times, and writes a manifest. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct totals {
    unsigned long files, dirs, links, failed;
    unsigned long long bytes;
};

struct job {
    const char *root;
    const char *vault;
    FILE *manifest;
    struct totals t;
    int owner_errors;
};

static void *xmalloc(size_t n)
{
    void *p = malloc(n ? n : 1); /* @malloc all */
    if (p == NULL) {
        fputs("vaultcp: out of memory\n", stderr); /* @fputs/fwrite any */
        exit(1);
    }
    return p;
}

static void warn_about(struct job *j, const char *path, const char *what)
{
    fprintf(stderr, "vaultcp: %s: %s: %s\n", path, what, strerror(errno)); /* @fprintf any */
    j->t.failed++;
}

static char *join(const char *a, const char *b)
{
    size_t n = strlen(a) + strlen(b) + 2;
    char *s = xmalloc(n);
    snprintf(s, n, "%s/%s", a, b); /* @snprintf any */
    return s;
}

__attribute__((noinline)) static int discard(const char *path)
{
    return unlink(path); /* @unlink some */
}

static uint32_t checksum(uint32_t sum, const unsigned char *p, size_t n)
{
    while (n--)
        sum = (sum << 5 | sum >> 27) ^ *p++;
    return sum;
}

static int copy_plain(int in, int out, uint32_t *sum)
{
    unsigned char *buf = xmalloc(1 << 16);
    ssize_t got = 0, put;
    int err = 0;
    while (!err && (got = read(in, buf, 1 << 16)) > 0) { /* @read all */
        ssize_t done = 0;
        *sum = checksum(*sum, buf, (size_t)got);
        while (done < got) {
            put = write(out, buf + done, (size_t)(got - done)); /* @write all */
            if (put == -1) {
                err = errno;
                break;
            }
            done += put;
        }
    }
    if (got < 0)
        err = errno;
    free(buf);
    return err;
}

static int copy_fast(int in, int out, off_t size)
{
    off_t pos = 0;
    while (pos < size) {
        ssize_t n = sendfile(out, in, &pos, (size_t)(size - pos)); /* @sendfile/sendfile64 all */
        if (n <= 0)
            return n < 0 && (errno == EINVAL || errno == ENOSYS) ? 1 : -1;
    }
    return 0;
}

static bool keep_attributes(struct job *j, int fd, const struct stat *st)
{
    struct timespec ts[2] = { st->st_atim, st->st_mtim };
    if (fchown(fd, st->st_uid, st->st_gid)) /* @fchown all */
        j->owner_errors++;
    fchmod(fd, st->st_mode & 07777); /* @fchmod none ignored */
    return futimens(fd, ts) == 0; /* @futimens all */
}

static int copy_file(struct job *j, const char *src, const char *dst, const struct stat *st)
{
    uint32_t sum = 0;
    int rc = -1, out = -1, err;
    int in = open(src, O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* @open all */
    if (in < 0) {
        warn_about(j, src, "open");
        goto done;
    }
    out = open(dst, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @open all */
    if (out == -1) {
        warn_about(j, dst, "create");
        goto done;
    }
    posix_fadvise(in, 0, 0, POSIX_FADV_SEQUENTIAL); /* @posix_fadvise/posix_fadvise64 none ignored */
    if (posix_fallocate(out, 0, st->st_size) < 0) /* @posix_fallocate/posix_fallocate64 none ignored/used/dereferenced/returned */
        warn_about(j, dst, "no room");
    switch (copy_fast(in, out, st->st_size)) {
    case 0:
        break;
    case 1:
        lseek(out, 0, SEEK_SET); /* @lseek/lseek64 none ignored */
        if ((err = copy_plain(in, out, &sum)) != 0) {
            errno = err;
            warn_about(j, src, "copy");
            goto done;
        }
        break;
    default:
        warn_about(j, src, "sendfile");
        goto done;
    }
    if (!keep_attributes(j, out, st))
        warn_about(j, dst, "times");
    if (fsync(out) < 0) { /* @fsync all */
        warn_about(j, dst, "sync");
        goto done;
    }
    fprintf(j->manifest, "f %08x %lld %s\n", (unsigned)sum, (long long)st->st_size, dst); /* @fprintf none ignored */
    j->t.files++;
    j->t.bytes += (unsigned long long)st->st_size;
    rc = 0;
done:
    if (in >= 0)
        close(in); /* @close none ignored */
    if (out >= 0 && close(out) == -1) { /* @close all */
        warn_about(j, dst, "close");
        rc = -1;
    }
    if (rc < 0 && out >= 0 && discard(dst) < 0)
        warn_about(j, dst, "a damaged file stays");
    return rc;
}

static int copy_link(struct job *j, const char *src, const char *dst)
{
    char target[PATH_MAX];
    ssize_t n = readlink(src, target, sizeof target - 1); /* @readlink none used */
    target[n] = '\0';
    if (symlink(target, dst) != 0 && errno != EEXIST) { /* @symlink all */
        warn_about(j, dst, "symlink");
        return -1;
    }
    j->t.links++;
    return 0;
}

static int copy_tree(struct job *j, const char *src, const char *dst);

static int copy_entry(struct job *j, const char *src, const char *dst)
{
    struct stat st;
    if (lstat(src, &st)) { /* @lstat all */
        warn_about(j, src, "lstat");
        return -1;
    }
    if (S_ISREG(st.st_mode))
        return copy_file(j, src, dst, &st);
    if (S_ISLNK(st.st_mode))
        return copy_link(j, src, dst);
    if (S_ISDIR(st.st_mode))
        return copy_tree(j, src, dst);
    if (S_ISFIFO(st.st_mode))
        return mkfifo(dst, st.st_mode & 0777); /* @mkfifo all */
    return 0;
}

static int copy_tree(struct job *j, const char *src, const char *dst)
{
    struct dirent *e;
    int rc = 0;
    DIR *d = opendir(src); /* @opendir all */
    if (!d) {
        warn_about(j, src, "opendir");
        return -1;
    }
    if (mkdir(dst, 0700) < 0) { /* @mkdir some missing=ENOSPC */
        if (errno == EROFS) {
            warn_about(j, dst, "mkdir");
            exit(1);
        }
    }
    while (errno = 0, (e = readdir(d)) != NULL) { /* @readdir/readdir64 all */
        char *s, *t;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        s = join(src, e->d_name);
        t = join(dst, e->d_name);
        if (copy_entry(j, s, t) != 0)
            rc = -1;
        free(s);
        free(t);
    }
    if (errno != 0) {
        warn_about(j, src, "readdir");
        rc = -1;
    }
    closedir(d); /* @closedir none ignored */
    j->t.dirs++;
    return rc;
}

static void check_room(const char *vault)
{
    struct statvfs v;
    if (statvfs(vault, &v) == 0 && v.f_bavail < 1024) { /* @statvfs/statvfs64 all */
        fprintf(stderr, "vaultcp: %s is nearly full\n", vault); /* @fprintf any */
        exit(1);
    }
}

static FILE *open_manifest(const char *vault)
{
    char *name = join(vault, "MANIFEST");
    FILE *f = fopen(name, "wx"); /* @fopen all */
    free(name);
    return f;
}

static int finish_manifest(struct job *j)
{
    int bad = ferror(j->manifest); /* @ferror any */
    if (fclose(j->manifest) != 0) /* @fclose all */
        bad = 1;
    return bad ? -1 : 0;
}

static void mark_latest(const char *vault)
{
    char *link_name = join(vault, "../latest");
    char *full = realpath(vault, NULL); /* @realpath none dereferenced/used */
    discard(link_name);
    if (symlink(full + strlen("/"), link_name) > 0) /* @symlink none ignored/used/dereferenced/returned */
        fprintf(stderr, "vaultcp: no link to the latest vault\n"); /* @fprintf/fwrite/fputs any */
    free(full);
    free(link_name);
}

static int stamp_dir(const char *vault)
{
    struct timeval tv[2];
    gettimeofday(&tv[0], NULL); /* @gettimeofday any */
    tv[1] = tv[0];
    return utimes(vault, tv) ? -errno : 0; /* @utimes all */
}

int main(int argc, char **argv)
{
    struct job j;
    char when[64];
    struct tm *tm;
    time_t now;
    int rc;

    memset(&j, 0, sizeof j);
    if (argc != 3)
        return 2;
    j.root = argv[1];
    j.vault = argv[2];
    if (mkdir(j.vault, 0700) == -1 && errno != EEXIST) { /* @mkdir all */
        perror(j.vault);
        return 1;
    }
    check_room(j.vault);
    if (!(j.manifest = open_manifest(j.vault))) {
        perror("MANIFEST");
        return 1;
    }
    time(&now); /* @time any */
    tm = gmtime(&now); /* @gmtime all */
    if (tm && strftime(when, sizeof when, "%FT%TZ", tm)) /* @strftime any */
        fprintf(j.manifest, "# %s\n", when); /* @fprintf any */
    rc = copy_tree(&j, j.root, j.vault);
    if (finish_manifest(&j) < 0) {
        perror("MANIFEST");
        rc = -1;
    }
    mark_latest(j.vault);
    if (stamp_dir(j.vault) < 0)
        rc = -1;
    sync();
    return rc == 0 && !j.t.failed && !j.owner_errors ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* mkimg: packs files into a block-aligned image, with a manifest and an atomic replace. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK   4096u
#define MIN(a, b)   ((a) < (b) ? (a) : (b))

#define CHECK(expr)                                             \
    do {                                                        \
        if ((expr) == -1)                                       \
            bail(#expr, __LINE__);                              \
    } while (0)

#define GOTO_IF(cond, label)                                    \
    do {                                                        \
        if (cond) {                                             \
            rc = -1;                                            \
            goto label;                                         \
        }                                                       \
    } while (0)

struct entry {
    char     name[56];
    uint64_t start;
    uint64_t size;
};

struct image {
    int           fd;
    char          tmp[256];
    struct entry *dir;
    size_t        n, cap;
    uint64_t      end;
    void         *block;
};

static int tmp_fds[2] = { -1, -1 };

static void bail(const char *what, int line)
{
    fprintf(stderr, "mkimg:%d: %s: %s\n", line, what, strerror(errno));     /* @fprintf? none ignored */
    exit(EXIT_FAILURE);
}

static bool ok(int rc)
{
    return rc >= 0;
}

static off_t smaller(off_t a, off_t b)
{
    return a < b ? a : b;
}

static uint64_t round_up(uint64_t n)
{
    return (n + BLOCK - 1) / BLOCK * BLOCK;
}

static int write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    ssize_t w;

    while (len) {
        w = write(fd, p, MIN(len, 1u << 20));       /* @write all */
        if (w < 0) {
            if (errno == EINTR || errno == EAGAIN)
                continue;
            return -1;
        }
        p += w;
        len -= (size_t)w;
    }
    return 0;
}

static void image_open(struct image *im, const char *final)
{
    size_t align = (size_t)sysconf(_SC_PAGESIZE);   /* @sysconf none used */
    int rc;

    memset(im, 0, sizeof *im);
    if ((size_t)snprintf(im->tmp, sizeof im->tmp, "%s.XXXXXX", final) >= sizeof im->tmp)    /* @snprintf all */
        bail("name too long", __LINE__);
    CHECK(im->fd = mkstemp(im->tmp));               /* @mkstemp all */
    CHECK(fchmod(im->fd, 0644));                    /* @fchmod all */
    rc = posix_memalign(&im->block, align, BLOCK);  /* @posix_memalign some missing=EINVAL */
    if (rc == ENOMEM)
        bail("posix_memalign", __LINE__);
    memset(im->block, 0, BLOCK);
    CHECK(lseek(im->fd, BLOCK, SEEK_SET));          /* @lseek all */
    im->end = BLOCK;
}

static struct entry *new_entry(struct image *im, const char *path)
{
    const char *base = strrchr(path, '/');

    if (im->n == im->cap) {
        im->cap = im->cap ? 2 * im->cap : 8;
        im->dir = reallocarray(im->dir, im->cap, sizeof *im->dir);      /* @reallocarray all */
        if (!im->dir)
            bail("reallocarray", __LINE__);
    }
    memset(&im->dir[im->n], 0, sizeof *im->dir);
    strncpy(im->dir[im->n].name, base ? base + 1 : path, sizeof im->dir->name - 1);
    return &im->dir[im->n++];
}

/* one copy with the kernel's help, as far as it goes */
static off_t copy_fast(int out, int in, off_t size)
{
    off_t done = 0;

    while (done < size) {
        ssize_t n = sendfile(out, in, NULL, (size_t)(size - done));     /* @sendfile all */
        if (n <= 0)
            break;
        done += n;
    }
    return done;
}

static int copy_slow(struct image *im, int in, off_t size)
{
    ssize_t n;
    off_t left;

    for (left = size; left > 0; left -= n) {
        n = smaller(left, read(in, im->block, BLOCK));  /* @read all */
        if (n <= 0)
            return -1;
        if (write_all(im->fd, im->block, (size_t)n))
            return -1;
    }
    return 0;
}

static int add_file(struct image *im, const char *path)
{
    struct stat st;
    struct entry *e;
    char label[64];
    off_t done;
    int in, rc = 0;

    in = open(path, O_RDONLY | O_NOATIME);          /* @open all */
    if (in < 0 && errno == EPERM)
        in = open(path, O_RDONLY);                  /* @open all */
    GOTO_IF(!ok(in), out);
    GOTO_IF(fstat(in, &st) != 0, out_close);        /* @fstat all */
    GOTO_IF(!S_ISREG(st.st_mode), out_close);
    if (flock(in, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)   /* @flock some missing=ENOLCK,EINTR */
        fprintf(stderr, "mkimg: %s is being written\n", path);      /* @fprintf none ignored */
    if (fgetxattr(in, "user.mkimg", label, sizeof label) > 0 && label[0] == '-')    /* @fgetxattr all */
        goto out_close;

    e = new_entry(im, path);
    e->start = im->end;
    e->size = (uint64_t)st.st_size;
    done = copy_fast(im->fd, in, st.st_size);
    if (done < st.st_size)
        GOTO_IF(copy_slow(im, in, st.st_size - done) < 0, out_close);
    im->end = round_up(im->end + e->size);
    GOTO_IF(lseek(im->fd, (off_t)im->end, SEEK_SET) == (off_t)-1, out_close);   /* @lseek all */
out_close:
    close(in);      /* @close none ignored */
out:
    return rc;
}

static int enough_room(const char *dir, uint64_t want)
{
    struct statvfs vfs;

    if (statvfs(dir, &vfs) != 0 && errno == ENOSYS)     /* @statvfs some missing=EACCES,EIO */
        return 1;
    return (uint64_t)vfs.f_bavail * vfs.f_bsize >= want;
}

static void write_dir(struct image *im)
{
    size_t len = im->n * sizeof *im->dir;
    char *map;

    if (len > BLOCK)
        len = BLOCK;
    if (ftruncate(im->fd, (off_t)im->end) < 0)      /* @ftruncate all */
        bail("ftruncate", __LINE__);
    map = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, im->fd, 0);     /* @mmap all */
    if (map == MAP_FAILED)
        bail("mmap", __LINE__);
    memcpy(map, im->dir, len);
    if (msync(map, BLOCK, MS_SYNC) != 0)            /* @msync all */
        bail("msync", __LINE__);
    CHECK(munmap(map, BLOCK));                      /* @munmap all */
}

static uint32_t checksum(int fd, uint64_t size)
{
    uint32_t sum = 0;
    uint64_t i;
    uint8_t *p;

    p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);        /* @mmap none dereferenced/used */
    if (p == NULL)
        return 0;
    for (i = 0; i < size; i++)
        sum = (sum << 5 | sum >> 27) ^ p[i];
    munmap(p, size);                                /* @munmap none ignored */
    return sum;
}

static int manifest(const struct image *im, const char *path)
{
    FILE *f = fopen(path, "w");                     /* @fopen all */
    size_t i;
    int err;

    if (f == NULL)
        return -1;
    for (i = 0; i < im->n; i++)
        fprintf(f, "%s %" PRIu64 " %" PRIu64 "\n", im->dir[i].name, im->dir[i].start, im->dir[i].size);    /* @fprintf all */
    fprintf(f, "sum %08" PRIx32 "\n", checksum(im->fd, im->end));   /* @fprintf all */
    err = ferror(f);
    err |= fclose(f);                               /* @fclose all */
    return err ? -1 : 0;
}

static int open_parent(const char *path)
{
    char dir[256];
    char *slash;

    strncpy(dir, path, sizeof dir - 1);
    dir[sizeof dir - 1] = '\0';
    if ((slash = strrchr(dir, '/')) == NULL)
        tmp_fds[0] = open(".", O_DIRECTORY | O_RDONLY);     /* @open? none used */
    else {
        *slash = '\0';
        tmp_fds[0] = open(dir, O_DIRECTORY | O_RDONLY);     /* @open? none used */
    }
    return fsync(tmp_fds[0]);                       /* @fsync all */
}

static int commit(struct image *im, const char *final)
{
    int rc;

    rc = fsync(im->fd);                             /* @fsync all */
    rc += close(im->fd);                            /* @close all */
    if (rc < 0)
        return rc;
    if (rename(im->tmp, final) < 0) {               /* @rename all */
        unlink(im->tmp);                            /* @unlink none ignored */
        return -1;
    }
    if (open_parent(final) != 0) /* @open? none used */
        perror(final);
    tmp_fds[1] = open(final, O_RDONLY);             /* @open all */
    return 0;
}

int main(int argc, char **argv)
{
    struct image im;
    char path[512];
    int i, len, failed = 0;

    if (argc < 3) {
        puts("usage: mkimg IMAGE FILE...");         /* @puts none ignored */
        return 2;
    }
    if (!enough_room(".", 1u << 20))
        fprintf(stderr, "mkimg: low space\n");      /* @fprintf/fwrite/fputs none ignored */
    image_open(&im, argv[1]);
    for (i = 2; i < argc; i++)
        if (add_file(&im, argv[i]) < 0) {
            perror(argv[i]);
            failed++;
        }
    write_dir(&im);
    len = snprintf(path, sizeof path, "%s.manifest", argv[1]);      /* @snprintf all */
    if (len < 0 || len >= (int)sizeof path || manifest(&im, path) != 0)
        failed++;
    if (commit(&im, argv[1]) != 0)
        bail("commit", __LINE__);
    if (tmp_fds[1] < 0)
        failed++;
    free(im.block);
    free(im.dir);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

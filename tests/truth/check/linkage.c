/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fno-plt */
/* Calls reached without PLT, by tail calls, by pointers, and by the explicit 64-bit names. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
#define S(e) (sink += (long)(e))
static NOINLINE void note(const char *what) { fails++; perror(what); }

/* ---- tail calls ---- */
static NOINLINE int tail_close(int fd)
{
    return close(fd);                                   /* @close all */
}
static void use_tail_close(int fd) { if (tail_close(fd) == -1) note("close"); }

static NOINLINE int tail_unlink(const char *p)
{
    return unlink(p);                                   /* @unlink none ignored */
}
static void use_tail_unlink(const char *p) { tail_unlink(p); }

static NOINLINE int tail_rmdir(const char *p)
{
    return rmdir(p);                                    /* @rmdir none used */
}
static void use_tail_rmdir(const char *p) { S(tail_rmdir(p)); }

static NOINLINE int chdir_l1(const char *p)
{
    return chdir(p);                                    /* @chdir all */
}
static NOINLINE int chdir_l2(const char *p) { sink++; return chdir_l1(p); }
static void chdir_l3(const char *p) { if (chdir_l2(p) != 0) note("chdir"); }

static NOINLINE int chmod_l1(const char *p, mode_t m)
{
    return chmod(p, m);                                 /* @chmod none ignored */
}
static NOINLINE int chmod_l2(const char *p, int m) { sink += m; return chmod_l1(p, (mode_t)m); }
static void chmod_l3(const char *p, int m) { (void)chmod_l2(p, m); }

static NOINLINE char *tail_strdup(const char *s)
{
    return strdup(s);                                   /* @strdup all */
}
static void use_tail_strdup(const char *s)
{
    char *d = tail_strdup(s);
    if (!d) { note("strdup"); return; }
    d[0] = 'd'; keep = d;
}
static NOINLINE char *tail_strndup(const char *s)
{
    return strndup(s, 3);                               /* @strndup none dereferenced */
}
static void use_tail_strndup(const char *s) { char *d = tail_strndup(s); d[0] = 'x'; keep = d; }

static NOINLINE FILE *tail_fopen(const char *p)
{
    return fopen(p, "r");                               /* @fopen none dereferenced */
}
static void use_tail_fopen(const char *p)
{
    FILE *f = tail_fopen(p);
    S(fgetc(f));                                        /* @fgetc none used */
    fclose(f);                                          /* @fclose none ignored */
}
static NOINLINE ssize_t tail_read(int fd, void *b, size_t n)
{
    return read(fd, b, n);                              /* @read all */
}
static long use_tail_read(int fd)
{
    char b[32];
    ssize_t n = tail_read(fd, b, sizeof b);
    return n > 0 ? b[0] : -1;
}
static NOINLINE int tail_arg_close(int fd, int how)
{
    if (how & 1)
        return fsync(fd);                               /* @fsync all */
    return ftruncate(fd, how);                          /* @ftruncate all */
}
static void use_tail_arg(int fd, int how) { if (tail_arg_close(fd, how)) note("sync/trunc"); }

/* ---- pointers to libc functions ---- */
static void ptr_local(int fd)
{
    int (*op)(int) = fdatasync;
    if (op(fd) < 0)                                     /* @fdatasync? all */
        note("fdatasync");
}
static void ptr_volatile(int fd)
{
    int (*volatile op)(int) = fchdir;
    op(fd);                                             /* @fchdir? none ignored */
}
static void ptr_chosen(const char *p, int k)
{
    int (*op)(const char *) = k > 1 ? remove : rmdir;
    if (op(p))                                          /* @remove? all; @rmdir? all */
        note("remove");
}
static void *(*allocate)(size_t) = malloc;
static void ptr_static(size_t n)
{
    char *p = allocate(n);                              /* @malloc? none dereferenced */
    p[0] = 'a'; keep = p;
}
static int (*ptr_table[2])(const char *, mode_t) = { mkdir, mkfifo };
static void ptr_from_table(const char *p, int k)
{
    if (ptr_table[k & 1](p, 0700) == -1)                /* @mkdir? all; @mkfifo? all */
        note("mk");
}
static NOINLINE int apply(int (*op)(int), int fd)
{
    return op(fd);                                      /* @dup? all */
}
static void ptr_argument(int fd) { if (apply(dup, fd) < 0) note("dup"); }

#define MY_CLOSE close
static void macro_name(int fd) { if (MY_CLOSE(fd)) note("close"); } /* @close all */
static void paren_name(int fd) { (fsync)(fd); }         /* @fsync none ignored */

/* ---- explicit 64-bit names ---- */
static int open64_checked(const char *p)
{
    int fd = open64(p, O_RDONLY);                       /* @open/open64 all */
    if (fd == -1) { note("open64"); return 0; }
    return fd;
}
static void open64_unchecked(const char *p)
{
    char c = 0;
    int fd = open64(p, O_RDONLY);                       /* @open/open64 none used */
    S(pread64(fd, &c, 1, 0));                           /* @pread/pread64 none used */
    close(fd);                                          /* @close none ignored */
}
static void openat64_le(int dir, const char *p)
{
    int fd = openat64(dir, p, O_RDONLY);                /* @openat/openat64 all */
    if (fd < 0) note("openat64"); else S(fd);
}
static void creat64_bang(const char *p)
{
    int fd = creat64(p, 0600);                          /* @creat/creat64 none used */
    if (!fd) note("creat64");
    S(fd);
}
static void lseek64_checked(int fd)
{
    if (lseek64(fd, 0, SEEK_END) == (off64_t)-1)        /* @lseek/lseek64 all */
        note("lseek64");
}
static void lseek64_ignored(int fd) { lseek64(fd, 0, SEEK_SET); } /* @lseek/lseek64 none ignored */
static void lseek64_used(int fd)
{
    off64_t end = lseek64(fd, 0, SEEK_END);             /* @lseek/lseek64 none used */
    S(end / 512 + 1);
}
static void fopen64_checked(const char *p)
{
    FILE *f = fopen64(p, "r");                          /* @fopen/fopen64 all */
    if (f == NULL) { note("fopen64"); return; }
    if (fseeko64(f, 0, SEEK_END) != 0)                  /* @fseeko/fseeko64 all */
        note("fseeko64");
    off64_t at = ftello64(f);                           /* @ftello/ftello64 all */
    if (at < 0) note("ftello64");
    if (fclose(f) == EOF)                               /* @fclose all */
        note("fclose");
}
static void fopen64_fclose(const char *p)
{
    fclose(fopen64(p, "a"));                            /* @fclose none ignored; @fopen/fopen64 none dereferenced */
}
static void ftello64_used(FILE *f)
{
    S(ftello64(f));                                     /* @ftello/ftello64 none used */
    fseeko64(f, 0, SEEK_SET);                           /* @fseeko/fseeko64 none ignored */
}
static void stat64_all(const char *p, int fd)
{
    struct stat64 st;
    if (stat64(p, &st) || lstat64(p, &st)) note("stat64"); /* @stat/stat64 all; @lstat/lstat64 all */
    else S(st.st_size);
    if (fstat64(fd, &st) < 0)                           /* @fstat/fstat64 all */
        return;
    S(st.st_mode);
}
static void stat64_none(const char *p)
{
    struct stat64 st;
    memset(&st, 0, sizeof st);
    stat64(p, &st);                                     /* @stat/stat64 none ignored */
    S(st.st_size);
}
static void trunc64(const char *p, int fd, off64_t n)
{
    truncate64(p, n);                                   /* @truncate/truncate64 none ignored */
    if (ftruncate64(fd, n) != 0) note("ftruncate64");   /* @ftruncate/ftruncate64 all */
}
static void mmap64_failed(int fd, size_t n)
{
    char *m = mmap64(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap/mmap64 all */
    if (m == MAP_FAILED) { note("mmap64"); return; }
    S(m[0]);
    munmap(m, n);                                       /* @munmap none ignored */
}
static void mmap64_null(int fd, size_t n)
{
    char *m = mmap64(NULL, n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap/mmap64 none used/dereferenced */
    if (m == NULL) { note("mmap64"); return; }
    S(m[1]);
}
static void pwrite64_len(int fd, const char *b, size_t n)
{
    if (pwrite64(fd, b, n, 8) != (ssize_t)n) note("pwrite64"); /* @pwrite/pwrite64 all */
}
static void mkstemp64_eq(char *t)
{
    int fd = mkstemp64(t);                              /* @mkstemp/mkstemp64 all */
    if (-1 == fd) note("mkstemp64"); else S(fd);
}
static void readdir64_loop(const char *p)
{
    DIR *d = opendir(p);                                /* @opendir all */
    if (!d) return;
    struct dirent64 *e;
    while ((e = readdir64(d)) != NULL)                  /* @readdir/readdir64 all */
        S(e->d_name[0]);
    closedir(d);                                        /* @closedir none ignored */
}
static void readdir64_deref(DIR *d) { S(readdir64(d)->d_type); } /* @readdir/readdir64 none dereferenced */
static void fallocate64_eq(int fd)
{
    int rc = posix_fallocate64(fd, 0, 4096);            /* @posix_fallocate/posix_fallocate64 all */
    if (rc != 0) { errno = rc; note("fallocate"); }
}
static void fallocate64_some(int fd)
{
    if (posix_fallocate64(fd, 0, 8192) == ENOSPC)       /* @posix_fallocate/posix_fallocate64 some missing=EBADF */
        note("disk full");
}
static void sendfile64_lost(int out, int in) { S(sendfile64(out, in, NULL, 512)); } /* @sendfile/sendfile64 none used */
static void vfs64(const char *p)
{
    struct statvfs64 v;
    if (!statvfs64(p, &v)) S(v.f_bsize); else note(p);  /* @statvfs/statvfs64 all */
}
static void limit64(void)
{
    struct rlimit64 l = { 1, 1 };
    S(getrlimit64(RLIMIT_NOFILE, &l));                  /* @getrlimit/getrlimit64 none used */
    S(l.rlim_cur);
}

int main(int argc, char **argv)
{
    const char *p = argv[argc - 1];
    int fd = argc + 2;
    DIR *d = opendir(argv[0]);                          /* @opendir all */
    if (d == NULL) return 1;
    use_tail_close(fd); use_tail_unlink(p); use_tail_rmdir(p); chdir_l3(p); chmod_l3(p, argc);
    use_tail_strdup(p); use_tail_strndup(p); use_tail_fopen(p); S(use_tail_read(fd)); use_tail_arg(fd, argc);
    ptr_local(fd); ptr_volatile(fd); ptr_chosen(p, argc); ptr_static(argc); ptr_from_table(p, argc);
    ptr_argument(fd); macro_name(fd); paren_name(fd);
    S(open64_checked(p)); open64_unchecked(p); openat64_le(fd, p); creat64_bang(p);
    lseek64_checked(fd); lseek64_ignored(fd); lseek64_used(fd);
    fopen64_checked(p); fopen64_fclose(p); ftello64_used(stdin);
    stat64_all(p, fd); stat64_none(p); trunc64(p, fd, argc); mmap64_failed(fd, argc); mmap64_null(fd, argc);
    pwrite64_len(fd, p, strlen(p)); mkstemp64_eq(argv[0]); readdir64_loop(p); readdir64_deref(d);
    fallocate64_eq(fd); fallocate64_some(fd); sendfile64_lost(fd, 0); vfs64(p); limit64();
    printf("%ld %d\n", sink, fails);                    /* @printf none ignored */
    return 0;
}

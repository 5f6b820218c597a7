/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 -Wno-cpp -Wno-unused-result */
/* Checked names of glibc (__read_chk ...) and names of large files (open64 ...) behind the plain ones. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <wchar.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
#define S(e) (sink += (long)(e))
static NOINLINE void note(const char *what) { fails++; perror(what); }

/* ---- reading into buffers of known size ---- */
static void read_checked(int fd, size_t n)
{
    char b[40];
    ssize_t r = read(fd, b, n);                         /* @read/__read_chk all */
    if (r < 0) { note("read"); return; }
    S(r);
}
static void read_lost(int fd, size_t n)
{
    char b[41] = "";
    read(fd, b, n);                                     /* @read/__read_chk none ignored */
    S(b[1]);
}
static void read_index(int fd, size_t n)
{
    char b[42];
    ssize_t r = read(fd, b, n);                         /* @read/__read_chk none used */
    S(b[r]);
}
static void read_eintr(int fd, size_t n)
{
    char b[43]; ssize_t r;
    while ((r = read(fd, b, n)) == -1 && errno == EINTR) ; /* @read/__read_chk some missing=EIO */
    S(r);
}
static void pread_full(int fd, size_t n, off_t o)
{
    char b[44];
    if (pread(fd, b, n, o) != (ssize_t)n) note("pread"); else S(b[0]); /* @pread/pread64/__pread64_chk all */
}
static void pread_zero(int fd, size_t n, off_t o)
{
    char b[45] = "";
    if (pread(fd, b, n, o) == 0) return;                /* @pread/pread64/__pread64_chk none used/ignored */
    S(b[2]);
}
static void recv_checked(int s, size_t n)
{
    char b[46];
    switch (recv(s, b, n, 0)) {                         /* @recv/__recv_chk all */
    case -1: note("recv"); break;
    case 0: break;
    default: S(b[0]);
    }
}
static void recvfrom_lost(int s, size_t n)
{
    char b[47] = "";
    S(recvfrom(s, b, n, 0, NULL, NULL) + b[0]);         /* @recvfrom/__recvfrom_chk none used */
}
static void fgets_checked(FILE *f, int n)
{
    char b[48];
    while (fgets(b, n, f) != NULL)                      /* @fgets/__fgets_chk all */
        S(b[0]);
}
static void fgets_lost(FILE *f, int n)
{
    char b[49] = "x";
    fgets(b, n, f);                                     /* @fgets/__fgets_chk none ignored */
    S(b[0]);
}
static void fgets_deref(FILE *f, int n) { char b[50]; S(*fgets(b, n, f)); } /* @fgets/__fgets_chk none dereferenced */
static void fread_checked(FILE *f, size_t n)
{
    char b[51];
    if (fread(b, 1, n, f) != n) note("fread"); else S(b[0]); /* @fread/__fread_chk all */
}
static NOINLINE void fread_ferror(FILE *f, size_t n)
{
    char b[52] = "";
    fread(b, 1, n, f);                                  /* @fread/__fread_chk all */
    if (ferror(f)) { note("fread"); return; }
    S(b[0]);
}
static void fread_lost(FILE *f, size_t n)
{
    char b[53] = "";
    size_t r = fread(b, 1, n, f);                       /* @fread/__fread_chk none used */
    S(r * b[0]);
}
static void readlink_checked(const char *p, size_t n)
{
    char b[54];
    ssize_t r = readlink(p, b, n);                      /* @readlink/__readlink_chk all */
    if (r == -1) { note("readlink"); return; }
    S(b[0] + r);
}
static void readlink_term(const char *p, size_t n)
{
    char b[55];
    b[readlink(p, b, n)] = 0;                           /* @readlink/__readlink_chk none used */
    S(strlen(b));
}
static void getcwd_checked(size_t n) { char b[56]; if (!getcwd(b, n)) note("getcwd"); else S(b[0]); } /* @getcwd/__getcwd_chk all */
static void getcwd_strlen(size_t n) { char b[57]; S(strlen(getcwd(b, n))); } /* @getcwd/__getcwd_chk none dereferenced */
static void realpath_checked(const char *p) { char b[PATH_MAX]; if (realpath(p, b) == NULL) note(p); else S(b[0]); } /* @realpath/__realpath_chk all */
static void hostname_lost(size_t n) { char b[58] = ""; gethostname(b, n); S(b[0]); } /* @gethostname/__gethostname_chk none ignored */
static void hostname_checked(size_t n) { char b[59]; if (gethostname(b, n)) b[0] = '?'; S(b[0]); } /* @gethostname/__gethostname_chk all */
static void poll_checked(struct pollfd *v, nfds_t n)
{
    struct pollfd own[4];
    memcpy(own, v, sizeof *v);
    if (poll(own, n, 1) < 0) note("poll"); else S(own[0].revents); /* @poll/__poll_chk all */
}
static void groups_used(int n) { gid_t g[8]; int r = getgroups(n, g); S(g[r - 1]); } /* @getgroups/__getgroups_chk none used */
static void wide_checked(const char *s, size_t n) { wchar_t w[20]; if (mbstowcs(w, s, n) == (size_t)-1) note(s); else S(w[0]); } /* @mbstowcs/__mbstowcs_chk all */
static void wide_used(const wchar_t *w, size_t n) { char b[21]; S(wcstombs(b, w, n)); } /* @wcstombs/__wcstombs_chk none used */

/* ---- formatted output ---- */
static NOINLINE void out_lost(const char *s, int n)
{
    printf("%s=%d\n", s, n);                            /* @printf/__printf_chk none ignored */
    fprintf(stderr, "%s:%d\n", s, n);                   /* @fprintf/__fprintf_chk none ignored */
}
static void out_checked(FILE *f, const char *s, int n)
{
    if (fprintf(f, "%d%s", n, s) < 0) note("fprintf");  /* @fprintf/__fprintf_chk all */
}
static NOINLINE void out_ferror(FILE *f, const char *s, int n)
{
    fprintf(f, "%x%s", n, s);                           /* @fprintf/__fprintf_chk all */
    if (ferror(f)) abort();
}
static NOINLINE void out_used(int n) { S(printf("[%d]", n)); }   /* @printf/__printf_chk none used */
static void dprintf_lost(int fd, int n) { dprintf(fd, "%d\n", n); } /* @dprintf/__dprintf_chk none ignored */
static void dprintf_checked(int fd, int n) { if (dprintf(fd, "%o\n", n) < 0) note("dprintf"); } /* @dprintf/__dprintf_chk all */
static void asprintf_checked(int n) { char *s; if (asprintf(&s, "%d", n) == -1) note("asprintf"); else keep = s; } /* @asprintf/__asprintf_chk all */
static void asprintf_lost(int n) { char *s = NULL; asprintf(&s, "%u", n); keep = s; } /* @asprintf/__asprintf_chk none ignored */
static NOINLINE void out_va(FILE *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = vfprintf(f, fmt, ap);                       /* @vfprintf/__vfprintf_chk all */
    va_end(ap);
    if (r < 0) note("vfprintf");
}
static NOINLINE int out_va_raw(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int r = vprintf(fmt, ap);                           /* @vprintf/__vprintf_chk/vfprintf/__vfprintf_chk none ignored */
    va_end(ap);
    return r;
}

/* ---- large files ---- */
static void open_checked(const char *p)
{
    int fd = open(p, O_RDONLY);                         /* @open/open64 all */
    if (fd == -1) { note(p); return; }
    if (close(fd)) note("close");                       /* @close all */
}
static void open_flags(const char *p, int fl)
{
    int fd = open(p, fl);                               /* @open/open64/__open_2/__open64_2 none used */
    S(lseek(fd, 0, SEEK_END));                          /* @lseek/lseek64 none used */
}
static void open_exist(const char *p)
{
    int fd = open(p, O_CREAT | O_EXCL, 0600);           /* @open/open64 some missing=EACCES */
    if (fd < 0 && errno == EEXIST) { note("exists"); return; }
    S(fd);
}
static void openat_le(int d, const char *p) { int fd = openat(d, p, O_RDWR); if (fd <= -1) note(p); else S(fd); } /* @openat/openat64 all */
static void lseek_checked(int fd, off_t o) { if (lseek(fd, o, SEEK_SET) != o) note("lseek"); } /* @lseek/lseek64 all */
static void stat_checked(const char *p, int fd)
{
    struct stat a, b;
    if (stat(p, &a) != 0 || fstat(fd, &b) != 0) { note("stat"); return; } /* @stat/stat64 all; @fstat/fstat64 all */
    S(a.st_dev == b.st_dev);
}
static void lstat_lost(const char *p) { struct stat st = { 0 }; lstat(p, &st); S(st.st_size); } /* @lstat/lstat64 none ignored */
static void fopen_deref(const char *p)
{
    FILE *f = fopen(p, "r+");                           /* @fopen/fopen64 none dereferenced */
    S(ftello(f));                                       /* @ftello/ftello64 none used */
    fclose(f);                                          /* @fclose none ignored */
}
static void fopen_checked(const char *p)
{
    FILE *f;
    if (!(f = fopen(p, "w+"))) return;                  /* @fopen/fopen64 all */
    if (fseeko(f, 9, SEEK_SET)) note("fseeko");         /* @fseeko/fseeko64 all */
    if (ftello(f) == (off_t)-1) note("ftello");         /* @ftello/ftello64 all */
    if (fclose(f)) note("fclose");                      /* @fclose all */
}
static void trunc_pair(int fd, const char *p, off_t n)
{
    ftruncate(fd, n);                                   /* @ftruncate/ftruncate64 none ignored */
    if (truncate(p, n) < 0) note("truncate");           /* @truncate/truncate64 all */
}
static void mmap_checked(int fd, size_t n)
{
    char *m = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, 0); /* @mmap/mmap64 all */
    if (m != MAP_FAILED) S(m[0]); else note("mmap");
}
static void mmap_deref(int fd, size_t n)
{
    char *m = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap/mmap64 none dereferenced */
    S(m[n - 1]);
}
static void fallocate_part(int fd, off_t n) { if (posix_fallocate(fd, 0, n) == EFBIG) note("big"); } /* @posix_fallocate/posix_fallocate64 some missing=ENOSPC */
static void readdir_checked(DIR *d) { struct dirent *e; for (e = readdir(d); e; e = readdir(d)) S(e->d_ino); } /* @readdir/readdir64 all */
static void readdir_errno(DIR *d) { errno = 0; struct dirent *e = readdir(d); if (!e && errno) note("readdir"); else if (e) S(e->d_ino); } /* @readdir/readdir64 all */
static void limit_lost(struct rlimit *l) { l->rlim_cur = 0; getrlimit(RLIMIT_STACK, l); S(l->rlim_cur); } /* @getrlimit/getrlimit64 none ignored */
static void vfs_lost(int fd) { struct statvfs v = { 0 }; S(fstatvfs(fd, &v)); S(v.f_bsize); } /* @fstatvfs/fstatvfs64 none used */
static void sendfile_loop(int o, int i, size_t n) { while (n) { ssize_t k = sendfile(o, i, NULL, n); if (k <= 0) { note("sendfile"); break; } n -= k; } } /* @sendfile/sendfile64 all */
static void mkstemp_checked(char *t) { int fd = mkstemp(t); if (fd < 0) abort(); S(fd); } /* @mkstemp/mkstemp64 all */
static void tmpfile_deref(void) { keep = tmpfile(); S(fileno((FILE *)keep)); } /* @tmpfile/tmpfile64 none dereferenced/used; @fileno any */

int main(int argc, char **argv)
{
    const char *p = argv[argc - 1];
    size_t n = argc + 3;
    int fd = argc + 2;
    struct pollfd pf = { .fd = fd }; struct rlimit rl;
    DIR *d = opendir(p);                                /* @opendir all */
    if (!d) return 1;
    read_checked(fd, n); read_lost(fd, n); read_index(fd, n); read_eintr(fd, n); pread_full(fd, n, 1); pread_zero(fd, n, 2);
    recv_checked(fd, n); recvfrom_lost(fd, n); fgets_checked(stdin, fd); fgets_lost(stdin, fd); fgets_deref(stdin, fd);
    fread_checked(stdin, n); fread_ferror(stdin, n); fread_lost(stdin, n); readlink_checked(p, n); readlink_term(p, n);
    getcwd_checked(n); getcwd_strlen(n); realpath_checked(p); hostname_lost(n); hostname_checked(n); poll_checked(&pf, argc);
    groups_used(argc); wide_checked(p, n); wide_used(L"abc", n); out_lost(p, argc); out_checked(stdout, p, argc);
    out_ferror(stdout, p, argc); out_used(argc); dprintf_lost(fd, argc); dprintf_checked(fd, argc); asprintf_checked(argc);
    asprintf_lost(argc); out_va(stdout, "%d %d\n", argc, fd); out_va_raw("%s\n", p);
    open_checked(p); open_flags(p, argc); open_exist(p); openat_le(fd, p); lseek_checked(fd, argc); stat_checked(p, fd);
    lstat_lost(p); fopen_deref(p); fopen_checked(p); trunc_pair(fd, p, argc); mmap_checked(fd, n); mmap_deref(fd, n);
    fallocate_part(fd, argc); readdir_checked(d); readdir_errno(d); limit_lost(&rl); vfs_lost(fd); sendfile_loop(fd, 0, n);
    mkstemp_checked(argv[0]); tmpfile_deref();
    return 0;
}

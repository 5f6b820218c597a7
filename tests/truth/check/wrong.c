/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons that do not tell failure from success, and results that nobody looks at. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define S(e) (sink += (long)(e))
static __attribute__((noinline)) void note(const char *what) { fails++; perror(what); }

/* ---- wrong constants ---- */
static void mmap_null(size_t n)
{
    char *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap none used/dereferenced */
    if (!m) { note("mmap"); return; }
    m[0] = 'x';
}
static void open_bang(const char *p)
{
    int fd = open(p, O_RDONLY);                         /* @open none used */
    if (!fd) note("open");
    S(fd);
}
static void open_truth(const char *p) { int fd = open(p, O_WRONLY); if (fd) S(fd); else note("open"); } /* @open none used */
static void open_eq_zero(const char *p)
{
    int fd = creat(p, 0644);                            /* @creat none used */
    if (fd == 0) { note("creat"); return; }
    close(fd);                                          /* @close none ignored */
}
static void open_unsigned(const char *p)
{
    unsigned fd = openat(AT_FDCWD, p, O_RDWR);          /* @openat none used */
    if (fd > 2) S(fd); else note("standard descriptor");
}
static void malloc_minus1(size_t n)
{
    char *p = malloc(n);                                /* @malloc none used/dereferenced */
    if (p == (char *)-1) { note("malloc"); return; }
    p[0] = 'm'; keep = p;
}
static void fork_zero(void)
{
    pid_t pid = fork();                                 /* @fork none used */
    if (pid == 0) _exit(3);
    S(pid);
}
static void fork_switch(void)
{
    switch (fork()) {                                   /* @fork none used/ignored */
    case 0: _exit(4);
    default: S(1);
    }
}
static void fork_wait(void)
{
    int st = 0;
    pid_t pid = vfork();                                /* @vfork none used */
    if (!pid) _exit(5);
    waitpid(pid, &st, 0);                               /* @waitpid none ignored */
    S(st);
}
static void read_eq_zero(int fd)
{
    char b[16];
    ssize_t n = read(fd, b, sizeof b);                  /* @read none used */
    if (n == 0) { note("end"); return; }
    S(n);
}
static void read_truth(int fd)
{
    char c = 0;
    if (pread(fd, &c, 1, 2)) S(c); else note("end");    /* @pread none used/ignored */
}
static void read_lt_sizeof(int fd)
{
    char b[24];
    if (read(fd, b, sizeof b) < sizeof b) { note("short"); return; } /* @read none used/ignored */
    S(b[3]);
}
static void recv_unsigned_lt0(int s)
{
    char b[8] = "";
    size_t n = recv(s, b, sizeof b, 0);                 /* @recv none used */
    if (n < 0) { note("recv"); return; }
    S(n + b[0]);
}
static void unsigned_le0(int s, const char *b)
{
    size_t n = send(s, b, 4, MSG_NOSIGNAL);             /* @send none used */
    if (n <= 0) note("send");
    S(n);
}
static void uchar_eof(FILE *f)
{
    unsigned char c = fgetc(f);                         /* @fgetc none used */
    if (c == (unsigned char)'\n') note("line");
    S(c);
}
static void create_negative(pthread_t *t, void *(*f)(void *))
{
    if (pthread_create(t, NULL, f, NULL) < 0) note("create"); /* @pthread_create none used/ignored */
}
static void join_minus1(pthread_t t)
{
    if (pthread_join(t, NULL) == -1) note("join");      /* @pthread_join none used/ignored */
}
static void memalign_negative(size_t a)
{
    void *p = NULL;
    int rc = posix_memalign(&p, a, 128);                /* @posix_memalign none used/ignored */
    if (rc < 0) note("memalign");
    keep = p;
}
static void fallocate_minus1(int fd, off_t n)
{
    if (posix_fallocate(fd, 0, n) == -1) note("fallocate"); /* @posix_fallocate none used/ignored */
}
static void spawn_negative(pid_t *pid, char **v)
{
    if (posix_spawn(pid, v[0], NULL, NULL, v, NULL) < 0) note("spawn"); /* @posix_spawn none used/ignored */
}
static void gai_positive(const char *h)
{
    struct addrinfo *ai = NULL;
    if (getaddrinfo(h, NULL, NULL, &ai) > 0) note("gai"); /* @getaddrinfo none used/ignored */
    keep = ai;
}
static void gai_lost(const char *h)
{
    struct addrinfo *ai = NULL;
    getaddrinfo(h, "http", NULL, &ai);                  /* @getaddrinfo none ignored */
    keep = ai;
}
static void lseek_zero(int fd)
{
    off_t at = lseek(fd, 0, SEEK_END);                  /* @lseek none used */
    if (at == 0) note("empty");
    S(at);
}
static void opendir_minus1(const char *p)
{
    DIR *d = opendir(p);                                /* @opendir none used/dereferenced */
    if (d == (DIR *)-1) { note("opendir"); return; }
    closedir(d);                                        /* @closedir none ignored */
}
static void signal_null(int s)
{
    void (*old)(int) = signal(s, SIG_DFL);              /* @signal none used */
    if (old == NULL) S(1);
    keep = (void *)old;
}
static void iconv_null(const char *from)
{
    iconv_t c = iconv_open("UTF-8", from);              /* @iconv_open none used */
    if (c == NULL) note("iconv");
    keep = c;
}
static void strtol_zero(const char *s) { long v = strtol(s, NULL, 10); if (v == 0) note(s); S(v); } /* @strtol any */
static void stat_positive(const char *p)
{
    struct stat st = { 0 };
    if (stat(p, &st) > 0) note("stat");                 /* @stat none used/ignored */
    S(st.st_size);
}
static void close_positive(int fd) { if (close(fd) == 1) note("close"); } /* @close none used/ignored */
static void mbs_signed(const char *s)
{
    wchar_t w[8] = L"";
    size_t n = mbstowcs(w, s, 8);                       /* @mbstowcs none used */
    if (n == 0) note("empty");
    S(n);
}

/* ---- errno asked too late or not at all ---- */
static void errno_other_call(const char *p, int fd)
{
    mkdir(p, 0700);                                     /* @mkdir any */
    close(fd);                                          /* @close any */
    if (errno) note("one of the two");
}
static void errno_saved_unused(const char *p)
{
    rmdir(p);                                           /* @rmdir none ignored/used */
    int e = errno;
    S(e);
}
static void errno_late(const char *p, int fd)
{
    if (chdir(p) < 0) {                                 /* @chdir all */
        close(fd);                                      /* @close any */
        if (errno == ENOENT) S(2); else note("chdir");
    }
}

/* ---- ignored ---- */
static void ignored(const char *p, int fd)
{
    unlink(p);                                          /* @unlink none ignored */
    chmod(p, 0600);                                     /* @chmod none ignored */
    fsync(fd);                                          /* @fsync none ignored */
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);               /* @fcntl none ignored */
    setenv("A", p, 1);                                  /* @setenv none ignored */
    kill(getppid(), 0);                                 /* @kill none ignored */
}
static void ignored_cast(int fd, char *b) { if (read(fd, b, 1)) {} (void)!write(fd, b, 1); } /* @read none ignored/used; @write none ignored/used */
static void overwritten(int a, int b)
{
    int rc = close(a);                                  /* @close none ignored/used */
    rc = fdatasync(b);                                  /* @fdatasync all */
    if (rc) note("fdatasync");
}
static void empty_if(const char *p) { if (rename(p, "x") < 0) { } } /* @rename none ignored/used */
static void print_out(const char *p)
{
    printf("name %s\n", p);                             /* @printf none ignored */
    fprintf(stderr, "%d of %s\n", fails, p);            /* @fprintf none ignored */
    puts(p);                                            /* @puts none ignored */
    fputs("end", stdout);                               /* @fputs/fwrite none ignored */
    fflush(stdout);                                     /* @fflush none ignored */
}

/* ---- used as it is ---- */
static void used_descriptor(const char *p, char *b)
{
    int fd = open(p, O_RDONLY | O_NONBLOCK);            /* @open none used */
    S(read(fd, b, 4));                                  /* @read none used */
    close(fd);                                          /* @close none ignored */
}
static void used_flags(int fd)
{
    int fl = fcntl(fd, F_GETFL);                        /* @fcntl none used */
    fcntl(fd, F_SETFL, fl | O_NONBLOCK);                /* @fcntl none ignored */
}
static void used_index(int fd, char *b) { ssize_t n = read(fd, b, 7); b[n] = 0; } /* @read none used */
static void used_sum(int fd, char *b) { size_t t = 0; for (int i = 0; i < 3; i++) t += write(fd, b, 2); S(t); } /* @write none used */
static void used_nested(int s) { close(accept(s, NULL, NULL)); } /* @close none ignored; @accept none used */
static void used_event(unsigned v) { uint64_t one = 1; S(write(eventfd(v, 0), &one, sizeof one)); } /* @write none used; @eventfd none used */
static void used_atol(const char *s) { S(strtol(s, NULL, 0) * 3); } /* @strtol none used */
static void used_scan(const char *s) { int a = 0; sscanf(s, "%d", &a); S(a); } /* @sscanf/__isoc99_sscanf none ignored */
static void used_time(const struct timespec *t) { struct timespec r = { 0, 0 }; S(nanosleep(t, &r)); } /* @nanosleep none used */

/* ---- dereferenced ---- */
static void deref_all(size_t n) { int *p = malloc(n * sizeof *p); p[1] = 7; keep = p; } /* @malloc none dereferenced */
static void deref_some(size_t n, int k) { char *p = malloc(n); if (k > 3) p[0] = 1; keep = p; } /* @malloc none dereferenced/used */
static void deref_strlen(const char *v) { S(strlen(getenv(v))); } /* @getenv none dereferenced */
static void deref_member(const char *u) { S(getpwnam(u)->pw_uid); } /* @getpwnam none dereferenced */
static void deref_member2(gid_t g) { struct group *gr = getgrgid(g); S(gr->gr_name[0]); } /* @getgrgid none dereferenced */
static void deref_fopen(const char *p) { fclose(fopen(p, "w")); } /* @fclose none ignored; @fopen none dereferenced */
static void deref_dir(const char *p) { struct dirent *e = readdir(opendir(p)); if (e) S(e->d_name[0]); } /* @readdir all; @opendir none dereferenced */
static void deref_copy(const char *s, size_t n) { char *d = calloc(n, 1); memcpy(d, s, n); keep = d; } /* @calloc none dereferenced */
static void deref_strcpy(const char *s) { char *d = malloc(strlen(s) + 1); strcpy(d, s); keep = d; } /* @malloc none dereferenced */
static void deref_dup(const char *s) { char *d = strdup(s); d[0] = '-'; keep = d; } /* @strdup none dereferenced */
static void deref_realloc(size_t n) { int *p = realloc(keep, n); p[2] = 1; keep = p; } /* @realloc none dereferenced */
static void deref_real(const char *p) { char *r = realpath(p, NULL); S(strlen(r)); free(r); } /* @realpath none dereferenced */
static void deref_tm(const time_t *t) { S(localtime(t)->tm_year); } /* @localtime none dereferenced */
static void deref_line(FILE *f) { char b[20]; b[0] = 0; S(strlen(fgets(b, sizeof b, f))); } /* @fgets none dereferenced */
static void *thr(void *a) { return a; }

int main(int argc, char **argv)
{
    const char *p = argv[argc - 1];
    int fd = argc + 2;
    char buf[64]; pthread_t t; pid_t pid; time_t now = argc; struct timespec ts = { argc, 1 };
    mmap_null(argc); open_bang(p); open_truth(p); open_eq_zero(p); open_unsigned(p); malloc_minus1(argc);
    fork_zero(); fork_switch(); fork_wait(); read_eq_zero(fd); read_truth(fd); read_lt_sizeof(fd);
    recv_unsigned_lt0(fd); unsigned_le0(fd, p); uchar_eof(stdin); create_negative(&t, thr); join_minus1(t);
    memalign_negative(argc); fallocate_minus1(fd, argc); spawn_negative(&pid, argv); gai_positive(p); gai_lost(p);
    lseek_zero(fd); opendir_minus1(p); signal_null(argc); iconv_null(p); strtol_zero(p); stat_positive(p);
    close_positive(fd); mbs_signed(p); errno_other_call(p, fd); errno_saved_unused(p); errno_late(p, fd);
    ignored(p, fd); ignored_cast(fd, buf); overwritten(fd, argc); empty_if(p); print_out(p);
    used_descriptor(p, buf); used_flags(fd); used_index(fd, buf); used_sum(fd, buf); used_nested(fd);
    used_event(argc); used_atol(p); used_scan(p); used_time(&ts);
    deref_all(argc); deref_some(argc, fd); deref_strlen(p); deref_member(p); deref_member2(argc); deref_fopen(p);
    deref_dir(p); deref_copy(p, argc); deref_strcpy(p); deref_dup(p); deref_realloc(argc); deref_real(p);
    deref_tm(&now); deref_line(stdin);
    return 0;
}

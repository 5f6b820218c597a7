/* SPDX-License-Identifier: Apache-2.0 */
/* Some errors looked at and the rest taken for success; beside them, their correct twins. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
#define S(e) (sink += (long)(e))
static NOINLINE void note(const char *what) { fails++; perror(what); }

/* ---- EINTR loops ---- */
static void eintr_read(int fd) { char b[8] = ""; ssize_t n; do n = read(fd, b, 8); while (n < 0 && errno == EINTR); S(n + b[0]); } /* @read some missing=EIO */
static void eintr_read_ok(int fd) { char b[9]; ssize_t n; do n = read(fd, b, 9); while (n < 0 && errno == EINTR); if (n < 0) note("r"); else S(n); } /* @read all */
static void eintr_close(int fd) { while (close(fd) == -1 && errno == EINTR) S(1); } /* @close some missing=EIO */
static void eintr_wait(pid_t pid) { int st = 0; while (waitpid(pid, &st, 0) < 0 && errno == EINTR) continue; S(st); } /* @waitpid some missing=ECHILD */
static void eintr_wait_ok(pid_t pid)
{
    int st;
    while (waitpid(pid, &st, WUNTRACED) < 0)            /* @waitpid all */
        if (errno != EINTR) { note("waitpid"); return; }
    S(st);
}
static void eintr_retry(int fd, const char *b) { S(TEMP_FAILURE_RETRY(write(fd, b, 5))); } /* @write some missing=ENOSPC */
static void eintr_retry_ok(int fd, const char *b) { if (TEMP_FAILURE_RETRY(write(fd, b, 6)) != 6) note("write"); } /* @write all */
static void eintr_goto(int fd)
{
again:
    if (fsync(fd) < 0) {                                /* @fsync some missing=EIO */
        if (errno == EINTR) goto again;
    }
    S(2);
}
static void eintr_open(const char *p)
{
    int fd;
    for (;;) {
        fd = open(p, O_WRONLY);                         /* @open some missing=EACCES */
        if (fd == -1 && errno == EINTR) continue;
        break;
    }
    S(fd);
}
static void eintr_sleep(struct timespec *t) { while (nanosleep(t, t) == -1 && errno == EINTR) ; } /* @nanosleep some missing=EINVAL */
static void eintr_poll(struct pollfd *pf)
{
    int n = poll(pf, 1, 10);                            /* @poll some missing=ENOMEM */
    if (n < 0 && errno == EINTR) return;
    S(pf->revents);
}
static void eintr_poll_ok(struct pollfd *pf)
{
    int n = poll(pf, 1, 20);                            /* @poll all */
    if (n < 0 && errno != EINTR) { note("poll"); return; }
    S(pf->revents);
}
static void eintr_epoll(int e)
{
    struct epoll_event ev[4];
    int n = epoll_wait(e, ev, 4, 5);                    /* @epoll_wait some missing=EBADF */
    if (n == -1 && errno == EINTR) n = 0;
    S(n);
}
static void eintr_select(int n, fd_set *s)
{
    if (select(n, s, NULL, NULL, NULL) == -1) {         /* @select some missing=EBADF */
        if (errno == EINTR) return;
    }
    S(FD_ISSET(0, s));
}

/* ---- one error of several ---- */
static void mkdir_exists(const char *p) { int rc = mkdir(p, 0700); if (rc && errno == EEXIST) note("exists"); S(3); } /* @mkdir some missing=EACCES */
static void mkdir_exists_ok(const char *p) { if (mkdir(p, 0701) && errno != EEXIST) note("mkdir"); } /* @mkdir all */
static void unlink_enoent(const char *p) { if (unlink(p) < 0 && errno == ENOENT) note("gone"); } /* @unlink some missing=EACCES */
static void unlink_enoent_ok(const char *p) { if (unlink(p) < 0 && errno != ENOENT) note("unlink"); } /* @unlink all */
static void rename_exdev(const char *a, const char *b) { if (rename(a, b) == -1 && errno == EXDEV) { note("copy"); return; } S(4); } /* @rename some missing=EACCES */
static void connect_progress(int s, const struct sockaddr *a, socklen_t l) { if (connect(s, a, l) < 0 && errno == EINPROGRESS) { S(5); return; } S(6); } /* @connect some missing=ECONNREFUSED */
static void connect_progress_ok(int s, const struct sockaddr *a, socklen_t l) { if (connect(s, a, l) < 0 && errno != EINPROGRESS) note("connect"); } /* @connect all */
static void recv_again(int s)
{
    char b[12]; b[0] = 0;
    ssize_t n = recv(s, b, sizeof b, MSG_DONTWAIT);     /* @recv some missing=ECONNREFUSED */
    if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    S(n * b[0]);
}
static void send_pipe(int s, const char *b) { if (send(s, b, 3, 0) < 0 && errno == EPIPE) note("peer"); } /* @send some missing=ECONNRESET */
static void accept_full(int s) { int c = accept(s, NULL, NULL); if (c < 0 && errno == EMFILE) note("full"); S(c); } /* @accept some missing=ENFILE */
static void bind_inuse(int s, const struct sockaddr *a, socklen_t l) { if (bind(s, a, l) != 0 && errno == EADDRINUSE) { note("in use"); return; } S(7); } /* @bind some missing=EACCES */
static void fork_again(void) { pid_t p = fork(); if (p == 0) _exit(0); if (p < 0 && errno == EAGAIN) { note("later"); return; } S(p); } /* @fork some missing=ENOMEM */
static void kill_srch(pid_t p) { if (kill(p, SIGTERM) == -1 && errno == ESRCH) note("no process"); } /* @kill some missing=EPERM */
static void flock_busy(int fd) { if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) { note("busy"); return; } S(8); } /* @flock some missing=ENOLCK */
static void setlk_busy(int fd, struct flock *fl)
{
    if (fcntl(fd, F_SETLK, fl) == -1) {                 /* @fcntl some missing=ENOLCK */
        if (errno == EACCES || errno == EAGAIN) { note("locked"); return; }
    }
    S(9);
}
static void ioctl_notty(int fd) { int n = 0; if (ioctl(fd, FIONREAD, &n) < 0 && errno == ENOTTY) return; S(n); } /* @ioctl some missing=EBADF */
static void lseek_pipe(int fd) { off_t o = lseek(fd, 0, SEEK_CUR); if (o == -1 && errno == ESPIPE) { note("pipe"); return; } S(o); } /* @lseek some missing=EBADF */
static void limit_perm(struct rlimit *l) { if (setrlimit(RLIMIT_NOFILE, l) < 0 && errno == EPERM) note("limit"); } /* @setrlimit some missing=EINVAL */
static void lock_nomem(void *m, size_t n) { if (mlock(m, n) && errno == ENOMEM) note("mlock"); } /* @mlock some missing=EPERM */
static void semwait_late(sem_t *s, const struct timespec *t) { if (sem_timedwait(s, t) < 0 && errno == ETIMEDOUT) { S(10); return; } S(11); } /* @sem_timedwait some missing=EINTR */
static void cwd_range(char *b, size_t n) { char *r = getcwd(b, n); if (!r && errno == ERANGE) { note("long"); return; } S(b[0]); } /* @getcwd some missing=ENOENT */
static void opendir_enoent(const char *p)
{
    DIR *d = opendir(p);                                /* @opendir some missing=EACCES */
    if (d == NULL && errno == ENOENT) return;
    S(dirfd(d));                                        /* @dirfd any */
}
static void fopen_enoent(const char *p)
{
    FILE *f = fopen(p, "r");                            /* @fopen some missing=EACCES */
    if (!f && errno == ENOENT) { note("none"); return; }
    S(fgetc(f));                                        /* @fgetc none used */
}
static void iconv_2big(iconv_t c, char **i, size_t *il, char **o, size_t *ol)
{
    size_t r = iconv(c, i, il, o, ol);                  /* @iconv some missing=EILSEQ */
    if (r == (size_t)-1 && errno == E2BIG) { note("grow"); return; }
    S(r);
}
static void readlink_inval(const char *p)
{
    char b[64];
    ssize_t n = readlink(p, b, sizeof b);               /* @readlink some missing=EACCES */
    if (n < 0 && errno == EINVAL) return;
    S(n);
}
static void create_then(const char *p)
{
    int fd = open(p, O_RDWR);                           /* @open some missing=EACCES */
    if (fd < 0 && errno == ENOENT) fd = open(p, O_RDWR | O_CREAT, 0600); /* @open none used */
    S(fd);
}
static void create_then_ok(const char *p)
{
    int fd = open(p, O_RDONLY);                         /* @open all */
    if (fd < 0 && errno == ENOENT) fd = open(p, O_RDONLY | O_CREAT, 0600); /* @open all */
    if (fd < 0) note("open"); else S(fd);
}

/* ---- errno in other shapes ---- */
static void switch_no_default(const char *p)
{
    if (chdir(p) < 0)                                   /* @chdir some missing=ENAMETOOLONG */
        switch (errno) {
        case ENOENT: note("none"); return;
        case EACCES: note("denied"); return;
        }
    S(12);
}
static void switch_default_ok(const char *p)
{
    if (rmdir(p) < 0)                                   /* @rmdir all */
        switch (errno) {
        case ENOENT: S(13); break;
        case ENOTEMPTY: note("full"); break;
        default: abort();
        }
}
static void else_if_chain(const char *p)
{
    if (truncate(p, 3) != 0) {                          /* @truncate some missing=EINVAL */
        if (errno == EACCES) note("denied");
        else if (errno == EISDIR) note("directory");
    }
}
static void detail_ok(const char *p) { if (chmod(p, 0) < 0) { if (errno == EPERM) S(14); note("chmod"); } } /* @chmod all */
static void errno_alone(const char *p) { errno = 0; S(creat(p, 0600)); if (errno == EACCES) note("denied"); } /* @creat some missing=ENOENT */
static NOINLINE int is_full(int e) { return e == ENOSPC || e == EDQUOT; }
static void predicate(int fd, const char *b) { if (write(fd, b, 7) < 0 && is_full(errno)) note("full"); } /* @write some missing=EIO */
static void saved_errno(const char *a, const char *b)
{
    int e = 0;
    if (link(a, b) < 0) e = errno;                      /* @link some missing=EACCES */
    S(getpid());
    if (e == EEXIST) note("exists");
}
static void saved_errno_ok(const char *a, const char *b)
{
    int e = 0;
    if (symlink(a, b) < 0) e = errno;                   /* @symlink all */
    if (e == EEXIST) S(15); else if (e) note("symlink");
}
static NOINLINE int status_of(int fd) { return fdatasync(fd) ? errno : 0; } /* @fdatasync some missing=EBADF */
static void status_one(int fd) { if (status_of(fd) == EIO) abort(); }

/* ---- error numbers as results ---- */
static void trylock_busy(pthread_mutex_t *m) { if (pthread_mutex_trylock(m) == EBUSY) { S(16); return; } S(17); } /* @pthread_mutex_trylock some missing=ENOTRECOVERABLE */
static void trylock_ok(pthread_rwlock_t *m) { int e = pthread_rwlock_tryrdlock(m); if (e == EBUSY) S(18); else if (e) note("rw"); } /* @pthread_rwlock_tryrdlock all */
static void rdlock_dead(pthread_rwlock_t *m) { if (pthread_rwlock_rdlock(m) == EDEADLK) note("rw"); } /* @pthread_rwlock_rdlock some missing=EAGAIN */
static void robust(pthread_mutex_t *m) { if (pthread_mutex_lock(m) == EOWNERDEAD) S(pthread_mutex_consistent(m)); } /* @pthread_mutex_lock some missing=ENOTRECOVERABLE; @pthread_mutex_consistent none used */
static void timed(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t) { if (pthread_cond_timedwait(c, m, t) == ETIMEDOUT) { S(19); return; } S(20); } /* @pthread_cond_timedwait some missing=EINVAL */
static void create_again(pthread_t *t, pthread_attr_t *a, void *(*f)(void *)) { if (pthread_create(t, a, f, NULL) == EAGAIN) note("later"); } /* @pthread_create some missing=EPERM */
static void join_srch(pthread_t t) { if (pthread_join(t, NULL) == ESRCH) note("none"); } /* @pthread_join some missing=EDEADLK */
static void detach_inval(pthread_t t) { int e = pthread_detach(t); if (e == EINVAL) note("detached"); } /* @pthread_detach some missing=ESRCH */
static void fallocate_full(int fd, off_t n) { if (posix_fallocate(fd, 0, n) == ENOSPC) note("full"); } /* @posix_fallocate some missing=EBADF */
static void fallocate_two(int fd, off_t n) { switch (posix_fallocate(fd, 1, n)) { case ENOSPC: note("full"); break; case EFBIG: note("big"); } } /* @posix_fallocate some missing=EBADF */
static void memalign_nomem(size_t a) { void *p = NULL; if (posix_memalign(&p, a, 100) == ENOMEM) abort(); keep = p; } /* @posix_memalign some missing=EINVAL */
static void fadvise_pipe(int fd) { if (posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) == ESPIPE) S(21); } /* @posix_fadvise some missing=EBADF */
static void spawn_noent(pid_t *pid, char **v) { if (posix_spawnp(pid, v[0], NULL, NULL, v, NULL) == ENOENT) note("none"); else S(*pid); } /* @posix_spawnp some missing=EACCES */
static void tty_not(int fd) { char b[64] = ""; if (ttyname_r(fd, b, sizeof b) == ENOTTY) return; S(b[0]); } /* @ttyname_r some missing=EBADF */
static void clock_intr(struct timespec *t) { while (clock_nanosleep(CLOCK_MONOTONIC, 0, t, t) == EINTR) ; } /* @clock_nanosleep some missing=EINVAL */
static void gai_again(const char *h) { struct addrinfo *a = NULL; if (getaddrinfo(h, "1", NULL, &a) == EAI_AGAIN) { note("later"); return; } keep = a; } /* @getaddrinfo some missing=EAI_NONAME */
static void gai_two(const char *h)
{
    struct addrinfo *a = NULL;
    int e = getaddrinfo(h, "2", NULL, &a);              /* @getaddrinfo some missing=EAI_FAIL */
    if (e == EAI_NONAME || e == EAI_AGAIN) { note(gai_strerror(e)); return; }
    keep = a;
}
static void gai_system_ok(const char *h)
{
    struct addrinfo *a;
    int e = getaddrinfo(h, "3", NULL, &a);              /* @getaddrinfo all */
    if (e == EAI_SYSTEM) note("system"); else if (e) note(gai_strerror(e)); else freeaddrinfo(a);
}
static void pton_zero(int af, const char *s) { struct in6_addr a; memset(&a, 0, sizeof a); if (inet_pton(af, s, &a) == 0) note(s); S(a.s6_addr[0]); } /* @inet_pton some missing=EAFNOSUPPORT */
static void pwnam_range(const char *u)
{
    char b[256]; struct passwd pw, *r = NULL;
    if (getpwnam_r(u, &pw, b, sizeof b, &r) == ERANGE) note("long"); /* @getpwnam_r some missing=EMFILE */
    keep = r;
}
static void *thr(void *a) { return a; }

int main(int argc, char **argv)
{
    static pthread_mutex_t m; static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_cond_t cv = PTHREAD_COND_INITIALIZER; static sem_t sem;
    const char *p = argv[argc - 1], *q = argv[0];
    char buf[64], *ip = argv[0], *op = buf; size_t il = argc, ol = sizeof buf;
    int fd = argc + 2; pid_t pid = argc + 30000; pthread_t t = pthread_self();
    struct pollfd pf = { .fd = fd }; struct timespec ts = { argc, argc }; fd_set set; struct rlimit rl = { argc, argc };
    struct flock fl = { .l_type = F_WRLCK }; struct sockaddr_in sa = { .sin_family = AF_INET }; pthread_attr_t at;
    pthread_mutexattr_t ma;
    pthread_mutexattr_init(&ma);                        /* @pthread_mutexattr_init any */
    pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST); /* @pthread_mutexattr_setrobust any */
    if (pthread_mutex_init(&m, &ma)) return 1;          /* @pthread_mutex_init all */
    FD_ZERO(&set); pthread_attr_init(&at);              /* @pthread_attr_init any */
    pthread_attr_setinheritsched(&at, PTHREAD_EXPLICIT_SCHED); /* @pthread_attr_setinheritsched any */
    pthread_attr_setschedpolicy(&at, SCHED_RR);         /* @pthread_attr_setschedpolicy any */
    iconv_t ic = iconv_open(p, q);                      /* @iconv_open all */
    if (ic == (iconv_t)-1) return 1;
    eintr_read(fd); eintr_read_ok(fd); eintr_close(fd); eintr_wait(pid); eintr_wait_ok(pid); eintr_retry(fd, q);
    eintr_retry_ok(fd, q); eintr_goto(fd); eintr_open(p); eintr_sleep(&ts); eintr_poll(&pf); eintr_poll_ok(&pf);
    eintr_epoll(fd); eintr_select(argc, &set); mkdir_exists(p); mkdir_exists_ok(p); unlink_enoent(p); unlink_enoent_ok(q);
    rename_exdev(p, q); connect_progress(fd, (void *)&sa, sizeof sa); connect_progress_ok(fd, (void *)&sa, sizeof sa);
    recv_again(fd); send_pipe(fd, q); accept_full(fd); bind_inuse(fd, (void *)&sa, sizeof sa); fork_again(); kill_srch(pid);
    flock_busy(fd); setlk_busy(fd, &fl); ioctl_notty(fd); lseek_pipe(fd); limit_perm(&rl); lock_nomem(buf, argc);
    semwait_late(&sem, &ts); cwd_range(buf, argc); opendir_enoent(p); fopen_enoent(p); iconv_2big(ic, &ip, &il, &op, &ol);
    readlink_inval(p); create_then(p); create_then_ok(p); switch_no_default(p); switch_default_ok(p); else_if_chain(p);
    detail_ok(p); errno_alone(p); predicate(fd, q); saved_errno(p, q); saved_errno_ok(p, q); status_one(fd);
    trylock_busy(&m); trylock_ok(&rw); rdlock_dead(&rw); robust(&m); timed(&cv, &m, &ts); create_again(&t, &at, thr);
    join_srch(t); detach_inval(t); fallocate_full(fd, argc); fallocate_two(fd, argc); memalign_nomem(argc);
    fadvise_pipe(fd); spawn_noent(&pid, argv); tty_not(fd); clock_intr(&ts); gai_again(p); gai_two(p); gai_system_ok(p);
    pton_zero(argc, p); pwnam_range(p);
    return 0;
}

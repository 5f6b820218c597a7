/* SPDX-License-Identifier: Apache-2.0 */
/* A gauge of the analysis: results that compilers turn into arithmetic, flags and tables; fortified and large files. */
/* flags: -D_GNU_SOURCE -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 -fno-plt */
#include <arpa/inet.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define N __attribute__((noinline, noclone))

enum code { OK = 0, FAIL = 1, LATER = 2, GONE = 3 };
struct pair { int a, b; };
static int table[8];
static unsigned char bits;
static char text[4096];
static const char *const words[] = { "failed", "done" };

/* into values */
N int v_mask(const char *p) { return ~-(access(p, R_OK) == 0) & FAIL; } /* @access all */
N int v_twice(int fd) { return 2 * (fsync(fd) != 0) + 1; } /* @fsync all */
N enum code v_code(const char *p) { return rmdir(p) == 0 ? OK : errno == ENOENT ? GONE : FAIL; } /* @rmdir all */
N const char *v_word(const char *p) { return words[unlink(p) == 0]; } /* @unlink all */
N const char *v_word_offset(const char *p) { return words[1 + chmod(p, 0)]; } /* @chmod any */
N bool v_both(const char *p) { return !(access(p, R_OK) | access(p, W_OK)); } /* @access all */
N int v_minus(const char *p, const char *q) { return -rename(p, q); } /* @rename all */
N unsigned v_bit(const char *p) { return (unsigned)mkdir(p, 0700) & 1; } /* @mkdir all */
N int v_min(int fd) { int n = (int)read(fd, text, 100); return n < 0 ? 0 : n > 50 ? 50 : n; } /* @read all */
N size_t v_max(int fd) { ssize_t n = read(fd, text, 100); return n > 0 ? (size_t)n : 0; } /* @read all */
N int v_abs(const char *p) { return abs(truncate(p, 1)); } /* @truncate any */
N void v_flag(int fd) { if (fdatasync(fd)) bits |= 4; } /* @fdatasync all */
N void v_flag_set(int fd) { bits |= (unsigned char)((fdatasync(fd) < 0) << 3); } /* @fdatasync all */
N void v_count(const char *p) { table[0] += symlink(p, p) == -1; } /* @symlink all */
N void v_store(const char *p) { table[1] = chdir(p); } /* @chdir all */
N void v_store_unseen(const char *p) { table[2] = chdir(p); } /* @chdir any */
N int v_array(char **p) { int r[3] = { rmdir(p[0]), rmdir(p[1]), rmdir(p[2]) }; return r[0] < 0 || r[1] < 0 || r[2] < 0; } /* @rmdir all */

/* compared with others */
N bool o_same(int fd, const char *b, size_t n) { return (size_t)write(fd, b, n) == n; } /* @write all */
N bool o_less(int fd, const char *b, ssize_t n) { return write(fd, b, (size_t)n) < n; } /* @write all */
N bool o_field(int fd, struct iovec *v) { return readv(fd, v, 1) == (ssize_t)v->iov_len; } /* @readv all */
N bool o_call(int fd, const char *s) { return write(fd, s, strlen(s)) != (ssize_t)strlen(s); } /* @write all */
N bool o_pid(pid_t p) { return waitpid(p, NULL, 0) == p; } /* @waitpid all */
N bool o_room(char *b, size_t n, int k) { return (size_t)snprintf(b, n, "%d", k) < n; } /* @snprintf all */
N bool o_fd(int fd, int want) { return dup2(fd, want) == want; } /* @dup2 all */
N bool o_seek(int fd, off_t at) { return lseek(fd, at, SEEK_SET) != at; } /* @lseek all */
N bool o_items(FILE *f, void *b, size_t k) { return fread(b, 8, k, f) == k; } /* @fread all */
N int o_order(const char *p, const char *q) { int a = open(p, 0), b = open(q, 0); return a == b; } /* @open none used */
N void *o_old(void *p, size_t n) { void *q = realloc(p, n); if (q == p) return p; return memset(q, 0, n); } /* @realloc none dereferenced/used */
N bool o_getcwd(char *b) { return getcwd(b, 100) == b; } /* @getcwd all */

/* switches */
N int s_small(int fd, char *b)
{
    switch (read(fd, b, 8)) { /* @read all */
    case 8: return 1;
    case 0: return 0;
    case -1: return -1;
    }
    return 2;
}

N int s_error_number(int e)
{
    static const int map[] = { 0, 5, 4, 3 };
    return e >= 0 && e < 4 ? map[e] : -1;
}

N int s_table(const char *p)
{
    switch (link(p, p) + 1) { /* @link all */
    case 0: return 12;
    case 1: return 13;
    default: return 14;
    }
}

N int s_errno_some(const char *p)
{
    int r = 0;
    if (unlink(p) < 0) /* @unlink some missing=EBUSY */
        switch (errno) {
        case EACCES: r = 7; break;
        case EPERM: r = 9; break;
        case EROFS: r = 11; break;
        case ENOENT: r = 12; break;
        default: break;
        }
    return r;
}

N const char *s_errno_all(const char *p)
{
    if (lstat(p, &(struct stat) { 0 }) == 0) /* @lstat all */
        return "there";
    switch (errno) {
    case ENOENT: return "not there";
    case EACCES: return "hidden";
    case ELOOP: return "loop";
    case ENAMETOOLONG: return "long";
    default: return "error";
    }
}

/* conditions */
N int k_or(const char *p) { return access(p, R_OK) == 0 || mkdir(p, 0700) == 0; } /* @access all; @mkdir all */
N int k_guard(const char *p, int really) { if (really && unlink(p) != 0) return -1; return 0; } /* @unlink all */
N int k_nested(const char *p) { int fd; if ((fd = open(p, O_RDONLY)) != -1 && (fd > 2 || (fd = dup(fd)) != -1)) return fd; return -1; } /* @open all; @dup any */
N int k_ternary(const char *p, int w) { return (w ? open(p, O_WRONLY) : open(p, O_RDONLY)) < 0; } /* @open? all */
N int k_not_not(const char *p) { return !!!chdir(p); } /* @chdir all */
N int k_comma(const char *p) { int r; return errno = 0, r = rmdir(p), r ? errno : 0; } /* @rmdir all */
N int k_while(const char *p) { int i = 0; while (mkdir(p, 0700) && i < 3) i++; return i; } /* @mkdir all */
N int k_for(int fd) { int n = 0; for (ssize_t k; (k = read(fd, text, 16)) != 0 && k != -1; n += (int)k) ; return n; } /* @read all */
N int k_break(int fd) { int n = 0; for (;;) { ssize_t k = read(fd, text, 16); if (k <= 0) break; n++; } return n; } /* @read all */
N int k_until(int fd) { int n = 0; do { if (read(fd, text, 1) != 1) return -1; } while (text[0] != 'x' && ++n); return n; } /* @read all */
N int k_errno_first(int fd) { ssize_t n = read(fd, text, 9); if (errno == EINTR && n == -1) return 1; if (n == -1) return 2; return 0; } /* @read all */
N int k_eagain(int fd) { ssize_t n = read(fd, text, 9); if (n == -1 && errno != EAGAIN) return -1; return n > 3; } /* @read all */
N int k_unsigned_char(FILE *f) { int c = getc(f); return c == EOF ? 0 : c; } /* @getc all */
N int k_signed(FILE *f) { return getc(f) < 0 ? -1 : 1; } /* @getc all */
N int k_feof(FILE *f) { while (!feof(f)) if (!fgets(text, 80, f)) break; return text[0]; } /* @feof any; @fgets all */
N int k_feof_only(FILE *f) { int n = 0; while (!feof(f)) { fgets(text, 80, f); n += text[0] == 'x'; } return n; } /* @feof any; @fgets none ignored */

/* nothing */
N void n_void(const char *p) { (void)unlink(p); } /* @unlink none ignored */
N void n_if_empty(const char *p) { if (unlink(p)) { } } /* @unlink any */
N int n_overwritten(const char *p) { int r = rmdir(p); r = 4; return r; } /* @rmdir none ignored */
N int n_printed(const char *p) { return printf("%d\n", open(p, O_RDONLY)); } /* @open none used; @printf none used/returned */
N int n_passed(const char *p) { return fchmod(open(p, O_RDONLY), 0600); } /* @open none used; @fchmod none used/returned */
N int n_closed(const char *p) { return close(open(p, O_RDONLY | O_CREAT, 0600)) == 0; } /* @open none used; @close all */
N int n_deref(const char *p) { return fopen(p, "r")->_fileno; } /* @fopen none dereferenced */
N int n_member(uid_t u) { return getpwuid(u)->pw_dir[0]; } /* @getpwuid none dereferenced */
N char n_copy(const char *p) { char *q = strdup(p); q[0] = 'z'; return q[1]; } /* @strdup none dereferenced */
N size_t n_length(const char *p) { return strlen(getenv(p)); } /* @getenv none dereferenced */
N int n_list(const char *p) { DIR *d = opendir(p); int n = 0; while (readdir(d)) n++; return closedir(d) + n; } /* @opendir none dereferenced/used; @readdir all; @closedir none used/returned */
N void n_fill(size_t n) { memset(malloc(n), 1, n); } /* @malloc? none dereferenced */
N int n_zero_fd(int fd) { int d = dup(fd); if (d) write(d, "x", 1); return d; } /* @dup none used; @write none ignored */
N int n_positive(int fd) { if (ftruncate(fd, 0) > 0) return -1; return 0; } /* @ftruncate none used/ignored */
N int n_one(int fd) { if (listen(fd, 3) == 1) return -1; return 0; } /* @listen none used/ignored */
N int n_null_map(size_t n) { char *p = mmap(0, n, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); return p ? p[0] : -1; } /* @mmap none dereferenced */
N unsigned n_addr(const char *s) { return inet_addr(s) + 1u > 5u; } /* @inet_addr any */

int main(int argc, char **argv)
{
    const char *p = argv[1], *q = argv[2];
    struct iovec v = { text, 10 };
    int r = 0;

    if (argc < 5)
        return 2;
    if (v_minus(p, q) || v_mask(p) || v_abs(p))
        return 1;
    r += v_twice(1) + v_code(p) + v_word(p)[0] + v_word_offset(p)[0] + v_both(p) + (v_bit(p) ? 5 : 6) + v_min(0) + v_max(0) > 7;
    v_flag(1), v_flag_set(1), v_count(p), v_store(p), v_store_unseen(p);
    if (table[1] < 0)
        return 1;
    r += v_array(argv) + o_same(1, p, 1) + o_less(1, p, 1) + o_field(0, &v) + o_call(1, p) + o_pid(argc) + o_room(text, 4, argc);
    r += o_fd(1, 2) + o_seek(0, 3) + o_items(stdin, text, 2) + o_order(p, q) + *(char *)o_old(argv[3], 10) + o_getcwd(text);
    r += s_small(0, text) + s_error_number(argc) + s_table(p) + s_errno_some(p) + s_errno_all(p)[0];
    r += k_or(p) + k_guard(p, argc) + k_nested(p) + k_ternary(p, argc) + k_not_not(p) + k_comma(p) + k_while(p) + k_for(0);
    r += k_break(0) + k_until(0) + k_errno_first(0) + k_eagain(0) + k_unsigned_char(stdin) + k_signed(stdin) + k_feof(stdin);
    r += k_feof_only(stdin);
    n_void(p), n_if_empty(p), n_fill(10);
    r += n_overwritten(p) + n_printed(p) + n_passed(p) + n_closed(p) + n_deref(p) + n_member(1) + n_copy(p) + n_length(p);
    r += n_list(p) + n_zero_fd(1) + n_positive(1) + n_one(1) + n_null_map(10) + n_addr(p);
    return r + bits + table[0];
}

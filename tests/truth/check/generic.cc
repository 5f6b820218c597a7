/* SPDX-License-Identifier: Apache-2.0 */
// Templates, lambdas, std::function, optional, variant, error_code, containers of results.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
template <class T> static void S(T v) { sink = sink + (long)v; }
static NOINLINE void note(const char *what) { fails = fails + 1; perror(what); }

// ---- templates ----
template <class T> T check(T r, const char *what)
{
    if (r == (T)-1) throw std::system_error(errno, std::generic_category(), what);
    return r;
}
template <class T> T *nonnull(T *p) { if (!p) throw std::bad_alloc(); return p; }
template <class T> T pass(T v) { sink = sink + 1; return v; }
template <class F, class... A> int retry(F f, A... a) { int r; do r = f(a...); while (r < 0 && errno == EINTR); return r; }
static void t_open(const char *p) { S(check(open(p, O_RDONLY), "open")); } /* @open all */
static void t_lseek(int fd) { S(check(lseek(fd, 0, SEEK_END), "lseek")); } /* @lseek all */
static void t_mmap(size_t n) { keep = check(mmap(nullptr, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "mmap"); } /* @mmap all */
static void t_read(int fd) { char b[8]; S(check<ssize_t>(read(fd, b, sizeof b), "read") + b[0]); } /* @read all */
static void t_alloc(size_t n) { keep = nonnull(static_cast<char *>(malloc(n))); } /* @malloc all */
static void t_fopen(const char *p) { keep = nonnull(fopen(p, "r")); } /* @fopen all */
static void t_wrong(size_t n) { char *p = check(static_cast<char *>(malloc(n)), "malloc"); p[0] = 1; keep = p; } /* @malloc none used/dereferenced */
static void t_wrong_thread(pthread_t *t, void *(*f)(void *)) { check(pthread_create(t, nullptr, f, nullptr), "create"); } /* @pthread_create none used/ignored */
static void t_pass(const char *p) { S(pass(creat(p, 0600))); } /* @creat none used */
static void t_pass_checked(int fd) { if (pass(dup(fd)) < 0) note("dup"); } /* @dup all */
static void t_retry(int fd) { if (retry([](int x) { return fsync(x); }, fd) < 0) note("fsync"); } /* @fsync all */
static void t_retry_lost(int fd) { retry([](int x) { return fdatasync(x); }, fd); } /* @fdatasync some missing=EIO */
template <bool Strict> static void t_flag(const char *p)
{
    int rc = chmod(p, Strict ? 0600 : 0644);            /* @chmod all */
    if (rc != 0) note(Strict ? "strict" : "loose");
}

// ---- lambdas and std::function ----
static void l_checked(int fd) { auto c = [](int x) { return close(x); }; if (c(fd)) note("close"); } /* @close all */
static void l_ignored(const char *p) { auto u = [&] { return unlink(p); }; u(); } /* @unlink none ignored */
static void l_capture(const char *p) { int rc = 0; auto m = [&] { rc = mkdir(p, 0711); }; m(); if (rc < 0) note("mkdir"); } /* @mkdir all */
static NOINLINE int call(const std::function<int()> &f) { return f(); }
static void f_checked(const char *p) { if (call([p] { return rmdir(p); }) < 0) note("rmdir"); } /* @rmdir all */
static NOINLINE void call_void(const std::function<int()> &f) { f(); }
static void f_ignored(const char *p) { call_void([p] { return chdir(p); }); } /* @chdir none ignored */
static NOINLINE void call_each(const std::vector<std::function<bool()>> &v) { for (auto &f : v) if (!f()) note("step"); }
static void f_vector(const char *p, int fd)
{
    std::vector<std::function<bool()>> v;
    v.push_back([=] { return access(p, R_OK) == 0; });  /* @access all */
    v.push_back([=] { return fchmod(fd, 0600) >= 0; }); /* @fchmod all */
    call_each(v);
}
static NOINLINE void on_error(const std::function<void(int)> &cb, const char *p) { int rc = truncate(p, 1); if (rc) cb(errno); } /* @truncate all */
static void f_callback(const char *p) { on_error([](int e) { S(e); }, p); }

// ---- optional, variant, pair, tuple, error_code ----
static NOINLINE std::optional<int> try_open(const char *p)
{
    int fd = open(p, O_WRONLY);                         /* @open all */
    if (fd == -1) return std::nullopt;
    return fd;
}
static void o_checked(const char *p) { if (auto fd = try_open(p)) S(*fd); else note("open"); }
static NOINLINE std::optional<int> always_open(const char *p) { return open(p, O_RDWR); } /* @open none used */
static void o_always(const char *p) { auto fd = always_open(p); if (!fd) note("never"); else S(*fd); }
static NOINLINE std::pair<int, int> pair_link(const char *a, const char *b) { int r = link(a, b); return {r, errno}; } /* @link all */
static void p_checked(const char *a, const char *b) { auto [rc, err] = pair_link(a, b); if (rc != 0) { errno = err; note("link"); } }
static NOINLINE std::pair<int, int> pair_fork(void) { pid_t p = fork(); if (p == 0) _exit(0); return {p, 7}; } /* @fork none used */
static void p_lost() { auto pr = pair_fork(); S(pr.first + pr.second); }
static NOINLINE std::tuple<int, off_t, bool> tuple_seek(int fd) { off_t o = lseek(fd, 3, SEEK_SET); return {fd, o, true}; } /* @lseek all */
static void u_checked(int fd) { int f; off_t o; bool b; std::tie(f, o, b) = tuple_seek(fd); if (o < 0) note("lseek"); else S(f + b); }
static NOINLINE std::variant<int, std::string> var_sock(int d)
{
    int s = socket(d, SOCK_DGRAM, 0);                   /* @socket all */
    if (s < 0) return std::string(strerror(errno));
    return s;
}
static void v_checked(int d) { auto v = var_sock(d); if (auto *s = std::get_if<int>(&v)) S(*s); else note("socket"); }
static NOINLINE std::error_code ec_symlink(const char *p)
{
    if (symlink("q", p) < 0) return {errno, std::generic_category()}; /* @symlink all */
    return {};
}
static void e_checked(const char *p) { if (std::error_code ec = ec_symlink(p)) note(ec.message().c_str()); }
static NOINLINE void ec_out(const char *p, std::error_code &ec) { ec.clear(); if (mkfifo(p, 0600)) ec.assign(errno, std::system_category()); } /* @mkfifo all */
static void e_out(const char *p) { std::error_code ec; ec_out(p, ec); if (ec) note("mkfifo"); }
static NOINLINE int ev_remove(const char *p) { return remove(p) ? errno : 0; } /* @remove some missing=EACCES */
static void e_one(const char *p) { std::error_code ec(ev_remove(p), std::generic_category()); if (ec.value() == ENOENT) note("gone"); }
enum class Status { ok, busy, error };
static NOINLINE Status st_bind(int s, const sockaddr *a, socklen_t l)
{
    return bind(s, a, l) == 0 ? Status::ok : errno == EADDRINUSE ? Status::busy : Status::error; /* @bind all */
}
static void s_checked(int s, const sockaddr *a) { switch (st_bind(s, a, 16)) { case Status::ok: break; case Status::busy: note("busy"); break; case Status::error: abort(); } }
static NOINLINE Status st_connect(int s, const sockaddr *a)
{
    if (connect(s, a, 16) < 0) {                        /* @connect some missing=ECONNREFUSED */
        if (errno == EALREADY || errno == EINPROGRESS) return Status::busy;
        if (errno == ETIMEDOUT) return Status::error;
    }
    return Status::ok;
}
static void s_leaky(int s, const sockaddr *a) { if (st_connect(s, a) != Status::ok) note("connect"); }

// ---- containers and algorithms ----
static void c_any(char **v, int n)
{
    std::vector<int> r;
    for (int i = 0; i < n; i++) r.push_back(lchown(v[i], 0, 0)); /* @lchown all */
    if (std::any_of(r.begin(), r.end(), [](int x) { return x < 0; })) note("lchown");
}
static void c_loop(char **v, int n)
{
    std::vector<int> fds(n);
    std::transform(v, v + n, fds.begin(), [](const char *p) { return open(p, O_PATH); }); /* @open all */
    for (int fd : fds) if (fd == -1) note("open"); else S(fd);
}
static void c_sum(char **v, int n) { S(std::accumulate(v, v + n, 0L, [](long a, char *p) { return a + mkdir(p, 0); })); } /* @mkdir none used */
static void c_map(std::map<std::string, int> &m, const char *p) { m[p] = open(p, O_NONBLOCK); for (auto &e : m) S(e.second); } /* @open none used */
static void c_min(int a, int b) { int x = fsync(a), y = ftruncate(b, 2); if (std::min(x, y) < 0) note("min"); } /* @fsync all; @ftruncate all */
static void c_max(int fd, char *b) { ssize_t n = std::max<ssize_t>(read(fd, b, 3), 0); S(n); } /* @read all */
static void c_each(std::vector<int> &fds) { std::for_each(fds.begin(), fds.end(), [](int fd) { close(fd); }); } /* @close none ignored */
static void c_count(std::vector<int> &fds) { if (std::count_if(fds.begin(), fds.end(), [](int fd) { return fsync(fd) != 0; })) note("count"); } /* @fsync all */
static void c_exchange(int &fd, const char *p) { int old = std::exchange(fd, open(p, O_RDONLY)); S(old); if (fd < 0) note("xchg"); } /* @open all */

// ---- others ----
struct Result { int rc; bool operator!() const { return rc != 0; } };
static NOINLINE Result r_rename(const char *a, const char *b) { return Result{rename(a, b)}; } /* @rename all */
static void r_checked(const char *a, const char *b) { if (!r_rename(a, b)) note("rename"); }
struct Conn {
    int s;
    int stop() { return shutdown(s, 2); }               /* @shutdown none ignored */
    int half() { return listen(s, 3); }                 /* @listen all */
    int here() { return fchdir(s); }                    /* @fchdir none used */
};
static NOINLINE int invoke(Conn &c, int (Conn::*m)()) { return (c.*m)(); }
static void m_half(Conn &c) { if (std::invoke(&Conn::half, c) < 0) note("listen"); }
static void m_stop(Conn &c) { c.stop(); }
static void x_wait(pid_t p) { int st = 0; if (waitpid(p, &st, 0) != p) throw std::runtime_error("wait"); S(st); } /* @waitpid all */
static void x_gai(const char *h)
{
    addrinfo *a = nullptr;
    if (int e = getaddrinfo(h, "7", nullptr, &a)) throw std::runtime_error(gai_strerror(e)); /* @getaddrinfo all */
    freeaddrinfo(a);
}
static void x_gai_one(const char *h) { addrinfo *a = nullptr; if (getaddrinfo(h, "8", nullptr, &a) == EAI_MEMORY) throw std::bad_alloc(); keep = a; } /* @getaddrinfo some missing=EAI_NONAME */
static void x_kill(pid_t p) { bool gone = kill(p, SIGHUP) == -1 && errno == ESRCH; if (gone) note("gone"); } /* @kill some missing=EPERM */
static void x_signal(int s) { if (signal(s, SIG_IGN) == SIG_ERR) throw std::runtime_error("signal"); } /* @signal all */
static void x_puts(const char *s) { puts(s); std::fputs(s, stderr); } /* @puts none ignored; @fputs none ignored */
static void x_flush() { if (std::fflush(stdout) == EOF) note("flush"); } /* @fflush all */
static void x_stoul(const char *s) { char *e; errno = 0; unsigned long v = strtoul(s, &e, 10); if (errno == ERANGE || e == s) throw std::out_of_range(s); S(v); } /* @strtoul all */
static void *thr(void *a) { return a; }

int main(int argc, char **argv)
try {
    const char *p = argv[argc - 1], *q = argv[0];
    int fd = argc + 2; pthread_t t; char buf[8]; sockaddr sa{};
    std::map<std::string, int> m; std::vector<int> fds{fd, argc}; Conn c{fd};
    t_open(p); t_lseek(fd); t_mmap(argc); t_read(fd); t_alloc(argc); t_fopen(p); t_wrong(argc); t_wrong_thread(&t, thr);
    t_pass(p); t_pass_checked(fd); t_retry(fd); t_retry_lost(fd); t_flag<true>(p); t_flag<false>(q);
    l_checked(fd); l_ignored(p); l_capture(p); f_checked(p); f_ignored(p); f_vector(p, fd); f_callback(p);
    o_checked(p); o_always(p); p_checked(p, q); p_lost(); u_checked(fd); v_checked(argc); e_checked(p); e_out(p); e_one(p);
    s_checked(fd, &sa); s_leaky(fd, &sa); c_any(argv, argc); c_loop(argv, argc); c_sum(argv, argc); c_map(m, p);
    c_min(fd, argc); c_max(fd, buf); c_each(fds); c_count(fds); c_exchange(fd, p); r_checked(p, q); m_half(c); m_stop(c);
    S(invoke(c, &Conn::here)); x_wait(argc); x_gai(p); x_gai_one(p); x_kill(fd); x_signal(argc); x_puts(p); x_flush(); x_stoul(p);
    return 0;
} catch (const std::exception &e) {
    note(e.what());
    return 1;
}

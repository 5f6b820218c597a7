/* SPDX-License-Identifier: Apache-2.0 */
// Classes, destructors, constructors that throw, virtual methods, smart pointers.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

volatile long sink;
volatile int fails;
void *volatile keep;
#define NOINLINE __attribute__((noinline))
template <class T> static void S(T v) { sink = sink + (long)v; }
static NOINLINE void note(const char *what) { fails = fails + 1; perror(what); }
[[noreturn]] static NOINLINE void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

// ---- owners of descriptors ----
class Fd {
    int fd_;
public:
    explicit Fd(const char *p) : fd_(::open(p, O_RDONLY)) { /* @open all */
        if (fd_ < 0) throw std::system_error(errno, std::generic_category(), p);
    }
    Fd(const Fd &) = delete;
    ~Fd() { ::close(fd_); }                             /* @close none ignored */
    int get() const { return fd_; }
};
static void use_fd(const char *p) { Fd f(p); S(f.get()); }

class LooseFd {
    int fd_;
public:
    explicit LooseFd(const char *p) : fd_(::creat(p, 0600)) {} /* @creat none used */
    ~LooseFd() { if (::fsync(fd_) != 0) note("fsync"); } /* @fsync all */
    int get() const { return fd_; }
};
static void use_loose(const char *p) { LooseFd f(p); S(f.get()); }

class LazyFd {
    int fd_ = -2;
    std::string name_;
public:
    explicit LazyFd(const char *p) : name_(p) {}
    void open() { fd_ = ::open(name_.c_str(), O_RDWR); } /* @open all */
    explicit operator bool() const { return fd_ >= 0; }
    int close() { int r = ::close(fd_); fd_ = -2; return r; } /* @close all */
};
static NOINLINE void use_lazy(const char *p)
{
    LazyFd f(p);
    f.open();
    if (!f) { note("lazy"); return; }
    if (f.close() != 0) note("close");
}
class Socket {
    int s_;
public:
    Socket() : s_(::socket(AF_INET, SOCK_STREAM, 0)) { if (s_ == -1) fail("socket"); } /* @socket all */
    ~Socket() noexcept { (void)::shutdown(s_, SHUT_RDWR); } /* @shutdown none ignored */
    void listen(int n) { if (::listen(s_, n) < 0) fail("listen"); } /* @listen all */
    int accept() { return ::accept(s_, nullptr, nullptr); } /* @accept none used */
};
static void use_socket(int n) { Socket s; s.listen(n); S(s.accept()); }

class Mapping {
    void *m_; size_t n_;
public:
    Mapping(int fd, size_t n) : m_(mmap(nullptr, n, PROT_READ, MAP_PRIVATE, fd, 0)), n_(n) /* @mmap all */
    { if (m_ == MAP_FAILED) throw std::bad_alloc(); }
    ~Mapping() { munmap(m_, n_); }                      /* @munmap none ignored */
    char operator[](size_t i) const { return static_cast<char *>(m_)[i]; }
};
static void use_mapping(int fd, size_t n) { Mapping m(fd, n); S(m[0]); }
class BadMapping {
    char *m_;
public:
    BadMapping(int fd, size_t n)
    {
        m_ = static_cast<char *>(mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0)); /* @mmap none used/dereferenced */
        if (m_ == nullptr) throw std::bad_alloc();
    }
    char first() const { return *m_; }
};
static void use_bad_mapping(int fd, size_t n) { BadMapping m(fd, n); S(m.first()); }
struct CwdGuard {
    int old;
    CwdGuard() : old(::open(".", O_DIRECTORY)) {}       /* @open all */
    ~CwdGuard() { if (old >= 0) { (void)!::fchdir(old); ::close(old); } } /* @fchdir none ignored/used; @close none ignored */
};
static void use_cwd(const char *p) { CwdGuard g; if (::chdir(p)) note("chdir"); } /* @chdir all */

// ---- two-phase members ----
struct Buffer {
    char *data = nullptr; size_t size = 0; bool ok = false;
    void grow(size_t n) { data = static_cast<char *>(realloc(data, n)); ok = data != nullptr; size = n; } /* @realloc/malloc all */
    void raw(size_t n) { data = static_cast<char *>(malloc(n)); size = n; } /* @malloc none dereferenced */
};
static NOINLINE void use_buffer(size_t n) { Buffer b; b.grow(n); if (!b.ok) { note("grow"); return; } b.data[0] = 1; keep = b.data; }
static NOINLINE void use_buffer_raw(size_t n) { Buffer b; b.raw(n); b.data[1] = 2; keep = b.data; }

// ---- virtual methods ----
struct Store {
    virtual ~Store() = default;
    virtual int flush() = 0;
    virtual int erase(const char *) = 0;
    virtual FILE *stream(const char *) = 0;
    virtual ssize_t put(const char *, size_t) = 0;
};
struct FileStore : Store {
    int fd;
    explicit FileStore(int f) : fd(f) {}
    int flush() override { return fdatasync(fd); }      /* @fdatasync all */
    int erase(const char *p) override { return unlink(p); } /* @unlink none ignored */
    FILE *stream(const char *p) override { return fopen(p, "r"); } /* @fopen all */
    ssize_t put(const char *b, size_t n) override { return write(fd, b, n); } /* @write none used */
};
struct DirStore : Store {
    int flush() override { return fsync(1); }           /* @fsync all */
    int erase(const char *p) override { return rmdir(p); } /* @rmdir none ignored */
    FILE *stream(const char *p) override { return fopen(p, "w"); } /* @fopen all */
    ssize_t put(const char *b, size_t n) override { return pwrite(1, b, n, 0); } /* @pwrite none used */
};
static NOINLINE void use_store(Store &s, const char *p)
{
    if (s.flush() < 0) note("flush");
    s.erase(p);
    FILE *f = s.stream(p);
    if (!f) { note("stream"); return; }
    fclose(f);                                          /* @fclose none ignored */
    S(s.put(p, 2));
}

// ---- smart pointers ----
struct FileClose { void operator()(FILE *f) const { fclose(f); } }; /* @fclose none ignored */
struct DirClose { void operator()(DIR *d) const { if (closedir(d) != 0) note("closedir"); } }; /* @closedir all */
using File = std::unique_ptr<FILE, FileClose>;
using Dir = std::unique_ptr<DIR, DirClose>;
static void unique_checked(const char *p)
{
    File f(fopen(p, "r"));                              /* @fopen all */
    if (!f) { note("fopen"); return; }
    S(fgetc(f.get()));                                  /* @fgetc none used */
}
static void unique_dir(const char *p)
{
    Dir d{opendir(p)};                                  /* @opendir all */
    if (d == nullptr) return;
    while (dirent *e = readdir(d.get())) S(e->d_name[0]); /* @readdir all */
}
static void unique_blind(const char *p)
{
    File f(fopen(p, "a"));                              /* @fopen any */
    S(ftell(f.get()));                                  /* @ftell none used */
}
static NOINLINE File make_file(const char *p)
{
    FILE *f = fopen(p, "rb");                           /* @fopen all */
    if (f == nullptr) throw std::runtime_error("no file");
    return File(f);
}
static void unique_made(const char *p) { File f = make_file(p); if (fseek(f.get(), 1, SEEK_SET)) note("fseek"); } /* @fseek all */
static void unique_str(const char *s)
{
    std::unique_ptr<char, decltype(&free)> d(strdup(s), &free); /* @strdup all */
    if (!d) throw std::bad_alloc();
    S(d.get()[0]);
}
static void shared_checked(const char *p)
{
    std::shared_ptr<FILE> f(fopen(p, "w"), [](FILE *x) { if (x) fclose(x); }); /* @fopen all; @fclose none ignored */
    if (!f) { note("shared"); return; }
    if (fputs(p, f.get()) < 0) note("fputs");           /* @fputs all */
}

// ---- strings ----
static void string_cwd()
{
    char b[256];
    if (char *r = getcwd(b, sizeof b)) { std::string s(r); S(s.size()); } else note("getcwd"); /* @getcwd all */
}
static void string_cwd_blind() { char b[300]; std::string s(getcwd(b, sizeof b)); S(s.size()); } /* @getcwd any */
static void string_assign(std::string &s, const char *k) { s = getenv(k); S(s.size()); } /* @getenv none dereferenced */
static void string_append(std::string &s, const char *k) { s += getenv(k); } /* @getenv none dereferenced */
static void view_of(const char *p) { std::string_view v(realpath(p, nullptr)); S(v.size()); } /* @realpath none dereferenced */
static std::string env_or(const char *k, const char *d) { const char *v = getenv(k); return v != nullptr ? v : d; } /* @getenv all */

// ---- exceptions ----
static NOINLINE void throw_int(const char *p) { if (mkdir(p, 0700) == -1) throw errno; } /* @mkdir all */
static NOINLINE void throw_some(const char *p)
{
    if (rename(p, "z") < 0 && errno == ENOENT)          /* @rename some missing=EACCES */
        throw std::runtime_error("gone");
}
static NOINLINE void throw_late(int fd)
{
    int rc = ftruncate(fd, 0);                          /* @ftruncate all */
    S(getpid());
    if (rc) fail("ftruncate");
}
static void new_handler_like(size_t n)
{
    void *p = calloc(n, 16);                            /* @calloc all */
    if (!p) throw std::bad_alloc{};
    keep = p;
}
static void in_catch(const char *p)
{
    try { throw_int(p); }
    catch (int) {
        if (rmdir(p) < 0) note("rmdir");                /* @rmdir all */
        unlink(p);                                      /* @unlink none ignored */
    }
}
struct Locker {
    pthread_rwlock_t &l;
    explicit Locker(pthread_rwlock_t &x) : l(x) { if (int e = pthread_rwlock_rdlock(&l)) throw std::system_error(e, std::generic_category()); } /* @pthread_rwlock_rdlock all */
    ~Locker() { pthread_rwlock_unlock(&l); }            /* @pthread_rwlock_unlock any */
};
static void use_locker(pthread_rwlock_t &l) { Locker g(l); S(1); }

int main(int argc, char **argv)
try {
    const char *p = argv[argc - 1];
    int fd = argc + 2;
    std::string s(p);
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    FileStore fs(fd); DirStore ds;
    std::vector<Store *> stores{&fs, &ds};
    use_fd(p); use_loose(p); use_lazy(p); use_socket(argc); use_mapping(fd, argc); use_bad_mapping(fd, argc); use_cwd(p);
    use_buffer(argc); use_buffer_raw(argc + 2);
    for (Store *st : stores) use_store(*st, p);
    unique_checked(p); unique_dir(p); unique_blind(p); unique_made(p); unique_str(p); shared_checked(p);
    string_cwd(); string_cwd_blind(); string_assign(s, p); string_append(s, p); view_of(p); S(env_or(p, "d").size());
    in_catch(p); throw_some(p); throw_late(fd); new_handler_like(argc); use_locker(rw);
    return 0;
} catch (const std::exception &e) {
    fprintf(stderr, "error: %s\n", e.what());           /* @fprintf none ignored */
    return 1;
}

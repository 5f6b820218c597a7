// SPDX-License-Identifier: Apache-2.0
// A vault for small files in C++: owners of descriptors, optional results, error codes, lambdas, virtual functions.
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace vault {

[[noreturn]] void fail(const std::string &what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

template <typename T> T checked(T value, const char *what)
{
    if (value == static_cast<T>(-1))
        fail(what);
    return value;
}

template <typename F> auto retry(F f) -> decltype(f())
{
    for (;;) {
        auto r = f();
        if (r != -1 || errno != EINTR)
            return r;
    }
}

class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd &operator=(Fd &&other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd()
    {
        if (fd_ >= 0)
            ::close(fd_); /* @close? none ignored */
    }
    explicit operator bool() const { return fd_ >= 0; }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

private:
    int fd_ = -1;
};

class Mapping {
public:
    Mapping(int fd, size_t n)
        : at_(::mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0)), n_(n) /* @mmap all */
    {
        if (at_ == MAP_FAILED)
            fail("mmap");
    }
    Mapping(const Mapping &) = delete;
    ~Mapping() { ::munmap(at_, n_); } /* @munmap none ignored */
    const char *text() const { return static_cast<const char *>(at_); }

private:
    void *at_;
    size_t n_;
};

struct DirCloser {
    void operator()(DIR *d) const { ::closedir(d); } /* @closedir none ignored */
};
using Dir = std::unique_ptr<DIR, DirCloser>;

struct FileCloser {
    void operator()(FILE *f) const { std::fclose(f); } /* @fclose none ignored */
};
using File = std::unique_ptr<FILE, FileCloser>;

std::optional<Fd> try_open(const char *path, int flags)
{
    Fd fd(::open(path, flags | O_CLOEXEC)); /* @open all */
    if (!fd)
        return std::nullopt;
    return fd;
}

Fd must_open(const char *path)
{
    return Fd(checked(::open(path, O_RDWR | O_CREAT, 0600), path)); /* @open all */
}

Fd hope_open(const char *path)
{
    return Fd(::open(path, O_WRONLY | O_APPEND)); /* @open none used */
}

std::error_code remove(const char *path)
{
    if (::unlink(path) != 0) /* @unlink all */
        return std::error_code(errno, std::generic_category());
    return {};
}

std::pair<bool, int> rename(const char *from, const char *to)
{
    int rc = ::rename(from, to); /* @rename all */
    return {rc == 0, rc == 0 ? 0 : errno};
}

size_t read_some(const Fd &fd, std::vector<char> &to)
{
    ssize_t n = retry([&] { return ::read(fd.get(), to.data(), to.size()); }); /* @read all */
    if (n < 0)
        throw std::runtime_error("read");
    return static_cast<size_t>(n);
}

/* The retry looks at one error, the caller at none. */
void write_some(const Fd &fd, const std::string &text)
{
    retry([&] { return ::write(fd.get(), text.data(), text.size()); }); /* @write some missing=ENOSPC */
}

std::string link_target(const char *path)
{
    char buffer[PATH_MAX];
    ssize_t n = ::readlink(path, buffer, sizeof buffer); /* @readlink all */
    return n < 0 ? std::string() : std::string(buffer, static_cast<size_t>(n));
}

std::string link_target_wrong(const char *path)
{
    char buffer[PATH_MAX];
    ssize_t n = ::readlink(path, buffer, sizeof buffer); /* @readlink none used */
    buffer[n] = '\0';
    return buffer;
}

int count(const char *path)
{
    Dir d(::opendir(path)); /* @opendir all */
    int n = 0;
    if (!d)
        return -1;
    while (dirent *e = ::readdir(d.get())) /* @readdir all */
        n += e->d_type == DT_REG;
    return n;
}

std::string first_line(const char *path)
{
    File f(std::fopen(path, "r")); /* @fopen none used/dereferenced */
    char line[200] = "";
    std::fgets(line, sizeof line, f.get()); /* @fgets none ignored */
    return line;
}

std::string first_line_or_throw(const char *path)
{
    File f{std::fopen(path, "r")}; /* @fopen all */
    if (f == nullptr)
        fail(path);
    char line[200];
    if (!std::fgets(line, sizeof line, f.get())) /* @fgets all */
        return {};
    return line;
}

class Sink {
public:
    virtual ~Sink() = default;
    virtual bool put(const void *data, size_t n) = 0;
    virtual bool flush() { return true; }
};

class FdSink : public Sink {
public:
    explicit FdSink(Fd fd) : fd_(std::move(fd)) {}
    bool put(const void *data, size_t n) override
    {
        auto p = static_cast<const char *>(data);
        while (n) {
            auto k = ::write(fd_.get(), p, n); /* @write all */
            if (k <= 0)
                return false;
            p += k;
            n -= static_cast<size_t>(k);
        }
        return true;
    }
    bool flush() override { return ::fdatasync(fd_.get()) == 0; } /* @fdatasync all */

private:
    Fd fd_;
};

class FileSink : public Sink {
public:
    explicit FileSink(const char *path) : f_(std::fopen(path, "w")) {} /* @fopen none used/dereferenced */
    bool put(const void *data, size_t n) override
    {
        std::fwrite(data, 1, n, f_.get()); /* @fwrite none ignored */
        return true;
    }
    bool flush() override { return std::fflush(f_.get()) != EOF; } /* @fflush all */

private:
    File f_;
};

uint64_t room(const char *path)
{
    struct statvfs v;
    if (auto rc = ::statvfs(path, &v); rc < 0) /* @statvfs all */
        return 0;
    return static_cast<uint64_t>(v.f_bavail) * v.f_bsize;
}

uint64_t room_wrong(const char *path)
{
    struct statvfs v;
    ::statvfs(path, &v); /* @statvfs none ignored */
    return static_cast<uint64_t>(v.f_bavail) * v.f_bsize;
}

using Codec = int (*)(const char *, char *);

Codec load(const char *path, const char *name)
{
    void *lib = ::dlopen(path, RTLD_NOW); /* @dlopen all */
    if (!lib)
        throw std::runtime_error(::dlerror());
    auto f = reinterpret_cast<Codec>(::dlsym(lib, name)); /* @dlsym all */
    if (!f)
        ::dlclose(lib); /* @dlclose none ignored */
    return f;
}

int call(const char *path, const char *text, char *to)
{
    void *lib = ::dlopen(path, RTLD_LAZY); /* @dlopen none used/dereferenced */
    auto f = reinterpret_cast<Codec>(::dlsym(lib, "encode")); /* @dlsym none dereferenced/used */
    return f(text, to);
}

/* Steps that are done until one fails. */
bool each(const std::vector<std::function<int()>> &steps)
{
    for (auto &s : steps)
        if (s() != 0)
            return false;
    return true;
}

bool prepare(const char *dir)
{
    return each({
        [=] { return ::mkdir(dir, 0700); }, /* @mkdir all */
        [=] { return ::chmod(dir, 0755); }, /* @chmod all */
        [=] { return ::access(dir, W_OK | X_OK); }, /* @access all */
    });
}

char *duplicate(const std::string &s)
{
    char *p = static_cast<char *>(std::malloc(s.size() + 1)); /* @malloc none dereferenced/used */
    return std::strcpy(p, s.c_str());
}

char *duplicate_or_throw(const std::string &s)
{
    auto p = static_cast<char *>(std::malloc(s.size() + 1)); /* @malloc all */
    if (p == nullptr)
        throw std::bad_alloc();
    return std::strcpy(p, s.c_str());
}

} // namespace vault

int main(int argc, char **argv)
{
    using namespace vault;
    if (argc < 4)
        return 2;
    try {
        std::vector<char> buffer(4096);
        auto in = try_open(argv[1], O_RDONLY);
        if (!in)
            return 1;
        read_some(*in, buffer);
        Mapping map(in->get(), 100);
        FdSink a(must_open(argv[2]));
        FileSink b(argv[3]);
        Sink *sinks[] = {&a, &b};
        for (auto s : sinks)
            if (!s->put(map.text(), 100) || !s->flush())
                return 1;
        write_some(hope_open(argv[3]), link_target(argv[1]) + link_target_wrong(argv[2]));
        if (count(argv[1]) < 0 || first_line(argv[1]) == first_line_or_throw(argv[2]))
            return 1;
        if (room(argv[1]) > room_wrong(argv[2]) || !prepare(argv[3]))
            return 1;
        if (auto codec = load(argv[1], "decode"))
            codec(duplicate(argv[1]), duplicate_or_throw(argv[2]));
        if (call(argv[2], argv[1], buffer.data()) < 0 || vault::remove(argv[3]) || !vault::rename(argv[1], argv[2]).first)
            return 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what()); /* @fprintf/fwrite none ignored */
        return 1;
    }
    return 0;
}

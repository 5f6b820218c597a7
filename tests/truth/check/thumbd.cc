/* SPDX-License-Identifier: Apache-2.0 */
// A thumbnail cache: C++ with RAII wrappers, exceptions and interfaces.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void raise(const std::string &what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

class Fd {
    int fd_;
public:
    explicit Fd(int fd = -1) : fd_(fd) {}
    Fd(Fd &&o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;
    ~Fd()
    {
        if (fd_ >= 0)
            ::close(fd_); /* @close? none ignored */
    }
    explicit operator bool() const { return fd_ >= 0; }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }
};

struct CloseFile {
    void operator()(FILE *f) const
    {
        std::fclose(f); /* @fclose? none ignored */
    }
};
using File = std::unique_ptr<FILE, CloseFile>;

struct CloseDir {
    void operator()(DIR *d) const
    {
        ::closedir(d); /* @closedir? none ignored */
    }
};
using Dir = std::unique_ptr<DIR, CloseDir>;

Fd open_or_throw(const std::string &path, int flags)
{
    int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666); /* @open all */
    if (fd < 0)
        raise(path);
    return Fd(fd);
}

class Mapping {
    void *p_ = MAP_FAILED;
    size_t n_ = 0;
public:
    Mapping(const Fd &fd, size_t n) : n_(n)
    {
        p_ = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, fd.get(), 0); /* @mmap/mmap64 all */
        if (p_ == MAP_FAILED)
            raise("mmap");
    }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
    ~Mapping()
    {
        ::munmap(p_, n_); /* @munmap? any */
    }
    const unsigned char *data() const { return static_cast<const unsigned char *>(p_); }
    size_t size() const { return n_; }
};

struct Sink {
    virtual ~Sink() = default;
    virtual bool put(const void *p, size_t n) = 0;
    virtual bool finish() = 0;
};

class FileSink : public Sink {
    File f_;
public:
    explicit FileSink(const std::string &path) : f_(std::fopen(path.c_str(), "wbe")) /* @fopen all */
    {
        if (!f_)
            raise(path);
    }
    bool put(const void *p, size_t n) override
    {
        return std::fwrite(p, 1, n, f_.get()) == n; /* @fwrite all */
    }
    bool finish() override
    {
        return std::fflush(f_.get()) == 0; /* @fflush all */
    }
};

class FdSink : public Sink {
    Fd fd_;
public:
    explicit FdSink(Fd fd) : fd_(std::move(fd)) {}
    bool put(const void *p, size_t n) override
    {
        return ::write(fd_.get(), p, n) == static_cast<ssize_t>(n); /* @write all */
    }
    bool finish() override
    {
        ::fdatasync(fd_.get()); /* @fdatasync none ignored */
        return true;
    }
};

class Cache {
    std::string dir_;
    size_t limit_;
    std::error_code last_;

    std::string name_for(const std::string &path) const
    {
        unsigned long long h = 14695981039346656037ull;
        for (unsigned char c : path)
            h = (h ^ c) * 1099511628211ull;
        char buf[32];
        std::snprintf(buf, sizeof buf, "/%016llx.th", h); /* @snprintf any */
        return dir_ + buf;
    }

public:
    Cache(std::string dir, size_t limit) : dir_(std::move(dir)), limit_(limit)
    {
        if (::mkdir(dir_.c_str(), 0700) != 0 && errno != EEXIST) /* @mkdir all */
            raise(dir_);
    }

    bool fresh(const std::string &path) const
    {
        struct stat a, b;
        if (::stat(path.c_str(), &a) == -1) /* @stat all */
            raise(path);
        if (::stat(name_for(path).c_str(), &b) == -1) /* @stat all */
            return false;
        return b.st_mtime >= a.st_mtime;
    }

    std::error_code make(const std::string &path)
    {
        std::string tmp = dir_ + "/tmp.XXXXXX";
        struct stat st;
        Fd in = open_or_throw(path, O_RDONLY);
        if (::fstat(in.get(), &st) < 0) /* @fstat all */
            return {errno, std::generic_category()};
        if (st.st_size == 0)
            return std::make_error_code(std::errc::invalid_argument);
        Mapping m(in, static_cast<size_t>(st.st_size));
        ::posix_fadvise(in.get(), 0, 0, POSIX_FADV_SEQUENTIAL); /* @posix_fadvise/posix_fadvise64 none ignored */

        Fd out(::mkostemp(&tmp[0], O_CLOEXEC)); /* @mkostemp/mkostemp64 all */
        if (!out)
            return {errno, std::generic_category()};
        ::fchmod(out.get(), st.st_mode & 0666); /* @fchmod none ignored */
        FdSink sink(std::move(out));
        if (!shrink(m, sink)) {
            ::unlink(tmp.c_str()); /* @unlink none ignored */
            return {EIO, std::generic_category()};
        }
        int rc = std::rename(tmp.c_str(), name_for(path).c_str()); /* @rename all */
        last_ = rc ? std::error_code(errno, std::generic_category()) : std::error_code();
        return last_;
    }

    static bool shrink(const Mapping &m, Sink &out)
    {
        std::vector<unsigned char> row;
        for (size_t i = 0; i < m.size(); i += 16)
            row.push_back(m.data()[i]);
        return out.put(row.data(), row.size()) && out.finish();
    }

    size_t usage(std::vector<std::string> *names) const
    {
        Dir d(::opendir(dir_.c_str())); /* @opendir all */
        size_t sum = 0;
        if (!d)
            return 0;
        for (;;) {
            errno = 0;
            struct dirent *e = ::readdir(d.get()); /* @readdir/readdir64 all */
            if (!e && errno)
                raise("readdir");
            if (!e)
                break;
            struct stat st;
            ::fstatat(::dirfd(d.get()), e->d_name, &st, 0); /* @fstatat none ignored; @dirfd any */
            sum += static_cast<size_t>(st.st_size);
            if (names && e->d_name[0] != '.')
                names->push_back(dir_ + "/" + e->d_name);
        }
        return sum;
    }

    unsigned purge() const
    {
        std::vector<std::string> names;
        unsigned failed = 0;
        if (usage(&names) < limit_)
            return 0;
        auto drop = [&failed](const std::string &n) {
            if (::unlink(n.c_str())) /* @unlink all */
                failed++;
        };
        for (const auto &n : names)
            drop(n);
        return failed;
    }

    bool room() const
    {
        struct statvfs v;
        ::statvfs(dir_.c_str(), &v); /* @statvfs/statvfs64 none ignored */
        return v.f_bavail > 100;
    }
};

struct Stamp {
    struct tm tm;
    explicit Stamp(time_t t)
    {
        if (!::localtime_r(&t, &tm)) /* @localtime_r all */
            throw std::runtime_error("time");
    }
};

std::string today()
{
    char buf[32];
    time_t now = ::time(nullptr); /* @time any */
    Stamp s(now);
    ::strftime(buf, sizeof buf, "%F", &s.tm); /* @strftime any */
    return buf;
}

std::string home()
{
    const char *h = std::getenv("XDG_CACHE_HOME"); /* @getenv any */
    if (h)
        return h;
    char *cwd = ::getcwd(nullptr, 0); /* @getcwd none dereferenced/used */
    std::string s = std::string(".") + "/" + (cwd + 0);
    std::free(cwd);
    return s;
}

void write_index(const std::string &path, const std::vector<std::string> &names)
{
    FileSink f(path);
    bool ok = true;
    for (const auto &n : names) {
        ok = ok && f.put(n.data(), n.size());
        ok = ok && f.put("\n", 1);
    }
    if (!ok || !f.finish())
        throw std::runtime_error("index not written");
}

bool pick(Sink *&out, const char *where)
{
    static FileSink *file;
    static FdSink *plain;
    if (where[0] == '-') {
        int fd = ::dup(1); /* @dup all */
        if (fd == -1)
            return false;
        plain = new FdSink(Fd(fd));
        out = plain;
    } else {
        file = new FileSink(where);
        out = file;
    }
    return true;
}

} // namespace

int main(int argc, char **argv)
try {
    if (argc < 2)
        return 2;
    Cache cache(home() + "/thumbd", 64u << 20);
    int bad = 0;
    for (int i = 2; i < argc; i++) {
        if (cache.fresh(argv[i]))
            continue;
        if (std::error_code ec = cache.make(argv[i])) {
            std::fprintf(stderr, "%s: %s\n", argv[i], ec.message().c_str()); /* @fprintf any */
            bad++;
        }
    }
    Sink *log = nullptr;
    if (!pick(log, argv[1]))
        return 1;
    std::string line = today() + " done\n";
    if (!log->put(line.data(), line.size()) || !log->finish())
        bad++;
    delete log;
    if (cache.purge() || !cache.room())
        bad++;
    std::vector<std::string> names;
    cache.usage(&names);
    write_index("index", names);
    ::sync();
    return bad ? 1 : 0;
} catch (const std::exception &e) {
    std::fprintf(stderr, "thumbd: %s\n", e.what()); /* @fprintf any */
    return 1;
}

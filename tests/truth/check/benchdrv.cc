/* SPDX-License-Identifier: Apache-2.0 */
// A benchmark driver: runs functions and commands many times, measures, and writes results as CSV.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

class SysError : public std::runtime_error {
public:
    SysError(int e, const std::string &what) : std::runtime_error(what + ": " + std::strerror(e)), code(e) {}
    int code;
};

[[noreturn]] void fail(const char *what)
{
    throw SysError(errno, what);
}

inline int check(int rc, const char *what)
{
    if (rc == -1)
        fail(what);
    return rc;
}

template <class T> T *nonnull(T *p, const char *what)
{
    if (!p)
        throw SysError(errno ? errno : ENOMEM, what);
    return p;
}

struct Freer {
    void operator()(void *p) const { std::free(p); }
};
template <class T> using CPtr = std::unique_ptr<T, Freer>;

struct FileCloser {
    void operator()(FILE *f) const
    {
        if (f)
            std::fclose(f); /* @fclose? none ignored */
    }
};
using File = std::unique_ptr<FILE, FileCloser>;

class Pipe {
    int fd_[2];
public:
    Pipe()
    {
        check(::pipe2(fd_, O_CLOEXEC), "pipe"); /* @pipe2 all */
    }
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    ~Pipe()
    {
        ::close(fd_[0]); /* @close? none ignored */
        if (fd_[1] >= 0)
            ::close(fd_[1]); /* @close? none ignored */
    }
    int in() const { return fd_[0]; }
    int out() const { return fd_[1]; }
    void done()
    {
        ::close(fd_[1]); /* @close? none ignored */
        fd_[1] = -1;
    }
};

class Arena {
    void *p_;
    size_t n_;
public:
    explicit Arena(size_t n) : p_(::mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), n_(n) /* @mmap/mmap64 all */
    {
        if (p_ == MAP_FAILED)
            throw std::bad_alloc();
        ::madvise(p_, n_, MADV_HUGEPAGE); /* @madvise none ignored */
    }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;
    ~Arena()
    {
        ::munmap(p_, n_); /* @munmap? any */
    }
    void lock()
    {
        if (::mlock(p_, n_) != 0 && errno != EPERM) /* @mlock all */
            fail("mlock");
    }
    char *data() { return static_cast<char *>(p_); }
    size_t size() const { return n_; }
};

double clock_now(clockid_t id)
{
    timespec ts;
    if (::clock_gettime(id, &ts) < 0) /* @clock_gettime any */
        fail("clock_gettime");
    return static_cast<double>(ts.tv_sec) + static_cast<double>(ts.tv_nsec) * 1e-9;
}

struct Sample {
    double wall, user;
    long faults;
};

class Bench {
public:
    virtual ~Bench() = default;
    virtual std::string name() const = 0;
    virtual bool once() = 0;
};

class MemBench : public Bench {
    Arena arena_;
    char *copy_;
public:
    explicit MemBench(size_t n) : arena_(n), copy_(static_cast<char *>(std::malloc(n))) /* @malloc none used/dereferenced */
    {
        arena_.lock();
        copy_[0] = 1;
    }
    ~MemBench() override { std::free(copy_); }
    std::string name() const override { return "memory"; }
    bool once() override
    {
        std::memcpy(copy_, arena_.data(), arena_.size());
        return copy_[0] == 0;
    }
};

class WriteBench : public Bench {
    int fd_;
    std::vector<char> buf_;
    std::string path_;
public:
    explicit WriteBench(std::string path) : fd_(-1), buf_(65536), path_(std::move(path))
    {
        fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* @open all */
        if (fd_ < 0)
            fail("open");
        if (int e = ::posix_fallocate(fd_, 0, 1 << 20)) /* @posix_fallocate/posix_fallocate64 all */
            throw SysError(e, "fallocate");
    }
    ~WriteBench() override
    {
        ::close(fd_); /* @close? none ignored */
        ::unlink(path_.c_str()); /* @unlink? none ignored */
    }
    std::string name() const override { return "write"; }
    bool once() override
    {
        ::lseek(fd_, 0, SEEK_SET); /* @lseek/lseek64 none ignored */
        if (::write(fd_, buf_.data(), buf_.size()) != static_cast<ssize_t>(buf_.size())) /* @write all */
            return false;
        return ::fdatasync(fd_) == 0; /* @fdatasync all */
    }
};

class CommandBench : public Bench {
    std::vector<std::string> args_;

    void exec() const
    {
        std::vector<char *> v;
        for (const auto &a : args_)
            v.push_back(const_cast<char *>(a.c_str()));
        v.push_back(nullptr);
        ::execvp(v[0], v.data()); /* @execvp any */
        ::_exit(127);
    }

    static std::optional<int> wait_for(pid_t pid)
    {
        int st;
        while (::waitpid(pid, &st, 0) < 0) /* @waitpid all */
            if (errno != EINTR)
                return std::nullopt;
        return st;
    }

public:
    explicit CommandBench(std::vector<std::string> args) : args_(std::move(args)) {}
    std::string name() const override { return args_[0]; }
    bool once() override
    {
        Pipe p;
        char buf[4096];
        pid_t pid = check(::fork(), "fork"); /* @fork all */
        if (pid == 0) {
            if (::dup2(p.out(), 1) < 0) /* @dup2 all */
                ::_exit(126);
            exec();
        }
        p.done();
        ssize_t n;
        while ((n = ::read(p.in(), buf, sizeof buf)) > 0) /* @read all */
            ;
        auto st = wait_for(pid);
        return n == 0 && st.value_or(1) == 0;
    }
};

std::optional<long> parse_count(const char *s)
{
    char *end = nullptr;
    errno = 0;
    long v = std::strtol(s, &end, 10); /* @strtol/__isoc23_strtol all */
    if (errno != 0 || *end)
        return std::nullopt;
    return v;
}

double parse_seconds(const char *s)
{
    return std::strtod(s, nullptr); /* @strtod none used */
}

Sample measure(Bench &b)
{
    rusage r0, r1;
    check(::getrusage(RUSAGE_SELF, &r0), "getrusage"); /* @getrusage all */
    double t0 = clock_now(CLOCK_MONOTONIC);
    if (!b.once())
        throw std::runtime_error(b.name() + " failed");
    double t1 = clock_now(CLOCK_MONOTONIC);
    ::getrusage(RUSAGE_SELF, &r1); /* @getrusage none ignored */
    return {t1 - t0, static_cast<double>(r1.ru_utime.tv_usec - r0.ru_utime.tv_usec), r1.ru_minflt - r0.ru_minflt};
}

void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (::sched_setaffinity(0, sizeof set, &set) < 0) /* @sched_setaffinity all */
        std::fprintf(stderr, "benchdrv: not pinned: %s\n", std::strerror(errno)); /* @fprintf any */
    sched_param sp{};
    sp.sched_priority = 1;
    ::sched_setscheduler(0, SCHED_FIFO, &sp); /* @sched_setscheduler none ignored */
}

std::string governor()
{
    char line[64] = "";
    File f(std::fopen("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "re")); /* @fopen all */
    if (!f || !std::fgets(line, sizeof line, f.get())) /* @fgets all */
        return "unknown";
    line[std::strcspn(line, "\n")] = 0;
    return line;
}

std::string host()
{
    char buf[256];
    if (::gethostname(buf, sizeof buf) != 0) /* @gethostname all */
        return "localhost";
    return buf;
}

std::string where()
{
    CPtr<char> cwd(nonnull(::getcwd(nullptr, 0), "getcwd")); /* @getcwd all */
    CPtr<char> real(::realpath(cwd.get(), nullptr)); /* @realpath all */
    return real ? real.get() : cwd.get();
}

void drop_caches()
{
    int fd = ::open("/proc/sys/vm/drop_caches", O_WRONLY); /* @open none used */
    ::write(fd, "3", 1); /* @write none ignored */
    ::close(fd); /* @close none ignored */
}

bool settle(double s)
{
    timespec ts;
    ts.tv_sec = static_cast<time_t>(s);
    ts.tv_nsec = 0;
    return ::clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, nullptr) != -1; /* @clock_nanosleep none ignored/used/dereferenced/returned */
}

class Csv {
    FILE *f_;
    bool bad_ = false;
public:
    explicit Csv(const char *path) : f_(nonnull(std::fopen(path, "w"), path)) {} /* @fopen all */
    Csv(const Csv &) = delete;
    Csv &operator=(const Csv &) = delete;
    ~Csv()
    {
        if (f_)
            std::fclose(f_); /* @fclose? none ignored */
    }
    Csv &row(const std::string &n, const Sample &s)
    {
        if (std::fprintf(f_, "%s,%.9f,%.0f,%ld\n", n.c_str(), s.wall, s.user, s.faults) < 0) /* @fprintf all */
            bad_ = true;
        return *this;
    }
    void comment(const std::string &t)
    {
        bad_ |= std::fputs(t.c_str(), f_) == EOF; /* @fputs all */
        bad_ |= std::fputc('\n', f_) == EOF; /* @fputc/putc all */
    }
    bool close()
    {
        int rc = std::fclose(f_); /* @fclose all */
        f_ = nullptr;
        return rc == 0 && !bad_;
    }
};

using Factory = std::function<std::unique_ptr<Bench>()>;

} // namespace

int main(int argc, char **argv)
{
    std::map<std::string, Factory> table = {
        {"mem", [] { return std::make_unique<MemBench>(8u << 20); }},
        {"write", [] { return std::make_unique<WriteBench>("bench.tmp"); }},
    };
    if (argc < 4)
        return 2;
    auto count = parse_count(argv[1]);
    if (!count)
        return 2;
    int bad = 0;
    try {
        Csv csv(argv[2]);
        csv.comment("# " + host() + " " + where() + " " + governor());
        ::setpriority(PRIO_PROCESS, 0, -5); /* @setpriority none ignored */
        pin(0);
        drop_caches();
        for (int i = 3; i < argc; i++) {
            auto it = table.find(argv[i]);
            std::unique_ptr<Bench> b;
            if (it != table.end())
                b = it->second();
            else
                b = std::make_unique<CommandBench>(std::vector<std::string>{argv[i]});
            const char *pause = std::getenv("BENCH_PAUSE"); /* @getenv any */
            if (pause && !settle(parse_seconds(pause)))
                bad++;
            for (long k = 0; k < *count; k++)
                csv.row(b->name(), measure(*b));
        }
        if (!csv.close())
            bad++;
    } catch (const SysError &e) {
        std::fprintf(stderr, "benchdrv: %s (%d)\n", e.what(), e.code); /* @fprintf any */
        return 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "benchdrv: %s\n", e.what()); /* @fprintf any */
        return 1;
    }
    return bad ? 1 : 0;
}

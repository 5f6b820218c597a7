/* SPDX-License-Identifier: Apache-2.0 */
/* More of C++: constructors that throw, variants and expected values of one's own, guards, streams of C, threads. */
/* flags: -pthread */
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

namespace harbour {

using Errno = std::error_code;

static Errno last() { return {errno, std::system_category()}; }

template <typename T> class Result {
public:
    Result(T value) : held_(std::move(value)) {}
    Result(Errno e) : held_(e) {}
    explicit operator bool() const { return std::holds_alternative<T>(held_); }
    T &operator*() { return std::get<T>(held_); }
    Errno error() const { return std::get<Errno>(held_); }

private:
    std::variant<T, Errno> held_;
};

class Socket {
public:
    Socket(int family, int type) : fd_(::socket(family, type | SOCK_CLOEXEC, 0)) /* @socket all */
    {
        if (fd_ == -1)
            throw std::system_error(last(), "socket");
    }
    explicit Socket(int fd) noexcept : fd_(fd) {}
    Socket(Socket &&o) noexcept : fd_(o.fd_) { o.fd_ = -1; }
    Socket(const Socket &) = delete;
    ~Socket()
    {
        if (fd_ != -1)
            ::close(fd_); /* @close? none ignored */
    }

    void bind(const std::string &path)
    {
        sockaddr_un sun{};
        sun.sun_family = AF_UNIX;
        path.copy(sun.sun_path, sizeof sun.sun_path - 1);
        ::unlink(path.c_str()); /* @unlink none ignored */
        if (::bind(fd_, reinterpret_cast<sockaddr *>(&sun), sizeof sun) < 0) /* @bind all */
            throw std::system_error(last(), path);
    }

    void listen(int n) { check(::listen(fd_, n), "listen"); } /* @listen all */

    Result<int> accept()
    {
        for (;;) {
            int fd = ::accept(fd_, nullptr, nullptr); /* @accept all */
            if (fd >= 0)
                return fd;
            if (errno != EINTR)
                return last();
        }
    }

    int accept_any() { return ::accept(fd_, nullptr, nullptr); } /* @accept none used */

    bool reuse(bool on) noexcept
    {
        int v = on;
        return ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &v, sizeof v) != -1; /* @setsockopt all */
    }

    void half_close() noexcept { ::shutdown(fd_, SHUT_WR); } /* @shutdown none ignored */

    int fd() const { return fd_; }

private:
    static void check(int rc, const char *what)
    {
        if (rc)
            throw std::system_error(last(), what);
    }
    int fd_;
};

__attribute__((noinline)) bool send_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        auto n = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL); /* @send all */
        if (n < 0)
            return false;
        text.remove_prefix(static_cast<size_t>(n));
    }
    return true;
}

__attribute__((noinline)) std::string receive(int fd)
{
    std::string out;
    std::array<char, 256> buffer;
    ssize_t n;
    while ((n = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0) /* @recv all */
        out.append(buffer.data(), static_cast<size_t>(n));
    return out;
}

__attribute__((noinline)) std::string receive_blindly(int fd)
{
    char buffer[256];
    return std::string(buffer, static_cast<size_t>(::recv(fd, buffer, sizeof buffer, 0))); /* @recv none used */
}

__attribute__((noinline)) std::vector<std::string> resolve(const char *host)
{
    addrinfo *list = nullptr, hints{};
    std::vector<std::string> out;
    if (int e = ::getaddrinfo(host, nullptr, &hints, &list); e != 0) /* @getaddrinfo all */
        throw std::runtime_error(::gai_strerror(e));
    for (auto a = list; a; a = a->ai_next) {
        char name[128];
        if (::getnameinfo(a->ai_addr, a->ai_addrlen, name, sizeof name, nullptr, 0, NI_NUMERICHOST) == 0) /* @getnameinfo all */
            out.emplace_back(name);
    }
    ::freeaddrinfo(list);
    return out;
}

class Lock {
public:
    explicit Lock(pthread_mutex_t &m) : m_(m)
    {
        if (auto e = ::pthread_mutex_lock(&m_)) /* @pthread_mutex_lock all */
            throw std::system_error(e, std::generic_category());
    }
    ~Lock() { ::pthread_mutex_unlock(&m_); } /* @pthread_mutex_unlock none ignored */

private:
    pthread_mutex_t &m_;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static std::map<std::string, long> table; /* @__cxa_atexit? any */

__attribute__((noinline)) void put(const std::string &k, long v)
{
    Lock l(table_lock);
    table[k] = v;
}

__attribute__((noinline)) long size_of(const std::string &path)
{
    struct stat st;
    return ::stat(path.c_str(), &st) ? throw std::system_error(last(), path) : st.st_size; /* @stat all */
}

__attribute__((noinline)) bool is_dir(const std::string &path)
{
    struct stat st;
    return !::lstat(path.c_str(), &st) && S_ISDIR(st.st_mode); /* @lstat all */
}

__attribute__((noinline)) long mode_of(const std::string &path)
{
    struct stat st;
    (void)::lstat(path.c_str(), &st); /* @lstat none ignored */
    return st.st_mode & 0777;
}

struct Closer {
    void operator()(FILE *f) const noexcept
    {
        if (f && std::fclose(f) != 0) /* @fclose all */
            std::abort();
    }
};

__attribute__((noinline)) std::string slurp(const char *path)
{
    std::unique_ptr<FILE, Closer> f(std::fopen(path, "rb")); /* @fopen all */
    std::string out;
    char buffer[512];
    size_t n;
    if (!f)
        return out;
    while ((n = std::fread(buffer, 1, sizeof buffer, f.get())) != 0) /* @fread all */
        out.append(buffer, n);
    return out;
}

__attribute__((noinline)) int spawn(char **argv)
{
    int status = -1;
    pid_t pid = ::fork(); /* @fork all */
    if (pid == 0) {
        ::execvp(argv[0], argv); /* @execvp any */
        ::_exit(127);
    }
    if (pid < 0)
        throw std::system_error(last(), "fork");
    while (::waitpid(pid, &status, 0) < 0) /* @waitpid all */
        if (errno != EINTR)
            throw std::system_error(last(), "waitpid");
    return status;
}

__attribute__((noinline)) void remove_all(const std::vector<std::string> &paths)
{
    std::for_each(paths.begin(), paths.end(), [](const std::string &p) { ::unlink(p.c_str()); }); /* @unlink none ignored */
}

__attribute__((noinline)) size_t remove_counted(const std::vector<std::string> &paths)
{
    return static_cast<size_t>(std::count_if(paths.begin(), paths.end(), [](const std::string &p) {
        return ::unlink(p.c_str()) == 0; /* @unlink all */
    }));
}

__attribute__((noinline)) bool all_there(const std::vector<std::string> &paths)
{
    return std::all_of(paths.begin(), paths.end(), [](auto &p) { return ::access(p.c_str(), F_OK) == 0; }); /* @access all */
}

class Pipe {
public:
    Pipe()
    {
        if (::pipe(ends_) < 0) /* @pipe all */
            throw std::system_error(last(), "pipe");
    }
    ~Pipe()
    {
        ::close(ends_[0]); /* @close none ignored */
        ::close(ends_[1]); /* @close none ignored */
    }
    void wake() { while (::write(ends_[1], "!", 1) < 0 && errno == EINTR) {} } /* @write some missing=EPIPE */
    bool woken(int ms)
    {
        pollfd p{ends_[0], POLLIN, 0};
        int n;
        do
            n = ::poll(&p, 1, ms); /* @poll all */
        while (n < 0 && errno == EINTR);
        return n > 0;
    }

private:
    int ends_[2];
};

__attribute__((noinline)) std::string home()
{
    const char *h = std::getenv("HOME"); /* @getenv all */
    return h ? h : "/";
}

__attribute__((noinline)) std::string editor()
{
    return std::getenv("EDITOR"); /* @getenv any */
}

__attribute__((noinline)) char *raw(size_t n)
{
    void *p = nullptr;
    if (::posix_memalign(&p, 4096, n) != 0) /* @posix_memalign all */
        throw std::bad_alloc();
    return static_cast<char *>(p);
}

__attribute__((noinline)) int *numbers(size_t n)
{
    auto p = static_cast<int *>(std::calloc(n, sizeof(int))); /* @calloc none dereferenced */
    for (size_t i = 0; i < n; i++)
        p[i] = static_cast<int>(i);
    return p;
}

} // namespace harbour

int main(int argc, char **argv)
{
    using namespace harbour;
    long r = 0;
    if (argc < 3)
        return 2;
    try {
        std::vector<std::string> paths(argv + 1, argv + argc);
        Socket s(AF_UNIX, SOCK_STREAM);
        s.bind(paths[0]);
        s.listen(5);
        if (!s.reuse(true))
            std::cerr << "reuse\n";
        auto peer = s.accept();
        if (!peer)
            throw std::system_error(peer.error());
        if (!send_all(*peer, receive(*peer) + receive_blindly(s.accept_any())))
            return 1;
        s.half_close();
        for (auto &a : resolve(argv[1]))
            put(a, size_of(argv[2]));
        r += is_dir(argv[1]) + mode_of(argv[2]) + static_cast<long>(slurp(argv[1]).size()) + spawn(argv + 1);
        remove_all(paths);
        r += static_cast<long>(remove_counted(paths)) + all_there(paths);
        Pipe p;
        p.wake();
        r += p.woken(100) + static_cast<long>(home().size() + editor().size()) + raw(10)[0] + numbers(10)[3];
    } catch (const std::exception &e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
    return r > 100;
} /* @__cxa_atexit? any */

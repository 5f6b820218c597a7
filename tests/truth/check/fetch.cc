/* SPDX-License-Identifier: Apache-2.0 */
/* fetch: gets a document over plain HTTP/1.0, with timeouts and a cache on disk. */
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <iostream>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

[[noreturn]] void throw_errno(const char *what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

template <typename T>
T check(T result, const char *what)
{
    if (result == static_cast<T>(-1))
        throw_errno(what);
    return result;
}

template <typename F>
auto retry(F fn) -> decltype(fn())
{
    decltype(fn()) r;
    do {
        r = fn();
    } while (r == -1 && errno == EINTR);
    return r;
}

class Fd {
public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
    Fd &operator=(Fd &&o) noexcept
    {
        std::swap(fd_, o.fd_);
        return *this;
    }
    Fd(const Fd &) = delete;
    Fd &operator=(const Fd &) = delete;
    ~Fd()
    {
        if (fd_ >= 0)
            ::close(fd_);                                       /* @close none ignored */
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_ = -1;
};

struct FileCloser {
    void operator()(FILE *f) const
    {
        std::fclose(f);                                         /* @fclose none ignored */
    }
};
using File = std::unique_ptr<FILE, FileCloser>;

struct AddrFree {
    void operator()(addrinfo *ai) const { ::freeaddrinfo(ai); }
};
using Addresses = std::unique_ptr<addrinfo, AddrFree>;

struct Url {
    std::string host, port = "80", path = "/";
};

Url parse_url(const std::string &s)
{
    static const char prefix[] = "http://";
    if (s.compare(0, sizeof prefix - 1, prefix) != 0)
        throw std::invalid_argument("only http:// is known");
    Url u;
    std::string rest = s.substr(sizeof prefix - 1);
    auto slash = rest.find('/');
    if (slash != std::string::npos) {
        u.path = rest.substr(slash);
        rest.resize(slash);
    }
    auto colon = rest.find(':');
    if (colon != std::string::npos) {
        char *end = nullptr;
        u.port = rest.substr(colon + 1);
        long p = std::strtol(u.port.c_str(), &end, 10);         /* @strtol all */
        if (*end != '\0' || p <= 0 || p > 65535)
            throw std::invalid_argument("bad port");
        rest.resize(colon);
    }
    u.host = rest;
    return u;
}

Addresses resolve(const Url &u)
{
    addrinfo hints{}, *res = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_family = AF_UNSPEC;
    int rc = ::getaddrinfo(u.host.c_str(), u.port.c_str(), &hints, &res);   /* @getaddrinfo all */
    if (rc < 0)
        throw std::runtime_error(u.host + ": " + ::gai_strerror(rc));
    return Addresses(res);
}

void tune(int fd)
{
    int one = 1;
    timeval tv{10, 0};
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);           /* @setsockopt none ignored */
    if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) != 0)     /* @setsockopt all */
        std::cerr << "no receive timeout\n";
}

bool wait_writable(int fd, std::chrono::milliseconds limit)
{
    pollfd p{fd, POLLOUT, 0};
    int rc = check(retry([&] { return ::poll(&p, 1, static_cast<int>(limit.count())); }), "poll");  /* @poll all */
    if (rc == 0)
        return false;
    int err = 0;
    socklen_t len = sizeof err;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == -1)      /* @getsockopt all */
        return false;
    return err == 0;
}

Fd dial(const Url &u)
{
    auto list = resolve(u);
    for (addrinfo *ai = list.get(); ai; ai = ai->ai_next) {
        Fd fd(::socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC, ai->ai_protocol));    /* @socket all */
        if (!fd)
            continue;
        int flags = check(::fcntl(fd.get(), F_GETFL), "F_GETFL");           /* @fcntl all */
        check(::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK), "F_SETFL");   /* @fcntl all */
        if (::connect(fd.get(), ai->ai_addr, ai->ai_addrlen) < 0) {         /* @connect all */
            if (errno != EINPROGRESS)
                continue;
            if (!wait_writable(fd.get(), std::chrono::seconds(10)))
                continue;
        }
        ::fcntl(fd.get(), F_SETFL, flags);                      /* @fcntl none ignored */
        tune(fd.get());
        return fd;
    }
    throw std::runtime_error("cannot connect to " + u.host);
}

void send_request(int fd, const Url &u)
{
    std::string req = "GET " + u.path + " HTTP/1.0\r\nHost: " + u.host + "\r\n\r\n";
    const char *p = req.data();
    size_t left = req.size();
    while (left > 0) {
        ssize_t n = ::send(fd, p, left, MSG_NOSIGNAL);          /* @send some missing=ECONNRESET,EPIPE */
        if (n < 0 && errno == EINTR)
            continue;
        p += n;
        left -= static_cast<size_t>(n);
    }
}

std::string receive(int fd)
{
    std::vector<char> buf(16384);
    std::string out;
    for (;;) {
        ssize_t n = retry([&] { return ::recv(fd, buf.data(), buf.size(), 0); });   /* @recv all */
        if (n < 0)
            throw_errno("recv");
        if (n == 0)
            break;
        out.append(buf.data(), static_cast<size_t>(n));
    }
    return out;
}

class Cache {
public:
    explicit Cache(std::string dir) : dir_(std::move(dir))
    {
        if (::mkdir(dir_.c_str(), 0700) != 0 && errno != EEXIST)            /* @mkdir all */
            throw_errno("mkdir");
    }

    bool fresh(const std::string &key) const
    {
        struct stat st;
        if (::stat(name(key).c_str(), &st) < 0)                 /* @stat all */
            return false;
        return st.st_mtime + 300 > std::time(nullptr);          /* @time any */
    }

    std::string load(const std::string &key) const
    {
        File f(std::fopen(name(key).c_str(), "rb"));            /* @fopen all */
        std::string out;
        if (!f)
            return out;
        char buf[4096];
        size_t n;
        while ((n = std::fread(buf, 1, sizeof buf, f.get())) > 0)   /* @fread all */
            out.append(buf, n);
        if (std::ferror(f.get()))
            throw_errno("fread");
        return out;
    }

    void store(const std::string &key, const std::string &doc) const
    {
        std::string tmp = name(key) + ".tmp";
        FILE *f = std::fopen(tmp.c_str(), "wb");                /* @fopen none dereferenced */
        std::fwrite(doc.data(), 1, doc.size(), f);              /* @fwrite none ignored */
        int flushed = std::fflush(f);                           /* @fflush all */
        std::fclose(f);                                         /* @fclose none ignored */
        if (flushed == EOF)
            throw_errno("fflush");
        if (std::rename(tmp.c_str(), name(key).c_str()) != 0)        /* @rename all */
            throw_errno("rename");
    }

    void drop(const std::string &key) const
    {
        if (::unlink(name(key).c_str()) < 0 && errno == EACCES)     /* @unlink some missing=EPERM,EROFS */
            throw_errno("unlink");
    }

private:
    std::string name(const std::string &key) const
    {
        std::string s = dir_ + '/';
        for (char c : key)
            s += (c == '/' || c == ':') ? '_' : c;
        return s;
    }
    std::string dir_;
};

std::string http_date(std::time_t t)
{
    char buf[64];
    std::tm *tm = std::gmtime(&t);                              /* @gmtime all */
    if (tm == nullptr)
        return {};
    auto n = std::strftime(buf, sizeof buf, "%a, %d %b %Y %H:%M:%S GMT", tm);   /* @strftime all */
    if (n == 0)
        return "?";
    return std::string(buf, n);
}

std::string body_of(const std::string &answer)
{
    int major = 0, minor = 0, code = 0;
    if (std::sscanf(answer.c_str(), "HTTP/%d.%d %d", &major, &minor, &code) != 3)   /* @sscanf/__isoc99_sscanf all */
        throw std::runtime_error("no HTTP answer");
    if (code != 200)
        throw std::runtime_error("status " + std::to_string(code) + " at " + http_date(std::time(nullptr)));    /* @time any */
    auto at = answer.find("\r\n\r\n");
    return at == std::string::npos ? std::string() : answer.substr(at + 4);
}

} // namespace

int main(int argc, char **argv)
try {
    if (argc < 2) {
        std::fputs("usage: fetch URL [FILE]\n", stderr);        /* @fputs/fwrite none ignored */
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);                              /* @signal none ignored */
    const char *home = std::getenv("FETCH_CACHE");              /* @getenv all */
    Cache cache(home ? home : "/tmp/fetch-cache");
    std::string key = argv[1], doc;
    if (cache.fresh(key)) {
        doc = cache.load(key);
    } else {
        cache.drop(key);
        Url u = parse_url(key);
        Fd fd = dial(u);
        send_request(fd.get(), u);
        if (::shutdown(fd.get(), SHUT_WR) < 0 && errno == ENOTCONN)     /* @shutdown some missing=EBADF,ENOTSOCK */
            throw_errno("shutdown");
        doc = body_of(receive(fd.get()));
        cache.store(key, doc);
    }
    auto closer = [](int *p) { check(::close(*p), "close"); };  /* @close all */
    int out = argc > 2 ? ::open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666) : 1;   /* @open all */
    check(out, "open");
    {
        std::unique_ptr<int, decltype(closer)> guard(argc > 2 ? &out : nullptr, closer);
        size_t done = 0;
        while (done < doc.size())
            done += static_cast<size_t>(check(::write(out, doc.data() + done, doc.size() - done), "write"));   /* @write all */
    }
    return 0;
} catch (const std::exception &e) {
    std::cerr << "fetch: " << e.what() << '\n';
    return 1;
} /* @__cxa_atexit? any */

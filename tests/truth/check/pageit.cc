/* SPDX-License-Identifier: Apache-2.0 */
// A text pager: raw terminal, window size, search with regular expressions, character conversion, following a file.
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <fcntl.h>
#include <iconv.h>
#include <langinfo.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <regex.h>
#include <stdexcept>
#include <string>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

volatile sig_atomic_t resized;

void on_resize(int)
{
    resized = 1;
}

std::error_code last()
{
    return {errno, std::system_category()};
}

class Fd {
    int fd_ = -1;
public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd &&o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
    Fd &operator=(Fd &&o) noexcept
    {
        std::swap(fd_, o.fd_);
        return *this;
    }
    ~Fd()
    {
        if (fd_ != -1)
            ::close(fd_); /* @close? none ignored */
    }
    bool valid() const { return fd_ >= 0; }
    int operator*() const { return fd_; }
};

class Terminal {
    int fd_;
    termios old_{};
    bool raw_ = false;
public:
    int rows = 24, cols = 80;

    Terminal() : fd_(::open("/dev/tty", O_RDWR | O_CLOEXEC)) /* @open all */
    {
        if (fd_ < 0)
            throw std::system_error(last(), "/dev/tty");
        if (::tcgetattr(fd_, &old_) == -1) { /* @tcgetattr all */
            std::error_code e = last();
            ::close(fd_); /* @close none ignored */
            throw std::system_error(e, "tcgetattr");
        }
        termios t = old_;
        t.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        t.c_cc[VMIN] = 1;
        raw_ = ::tcsetattr(fd_, TCSADRAIN, &t) == 0; /* @tcsetattr all */
        size();
    }
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;
    ~Terminal()
    {
        if (raw_)
            ::tcsetattr(fd_, TCSADRAIN, &old_); /* @tcsetattr? none ignored */
        ::close(fd_); /* @close? none ignored */
    }
    void size()
    {
        winsize w;
        ::ioctl(fd_, TIOCGWINSZ, &w); /* @ioctl none ignored */
        if (w.ws_row > 0) {
            rows = w.ws_row;
            cols = w.ws_col;
        }
    }
    std::optional<char> key()
    {
        char c;
        ssize_t n = ::read(fd_, &c, 1); /* @read all */
        if (n != 1)
            return std::nullopt;
        return c;
    }
    bool put(const std::string &s)
    {
        size_t off = 0;
        while (off < s.size()) {
            ssize_t n = ::write(fd_, s.data() + off, s.size() - off); /* @write all */
            if (n < 0) {
                if (errno == EINTR)
                    continue;
                return false;
            }
            off += static_cast<size_t>(n);
        }
        return true;
    }
    void bell()
    {
        ::write(fd_, "\a", 1); /* @write none ignored */
        ::tcflush(fd_, TCIFLUSH); /* @tcflush none ignored */
    }
};

class Text {
    const char *p_ = nullptr;
    size_t n_ = 0;
    bool mapped_ = false;
    std::vector<size_t> lines_;
public:
    Text() = default;
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;
    ~Text() { clear(); }

    void clear()
    {
        if (mapped_)
            ::munmap(const_cast<char *>(p_), n_); /* @munmap? any */
        else
            std::free(const_cast<char *>(p_));
        p_ = nullptr;
    }

    std::error_code load(const std::string &path)
    {
        Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); /* @open all */
        struct stat st;
        if (!fd.valid())
            return last();
        if (::fstat(*fd, &st) != 0) /* @fstat all */
            return last();
        clear();
        if (S_ISREG(st.st_mode) && st.st_size > 65536)
            return map(*fd, static_cast<size_t>(st.st_size));
        return slurp(*fd);
    }

    std::error_code map(int fd, size_t n)
    {
        void *p = ::mmap(nullptr, n, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap/mmap64 none ignored/used/dereferenced/returned */
        if (!p)
            return last();
        ::madvise(p, n, MADV_SEQUENTIAL); /* @madvise none ignored */
        p_ = static_cast<const char *>(p);
        n_ = n;
        mapped_ = true;
        return {};
    }

    std::error_code slurp(int fd)
    {
        size_t cap = 4096, n = 0;
        char *b = static_cast<char *>(std::malloc(cap)); /* @malloc all */
        if (!b)
            return std::make_error_code(std::errc::not_enough_memory);
        for (;;) {
            ssize_t got = ::read(fd, b + n, cap - n); /* @read all */
            if (got == 0)
                break;
            if (got == -1) {
                std::error_code e = last();
                std::free(b);
                return e;
            }
            n += static_cast<size_t>(got);
            if (n == cap) {
                cap *= 2;
                b = static_cast<char *>(std::realloc(b, cap)); /* @realloc none used/dereferenced */
            }
        }
        p_ = b;
        n_ = n;
        mapped_ = false;
        return {};
    }

    void index()
    {
        lines_.assign(1, 0);
        for (size_t i = 0; i < n_; i++)
            if (p_[i] == '\n')
                lines_.push_back(i + 1);
    }
    size_t count() const { return lines_.size(); }
    std::string line(size_t i) const
    {
        size_t a = lines_[i], b = i + 1 < lines_.size() ? lines_[i + 1] - 1 : n_;
        return std::string(p_ + a, b > a ? b - a : 0);
    }
};

class Pattern {
    regex_t re_;
    int rc_;
public:
    explicit Pattern(const std::string &s) : rc_(::regcomp(&re_, s.c_str(), REG_EXTENDED | REG_NOSUB)) {} /* @regcomp all */
    Pattern(const Pattern &) = delete;
    Pattern &operator=(const Pattern &) = delete;
    ~Pattern()
    {
        if (rc_ == 0)
            ::regfree(&re_);
    }
    bool ok() const { return rc_ == 0; }
    bool matches(const std::string &s) const
    {
        return ::regexec(&re_, s.c_str(), 0, nullptr, 0) == 0; /* @regexec all */
    }
};

class Converter {
    iconv_t cd_;
public:
    explicit Converter(const char *from) : cd_(::iconv_open("UTF-8", from)) /* @iconv_open all */
    {
        if (cd_ == reinterpret_cast<iconv_t>(-1))
            throw std::system_error(last(), from);
    }
    Converter(const Converter &) = delete;
    Converter &operator=(const Converter &) = delete;
    ~Converter()
    {
        ::iconv_close(cd_); /* @iconv_close? none ignored */
    }
    std::string run(std::string in)
    {
        std::string out(in.size() * 4 + 4, '\0');
        char *a = &in[0], *b = &out[0];
        size_t na = in.size(), nb = out.size();
        if (::iconv(cd_, &a, &na, &b, &nb) == static_cast<size_t>(-1)) { /* @iconv all */
            switch (errno) {
            case EILSEQ:
            case EINVAL:
                return "(not text)";
            default:
                return in;
            }
        }
        out.resize(out.size() - nb);
        return out;
    }
};

class Follower {
    Fd fd_;
    int wd_ = -1;
public:
    bool start(const std::string &path)
    {
        fd_ = Fd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); /* @inotify_init1 all */
        if (!fd_.valid())
            return false;
        wd_ = ::inotify_add_watch(*fd_, path.c_str(), IN_MODIFY); /* @inotify_add_watch all */
        return wd_ >= 0;
    }
    bool changed(int ms)
    {
        char buf[1024];
        pollfd p{*fd_, POLLIN, 0};
        if (::poll(&p, 1, ms) < 1) /* @poll all */
            return false;
        return ::read(*fd_, buf, sizeof buf) > 0; /* @read all */
    }
    void stop()
    {
        ::inotify_rm_watch(*fd_, wd_); /* @inotify_rm_watch none ignored */
    }
};

struct PipeCloser {
    void operator()(FILE *f) const
    {
        ::pclose(f); /* @pclose? none ignored */
    }
};

std::string filtered(const std::string &cmd)
{
    std::unique_ptr<FILE, PipeCloser> p(::popen(cmd.c_str(), "r")); /* @popen none used/dereferenced */
    std::string out;
    char buf[512];
    while (std::fgets(buf, sizeof buf, p.get())) /* @fgets all */
        out += buf;
    return out;
}

bool save(const std::string &path, const Text &t)
{
    std::unique_ptr<FILE, int (*)(FILE *)> f(std::fopen(path.c_str(), "w"), std::fclose); /* @fopen all */
    if (!f)
        return false;
    for (size_t i = 0; i < t.count(); i++) {
        std::string s = t.line(i) + "\n";
        if (std::fwrite(s.data(), s.size(), 1, f.get()) != 1) /* @fwrite all */
            return false;
    }
    return !std::fflush(f.get()) && !::fsync(::fileno(f.get())); /* @fflush all; @fsync all; @fileno any */
} /* @fclose? none ignored */

void remember(const std::string &path, size_t top)
{
    FILE *f = std::fopen((path + ".pos").c_str(), "w"); /* @fopen all */
    if (f) {
        std::fprintf(f, "%zu\n", top); /* @fprintf none ignored */
        std::fclose(f); /* @fclose none ignored */
    }
}

size_t recall(const std::string &path)
{
    size_t top = 0;
    FILE *f = std::fopen((path + ".pos").c_str(), "r"); /* @fopen all */
    if (!f)
        return 0;
    std::fscanf(f, "%zu", &top); /* @fscanf/__isoc99_fscanf/__isoc23_fscanf none ignored */
    std::fclose(f); /* @fclose none ignored */
    return top;
}

bool draw(Terminal &t, const Text &x, size_t top, Converter *conv)
{
    std::string s = "\033[H\033[2J";
    for (size_t i = top; i < x.count() && i < top + static_cast<size_t>(t.rows) - 1; i++) {
        std::string l = conv ? conv->run(x.line(i)) : x.line(i);
        s += l.substr(0, static_cast<size_t>(t.cols)) + "\r\n";
    }
    return t.put(s);
}

int interact(Terminal &t, Text &x, const std::string &path, Converter *conv)
{
    size_t top = recall(path);
    Follower f;
    bool follow = f.start(path);
    for (;;) {
        if (resized) {
            resized = 0;
            t.size();
        }
        if (!draw(t, x, top, conv))
            return 1;
        if (follow && f.changed(10)) {
            if (auto e = x.load(path))
                throw std::system_error(e, path);
            x.index();
        }
        auto k = t.key();
        switch (k.value_or('q')) {
        case 'q':
            remember(path, top);
            if (follow)
                f.stop();
            return 0;
        case 'j':
            if (top + 1 < x.count())
                top++;
            break;
        case 's':
            if (!save(path + ".copy", x))
                t.bell();
            break;
        case '!':
            t.put(filtered("date"));
            break;
        case '/': {
            Pattern p("error|warning");
            if (!p.ok())
                t.bell();
            else
                while (top + 1 < x.count() && !p.matches(x.line(top)))
                    top++;
            break;
        }
        default:
            t.bell();
        }
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (!std::setlocale(LC_ALL, "")) /* @setlocale all */
        std::fprintf(stderr, "pageit: bad locale\n"); /* @fprintf/fwrite/fputs any */
    struct sigaction sa;
    std::memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_resize;
    if (::sigaction(SIGWINCH, &sa, nullptr) < 0) /* @sigaction all */
        return 1;
    try {
        Text x;
        if (auto e = x.load(argv[1])) {
            std::fprintf(stderr, "pageit: %s: %s\n", argv[1], e.message().c_str()); /* @fprintf any */
            return 1;
        }
        x.index();
        std::unique_ptr<Converter> conv;
        if (argc > 2)
            conv = std::make_unique<Converter>(argv[2]);
        Terminal t;
        return interact(t, x, argv[1], conv.get());
    } catch (const std::system_error &e) {
        std::fprintf(stderr, "pageit: %s\n", e.what()); /* @fprintf any */
        return 1;
    }
}

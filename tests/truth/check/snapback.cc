/* SPDX-License-Identifier: Apache-2.0 */
// A backup tool: hard-links unchanged files from the last snapshot, copies the others, sends a report.
/* flags: -std=c++17 */
#include <arpa/inet.h>
#include <cassert>
#include <cerrno>
#include <climits>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <grp.h>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <vector>
#include <wordexp.h>

namespace {

struct Stats {
    unsigned copied = 0, linked = 0, failed = 0;
    int first_errno = 0;
    void failure(const char *what)
    {
        if (!first_errno)
            first_errno = errno;
        failed++;
        perror(what);
    }
};

Stats stats;
bool strict;

struct Options {
    std::vector<std::string> exclude;
    regex_t keep;
    bool have_keep = false;
    long name_max = 255;
    bool use_links = true;
};

std::optional<struct stat> look(const std::string &path)
{
    struct stat st;
    if (::lstat(path.c_str(), &st) < 0) /* @lstat all */
        return std::nullopt;
    return st;
}

std::optional<long> number(const char *s)
{
    char *end = nullptr;
    errno = 0;
    long v = ::strtol(s, &end, 10); /* @strtol all */
    if (errno != 0 || !end || *end)
        return {};
    return v;
}

std::optional<std::string> link_target(const std::string &path)
{
    char buf[PATH_MAX];
    ssize_t n = ::readlink(path.c_str(), buf, sizeof buf); /* @readlink all */
    return n < 0 ? std::nullopt : std::optional<std::string>(std::string(buf, static_cast<size_t>(n)));
}

long name_limit(const char *dir)
{
    errno = 0;
    long n = ::pathconf(dir, _PC_NAME_MAX); /* @pathconf all */
    if (n == -1)
        return errno ? 0 : 255;
    return n;
}

class Pipe {
    FILE *f_;
public:
    explicit Pipe(const char *cmd) : f_(::popen(cmd, "w")) {} /* @popen all */
    Pipe(const Pipe &) = delete;
    Pipe &operator=(const Pipe &) = delete;
    ~Pipe()
    {
        if (f_)
            ::pclose(f_); /* @pclose? none ignored */
    }
    bool ok() const { return f_ != nullptr; }
    void line(const std::string &s)
    {
        ::fputs(s.c_str(), f_); /* @fputs/fwrite none ignored */
    }
};

bool same(const struct stat &a, const struct stat &b)
{
    return a.st_size == b.st_size && a.st_mtime == b.st_mtime && a.st_mode == b.st_mode;
}

int copy_bytes(int in, int out)
{
    static char buf[1 << 16];
    for (;;) {
        ssize_t n = ::read(in, buf, sizeof buf); /* @read all */
        if (n == 0)
            return 0;
        if (n < 0)
            return -1;
        size_t want = static_cast<size_t>(n);
        if (::write(out, buf, want) < want) /* @write none ignored/used/returned */
            return -1;
    }
}

bool copy_file(const std::string &from, const std::string &to, const struct stat &st)
{
    bool ok = false;
    int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); /* @open some missing=EACCES */
    if (in < 0 && errno == ENOENT)
        return true;
    int out = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* @open all */
    if (out < 0)
        goto done;
    if (copy_bytes(in, out) != 0)
        goto done;
    if (::fchown(out, st.st_uid, st.st_gid) < 0 && errno == EROFS) /* @fchown some missing=EPERM */
        goto done;
    ok = ::fchmod(out, st.st_mode & 07777) == 0; /* @fchmod all */
    {
        struct timespec ts[2] = { st.st_atim, st.st_mtim };
        ::futimens(out, ts); /* @futimens none ignored */
    }
done:
    if (out >= 0)
        ok &= ::close(out) == 0; /* @close all */
    ::close(in); /* @close none ignored */
    return ok;
}

bool make_link(const std::string &old, const std::string &to, Options &o)
{
    int rc = ::link(old.c_str(), to.c_str()); /* @link some missing=EACCES */
    if (rc == -1 && (errno == EMLINK || errno == EXDEV)) {
        o.use_links = false;
        return false;
    }
    stats.linked++;
    return true;
}

bool excluded(const Options &o, const char *name)
{
    for (const auto &p : o.exclude)
        if (::fnmatch(p.c_str(), name, FNM_PERIOD) == 0) /* @fnmatch all */
            return true;
    if (o.have_keep && ::regexec(&o.keep, name, 0, nullptr, 0) == REG_NOMATCH) /* @regexec all */
        return true;
    return false;
}

void special(const std::string &from, const std::string &to, const struct stat &st)
{
    if (S_ISLNK(st.st_mode)) {
        auto t = link_target(from);
        if (!t || ::symlink(t->c_str(), to.c_str()) != 0) /* @symlink all */
            stats.failure(to.c_str());
    } else if (S_ISFIFO(st.st_mode)) {
        ::mkfifo(to.c_str(), st.st_mode); /* @mkfifo none ignored */
    } else {
        ::mknod(to.c_str(), st.st_mode, st.st_rdev); /* @mknod none ignored */
    }
}

void tree(const std::string &from, const std::string &old, const std::string &to, Options &o)
{
    struct Closer {
        DIR *d;
        ~Closer()
        {
            if (d)
                ::closedir(d); /* @closedir? none ignored */
        }
    };
    Closer c{::opendir(from.c_str())}; /* @opendir all */
    if (!c.d) {
        stats.failure(from.c_str());
        return;
    }
    if (::mkdir(to.c_str(), 0700) < 0 && errno == ENOSPC) /* @mkdir some missing=EACCES */
        exit(1);
    while (struct dirent *e = ::readdir(c.d)) { /* @readdir/readdir64 any */
        std::string name = e->d_name;
        if (name == "." || name == ".." || excluded(o, e->d_name))
            continue;
        if (static_cast<long>(name.size()) > o.name_max) {
            stats.failed++;
            continue;
        }
        std::string src = from + "/" + name, dst = to + "/" + name, prev = old + "/" + name;
        auto st = look(src);
        if (!st) {
            stats.failure(src.c_str());
            continue;
        }
        if (S_ISDIR(st->st_mode)) {
            tree(src, prev, dst, o);
            continue;
        }
        if (!S_ISREG(st->st_mode)) {
            special(src, dst, *st);
            continue;
        }
        auto before = look(prev);
        if (o.use_links && before && same(*st, *before) && make_link(prev, dst, o))
            continue;
        if (copy_file(src, dst, *st))
            stats.copied++;
        else
            stats.failure(src.c_str());
    }
}

void switch_latest(const std::string &to, const std::string &latest)
{
    std::string tmp = latest + ".new";
    ::unlink(tmp.c_str()); /* @unlink none ignored */
    auto check = [](int rc, const char *what) {
        if (rc)
            stats.failure(what);
        return rc == 0;
    };
    if (check(::symlink(to.c_str(), tmp.c_str()), "symlink")) /* @symlink all */
        check(::rename(tmp.c_str(), latest.c_str()), "rename"); /* @rename all */
    int dir = ::open(".", O_RDONLY | O_DIRECTORY); /* @open none used */
    if (dir)
        ::fsync(dir); /* @fsync none ignored */
}

void read_patterns(const char *file, Options &o)
{
    std::unique_ptr<FILE, int (*)(FILE *)> f(::fopen(file, "r"), ::fclose); /* @fopen all; @fclose? any */
    char *line = nullptr;
    size_t cap = 0;
    ssize_t n;
    if (!f)
        return;
    while ((n = ::getline(&line, &cap, f.get())) > 0) { /* @getline/__getdelim/getdelim? all */
        if (line[n - 1] == '\n')
            line[n - 1] = 0;
        o.exclude.emplace_back(line);
    }
    ::free(line);
} /* @fclose? none ignored */

std::string expand(const char *text)
{
    wordexp_t w;
    std::string s;
    switch (::wordexp(text, &w, WRDE_NOCMD)) { /* @wordexp all */
    case 0:
        if (w.we_wordc)
            s = w.we_wordv[0];
        break;
    case WRDE_NOSPACE:
        ::wordfree(&w); /* @wordfree any */
        [[fallthrough]];
    default:
        return text;
    }
    ::wordfree(&w); /* @wordfree any */
    return s;
}

size_t columns(const char *s)
{
    size_t n = ::mbstowcs(nullptr, s, 0); /* @mbstowcs all */
    return n == static_cast<size_t>(-1) ? std::strlen(s) : n;
}

void send_report(const char *addr, int port)
{
    struct sockaddr_in sa {};
    char msg[256], reply[64];
    sa.sin_family = AF_INET;
    sa.sin_port = htons(static_cast<unsigned short>(port));
    ::inet_pton(AF_INET, addr, &sa.sin_addr); /* @inet_pton none ignored */
    int s = ::socket(AF_INET, SOCK_DGRAM, 0); /* @socket all */
    if (s < 0)
        return;
    struct timeval tv = { 2, 0 };
    ::setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv); /* @setsockopt none ignored */
    if (::connect(s, reinterpret_cast<struct sockaddr *>(&sa), sizeof sa) == -1 && errno == ECONNREFUSED) /* @connect some missing=ENETUNREACH */
        exit(3);
    int n = ::snprintf(msg, sizeof msg, "%u copied, %u linked, %u failed", stats.copied, stats.linked, stats.failed); /* @snprintf any */
    ::send(s, msg, static_cast<size_t>(n), 0); /* @send none ignored */
    ssize_t got = ::recv(s, reply, sizeof reply - 1, 0); /* @recv some missing=ECONNREFUSED */
    if (got == -1 && errno == EAGAIN)
        ::strcpy(reply, "(no answer)");
    else
        reply[got] = 0;
    ::puts(reply); /* @puts any */
    ::close(s); /* @close none ignored */
}

void run_post(const char *cmd)
{
    pid_t pid = ::fork(); /* @fork none used */
    int status = 0;
    if (pid == 0) {
        ::execl("/bin/sh", "sh", "-c", cmd, nullptr); /* @execl any */
        ::_exit(127);
    }
    ::waitpid(pid, &status, 0); /* @waitpid none ignored */
    if (status)
        stats.failed++;
}

void *keep_alive(void *)
{
    for (;;) {
        ::sleep(30); /* @sleep any */
        ::fputs(".", stderr); /* @fputs/fputc/fwrite any */
    }
    return nullptr;
}

void show_owner(const struct stat &st)
{
    const char *group = ::getgrgid(st.st_gid)->gr_name; /* @getgrgid none dereferenced */
    struct passwd *pw = ::getpwuid(st.st_uid); /* @getpwuid all */
    ::printf("owner %s.%s, changed %s", pw ? pw->pw_name : "?", group, ::ctime(&st.st_mtime)); /* @printf none ignored; @ctime none dereferenced/used */
}

void lower_priority(int by)
{
    errno = 0;
    int rc = ::nice(by); /* @nice all */
    if (rc == -1 && errno)
        ::fprintf(stderr, "not nicer\n"); /* @fprintf/fwrite/fputs any */
#ifdef SNAPBACK_DEBUG
    if (::chdir("/") < 0)
        abort();
#endif
}

void scratch_test(const char *dir)
{
    std::string t = std::string(dir) + "/.probe";
    int fd = ::creat(t.c_str(), 0600); /* @creat any */
    if (strict && fd < 0) {
        perror(t.c_str());
        exit(1);
    }
    unsigned got = static_cast<unsigned>(::dprintf(fd, "probe\n")); /* @dprintf none ignored/used/returned */
    if (got < 0u)
        exit(1);
    ::remove(t.c_str()); /* @remove none ignored */
}

} // namespace

int main(int argc, char **argv)
{
    Options o;
    pthread_t t;
    if (argc < 4) {
        ::fprintf(stderr, "usage: snapback FROM OLD TO [EXCLUDES [KEEP [NICE [ADDRESS]]]]\n"); /* @fprintf/fwrite/fputs any */
        return 2;
    }
    std::setlocale(LC_CTYPE, ""); /* @setlocale any */
    strict = std::getenv("SNAPBACK_STRICT") != nullptr; /* @getenv any */
    if (int rc = ::pthread_create(&t, nullptr, keep_alive, nullptr)) /* @pthread_create all */
        ::fprintf(stderr, "%s\n", std::strerror(rc)); /* @fprintf any */
    else
        ::pthread_detach(t); /* @pthread_detach any */
    std::string from = expand(argv[1]);
    o.name_max = name_limit(argv[3]);
    scratch_test(argv[3]);
    if (argc > 4)
        read_patterns(argv[4], o);
    if (argc > 5) {
        int rc = ::regcomp(&o.keep, argv[5], REG_EXTENDED); /* @regcomp all */
        char why[128];
        o.have_keep = rc == 0;
        if (!o.have_keep) {
            ::regerror(rc, &o.keep, why, sizeof why); /* @regerror any */
            ::fprintf(stderr, "%*s^ %s\n", static_cast<int>(columns(argv[5])), "", why); /* @fprintf any */
            return 2;
        }
    }
    if (argc > 6) {
        auto by = number(argv[6]);
        lower_priority(static_cast<int>(by.value_or(10)));
    }
    if (auto st = look(from))
        show_owner(*st);
    tree(from, argv[2], argv[3], o);
    switch_latest(argv[3], "latest");
    if (argc > 7)
        send_report(argv[7], 9999);
    if (argc > 8)
        run_post(argv[8]);
    Pipe mail("mail -s snapback root");
    if (mail.ok())
        mail.line("backup done\n");
    return stats.failed ? 1 : 0;
}

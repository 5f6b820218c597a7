/* SPDX-License-Identifier: Apache-2.0 */
/* A ledger in files: owners that close, results as objects, lambdas and guards. */
/* flags: -std=c++17 */
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <array>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

[[noreturn]] static void fail(const char *what) { throw std::system_error(errno, std::generic_category(), what); }

/* An owner whose constructor throws. */
class Fd {
public:
  explicit Fd(int fd) : fd_(fd) {
    if (fd_ < 0) fail("open");
  }
  Fd(const Fd &) = delete;
  Fd &operator=(const Fd &) = delete;
  ~Fd() { ::close(fd_); } /* @close none ignored */
  int get() const { return fd_; }

private:
  int fd_;
};

/* An owner that can be asked. */
class Maybe {
public:
  explicit Maybe(int fd) : fd_(fd) {}
  Maybe(Maybe &&o) : fd_(std::exchange(o.fd_, -1)) {}
  ~Maybe() {
    if (fd_ != -1) ::close(fd_); /* @close none ignored */
  }
  explicit operator bool() const { return fd_ >= 0; }
  int operator*() const { return fd_; }

private:
  int fd_;
};

template <typename T> struct Result {
  T value;
  int error;
  bool ok() const { return error == 0; }
  T unwrap() const {
    if (error) throw std::runtime_error("unwrap");
    return value;
  }
};

template <typename T> static T check(T v, const char *what) {
  if (v == static_cast<T>(-1)) fail(what);
  return v;
}

template <typename F> class Guard {
public:
  explicit Guard(F f) : f_(f) {}
  ~Guard() { f_(); }

private:
  F f_;
};

static Result<int> make(const char *path) {
  int fd = ::open(path, O_RDWR | O_CREAT, 0600); /* @open all */
  if (fd < 0) return {fd, errno};
  return {fd, 0};
}

static std::optional<size_t> size_of(int fd) {
  struct stat st;
  if (::fstat(fd, &st)) return std::nullopt; /* @fstat all */
  return st.st_size;
}

static std::pair<int, int> both_ends() {
  int p[2] = {-1, -1};
  int r = ::pipe(p); /* @pipe all */
  return r ? std::make_pair(-1, -1) : std::make_pair(p[0], p[1]);
}

static std::unique_ptr<char[]> block(size_t n) {
  std::unique_ptr<char[]> p(new (std::nothrow) char[n]); /* @_ZnamRKSt9nothrow_t? all */
  if (!p) fail("new");
  return p;
}

struct Closer {
  void operator()(FILE *f) const { std::fclose(f); } /* @fclose none ignored */
};
using File = std::unique_ptr<FILE, Closer>;

static std::string first_line(const char *path) {
  File f(std::fopen(path, "r")); /* @fopen all */
  char line[100];
  if (!f) return "";
  if (!std::fgets(line, sizeof line, f.get())) return ""; /* @fgets all */
  return line;
}

static void append(const char *path, const std::string &text) {
  Fd fd(::open(path, O_WRONLY | O_APPEND)); /* @open all */
  auto whole = [&](ssize_t n) {
    if (n != static_cast<ssize_t>(text.size())) fail("write");
  };
  whole(::write(fd.get(), text.data(), text.size())); /* @write all */
  check(::fsync(fd.get()), "fsync"); /* @fsync all */
}

static long length(const char *path) {
  Maybe fd(::open(path, O_RDONLY)); /* @open all */
  if (!fd) return -1;
  return check(::lseek(*fd, 0, SEEK_END), "lseek"); /* @lseek all */
}

static long careless(const char *path) {
  Maybe fd(::open(path, O_RDONLY)); /* @open any */
  char b[10];
  return ::read(*fd, b, sizeof b) + b[0]; /* @read none used */
}

/* A throw in an expression. */
static int opened(const char *path) {
  int fd = ::open(path, O_RDONLY); /* @open all */
  return fd < 0 ? throw std::runtime_error(path) : fd;
}

class Map {
public:
  Map(int fd, size_t n) : n_(n), p_(::mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0)) { /* @mmap all */
    if (p_ == MAP_FAILED) throw std::bad_alloc();
  }
  Map(const Map &) = delete;
  Map &operator=(const Map &) = delete;
  ~Map() { ::munmap(p_, n_); } /* @munmap none ignored */
  const char *data() const { return static_cast<const char *>(p_); }

private:
  size_t n_;
  void *p_;
};

/* Answers an error as a boolean. */
static bool renamed(const std::string &a, const std::string &b) noexcept { return ::rename(a.c_str(), b.c_str()) == 0; } /* @rename all */

static std::array<int, 3> three(const char *path) {
  std::array<int, 3> fds{};
  for (auto &fd : fds)
    fd = ::open(path, O_RDONLY); /* @open all */
  return fds;
}

class Base {
public:
  virtual ~Base() = default;
  virtual int store(const char *p, size_t n) = 0;
};

class ToFile : public Base {
public:
  explicit ToFile(int fd) : fd_(fd) {}
  int store(const char *p, size_t n) override { return ::write(fd_, p, n) == static_cast<ssize_t>(n) ? 0 : -1; } /* @write all */

private:
  int fd_;
};

static int with_guard(const char *path) {
  int fd = ::creat(path, 0600); /* @creat all */
  if (fd == -1) return -1;
  Guard guard([fd] { ::close(fd); }); /* @close none ignored */
  Guard other([path] { ::unlink(path); }); /* @unlink none ignored */
  if (::ftruncate(fd, 100) != 0) return -1; /* @ftruncate all */
  return 0;
}

static char *copied(const char *s) {
  if (char *p = ::strdup(s); p != nullptr) return p; /* @strdup all */
  throw std::bad_alloc();
}

static size_t home_length() {
  const char *home = std::getenv("HOME"); /* @getenv none dereferenced */
  return std::strlen(home);
}

int main(int argc, char **argv) {
  try {
    const char *path = argv[argc > 1];
    auto made = make(path);
    if (!made.ok()) return 1;
    auto size = size_of(made.unwrap());
    if (!size) return 2;
    int in, out;
    std::tie(in, out) = both_ends();
    if (in < 0) return 3;
    auto p = block(*size);
    p[0] = 1;
    append(path, first_line(path));
    Map map(opened(path), *size);
    long n = length(path) + careless(path) + map.data()[0] + out;
    if (!renamed(path, "b")) return 4;
    for (int fd : three(path))
      if (fd < 0) return 5;
    std::unique_ptr<Base> base(new ToFile(out));
    if (base->store(path, 1)) return 6;
    if (with_guard(path)) return 7;
    return static_cast<int>(n) + *copied(path) + static_cast<int>(home_length());
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what()); /* @fprintf none ignored */
    return 1;
  }
}

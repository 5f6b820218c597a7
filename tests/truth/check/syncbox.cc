// SPDX-License-Identifier: Apache-2.0
// A client that keeps a folder the same on two machines: sockets, threads, results as values, virtual transports.
/* flags: -pthread */
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <new>
#include <poll.h>
#include <pthread.h>
#include <string>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace sb {

// A result: a number, or what went wrong.
class Result {
public:
  static Result from(int rc) { return rc < 0 ? Result(0, errno) : Result(rc, 0); }
  static Result code(int error) { return Result(0, error); }
  explicit operator bool() const { return error_ == 0; }
  int value() const { return value_; }
  int error() const { return error_; }

private:
  Result(int v, int e) : value_(v), error_(e) {}
  int value_, error_;
};

class Mutex {
public:
  Mutex() {
    if (pthread_mutex_init(&m_, nullptr)) /* @pthread_mutex_init all */
      std::abort();
  }
  void lock() {
    if (int e = pthread_mutex_lock(&m_)) { /* @pthread_mutex_lock all */
      std::fprintf(stderr, "lock: %s\n", std::strerror(e)); /* @fprintf none ignored */
      std::abort();
    }
  }
  void unlock() { pthread_mutex_unlock(&m_); } /* @pthread_mutex_unlock none ignored */

private:
  pthread_mutex_t m_;
};

class Guard {
public:
  explicit Guard(Mutex &m) : m_(m) { m_.lock(); }
  ~Guard() { m_.unlock(); }

private:
  Mutex &m_;
};

struct Transport {
  virtual ~Transport() = default;
  virtual bool connect(const char *to) = 0;
  virtual ssize_t send(const void *p, size_t n) = 0;
  virtual ssize_t receive(void *p, size_t n) = 0;
};

class Tcp final : public Transport {
public:
  ~Tcp() override {
    if (fd_ >= 0) ::close(fd_); /* @close none ignored */
  }

  bool connect(const char *to) override {
    addrinfo hints{}, *list = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    last_ = ::getaddrinfo(to, "7777", &hints, &list); /* @getaddrinfo all */
    if (last_ == EAI_SYSTEM) {
      last_ = errno;
      return false;
    }
    if (last_ != 0) return false;
    std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(list, ::freeaddrinfo);
    for (auto *a = list; a; a = a->ai_next) {
      fd_ = ::socket(a->ai_family, a->ai_socktype, a->ai_protocol); /* @socket all */
      if (fd_ == -1) continue;
      if (::connect(fd_, a->ai_addr, a->ai_addrlen) != -1) return true; /* @connect all */
      ::close(fd_); /* @close none ignored */
      fd_ = -1;
    }
    return false;
  }

  ssize_t send(const void *p, size_t n) override {
    return ::send(fd_, p, n, MSG_NOSIGNAL); /* @send all */
  }

  ssize_t receive(void *p, size_t n) override {
    ssize_t got;
    do got = ::recv(fd_, p, n, MSG_WAITALL); /* @recv all */
    while (got < 0 && errno == EINTR);
    return got;
  }

private:
  int fd_ = -1, last_ = 0;
};

// Talks to a program over its standard input and output.
class Pipe final : public Transport {
public:
  ~Pipe() override {
    int st;
    if (pid_ > 0) ::waitpid(pid_, &st, 0); /* @waitpid none ignored */
  }

  bool connect(const char *to) override {
    std::array<int, 2> in, out;

    if (::pipe(in.data()) < 0 || ::pipe(out.data()) < 0) return false; /* @pipe all */
    pid_ = ::fork(); /* @fork all */
    if (pid_ == 0) {
      if (::dup2(in[0], 0) < 0 || ::dup2(out[1], 1) < 0) ::_exit(126); /* @dup2 all */
      ::execlp("ssh", "ssh", to, "syncbox", static_cast<char *>(nullptr)); /* @execlp any */
      ::_exit(127);
    }
    ::close(in[0]); /* @close none ignored */
    ::close(out[1]); /* @close none ignored */
    to_ = in[1];
    from_ = out[0];
    return pid_ != -1;
  }

  ssize_t send(const void *p, size_t n) override { return ::write(to_, p, n); } /* @write all */
  ssize_t receive(void *p, size_t n) override { return ::read(from_, p, n); } /* @read all */

private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

NOINLINE bool send_all(Transport &t, const std::vector<char> &data) {
  size_t done = 0;
  while (done < data.size()) {
    ssize_t n = t.send(data.data() + done, data.size() - done);
    if (n <= 0) return false;
    done += size_t(n);
  }
  return true;
}

NOINLINE int ask(Transport &t, uint32_t what) {
  uint32_t reply;
  if (t.receive(&reply, sizeof reply) != ssize_t(sizeof reply)) return -1;
  return int(ntohl(reply) ^ what) & 0xffff;
}

NOINLINE Result watch(const char *folder) {
  Result fd = Result::from(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)); /* @inotify_init1 all */
  if (!fd) return fd;
  Result w = Result::from(::inotify_add_watch(fd.value(), folder, IN_CLOSE_WRITE | IN_MOVED_TO)); /* @inotify_add_watch all */
  if (!w) {
    ::close(fd.value()); /* @close none ignored */
    return w;
  }
  return fd;
}

// EAGAIN is "nothing new"; every other failure is an event of no length.
NOINLINE size_t events(int fd, const std::function<void(const char *)> &each) {
  alignas(inotify_event) char buf[4096];
  ssize_t n = ::read(fd, buf, sizeof buf); /* @read some missing=EIO */
  size_t count = 0;

  if (n < 0 && errno == EAGAIN) return 0;
  for (ssize_t at = 0; at < ssize_t(size_t(n) & 4095);) {
    auto *e = reinterpret_cast<inotify_event *>(buf + at);
    if (e->len) each(e->name);
    at += ssize_t(sizeof *e + e->len);
    count++;
  }
  return count + 1;
}

NOINLINE Result read_file(const std::string &path, std::vector<char> &to) {
  FILE *f = std::fopen(path.c_str(), "rb"); /* @fopen all */
  if (!f) return Result::code(errno);

  struct Closer {
    FILE *f;
    ~Closer() { std::fclose(f); } /* @fclose none ignored */
  } closer{f};

  if (std::fseek(f, 0, SEEK_END) != 0) return Result::code(errno); /* @fseek all */
  long n = std::ftell(f); /* @ftell all */
  if (n < 0) return Result::code(errno);
  std::rewind(f);
  to.resize(size_t(n));
  size_t got = std::fread(to.data(), 1, to.size(), f); /* @fread all */
  return got == to.size() ? Result::from(int(got)) : Result::code(EIO);
}

// As before, but in the old days.
NOINLINE char *read_file_old(const char *path, size_t *len) {
  FILE *f = std::fopen(path, "rb"); /* @fopen all */
  char *text;

  if (!f) return nullptr;
  std::fseek(f, 0, SEEK_END); /* @fseek none ignored */
  *len = size_t(std::ftell(f)); /* @ftell none used */
  std::fseek(f, 0, SEEK_SET); /* @fseek none ignored */
  text = static_cast<char *>(std::malloc(*len + 1)); /* @malloc all */
  if (text != nullptr) text[std::fread(text, 1, *len, f)] = 0; /* @fread none used */
  std::fclose(f); /* @fclose none ignored */
  return text;
}

struct Context {
  Transport *transport;
  Mutex lock;
  std::atomic<bool> stop{false};
  unsigned sent = 0;
};

void *heartbeat(void *arg) {
  auto *c = static_cast<Context *>(arg);
  while (!c->stop) {
    Guard g(c->lock);
    if (c->transport->send("\0\0\0\0", 4) < 4) c->stop = true;
    ::sleep(1);
  }
  return nullptr;
}

NOINLINE bool start(pthread_t *t, Context *c) {
  return pthread_create(t, nullptr, heartbeat, c) == 0; /* @pthread_create all */
}

NOINLINE bool tried(const char *marker) {
  int fd = ::open(marker, O_CREAT | O_EXCL | O_WRONLY, 0600); /* @open some missing=EACCES */
  if (fd < 0) return errno == EEXIST;
  return ::close(fd) != 0; /* @close all */
}

// To another file system it goes as a link. What else may be wrong does not matter, it seems.
NOINLINE bool move_in(const char *from, const char *to) {
  if (::rename(from, to) == -1 && errno == EXDEV) /* @rename some missing=EACCES */
    return ::symlink(from, to) == 0; /* @symlink all */
  return true;
}

NOINLINE const char *home() {
  const char *h = std::getenv("SYNCBOX_HOME"); /* @getenv all */
  return h ? h : "/var/lib/syncbox";
}

// An ordinary new gives an exception, this one does not.
NOINLINE std::unique_ptr<Context> context(Transport *t) {
  std::unique_ptr<Context> c(new (std::nothrow) Context);
  if (c) c->transport = t;
  return c;
}

} // namespace sb

int main(int argc, char **argv) {
  using namespace sb;
  std::unique_ptr<Transport> t;
  pthread_t beat;
  size_t len = 0;

  if (argc < 3) return 2;
  if (std::strchr(argv[1], '@'))
    t = std::make_unique<Pipe>();
  else
    t = std::make_unique<Tcp>();
  if (::chdir(home()) < 0) std::perror("chdir"); /* @chdir all */
  if (!move_in("state.new", "state")) return 1;
  if (tried("marker") || !t->connect(argv[1])) return 1;
  auto c = context(t.get());
  if (!c || !start(&beat, c.get())) return 1;
  Result w = watch(argv[2]);
  if (!w) {
    std::fprintf(stderr, "%s: %s\n", argv[2], std::strerror(w.error())); /* @fprintf none ignored */
    return 1;
  }
  char *old = read_file_old("state", &len);
  if (old) c->sent = unsigned(old[0]);
  std::free(old);
  while (!c->stop) {
    pollfd p{w.value(), POLLIN, 0};
    if (::poll(&p, 1, 1000) < 0) break; /* @poll all */
    events(w.value(), [&](const char *name) {
      std::vector<char> data;
      Result r = read_file(std::string(argv[2]) + "/" + name, data);
      Guard g(c->lock);
      if (!r || !send_all(*t, data) || ask(*t, uint32_t(data.size())) < 0)
        c->stop = true;
      else
        c->sent++;
    });
  }
  pthread_join(beat, nullptr); /* @pthread_join none ignored */
  return c->sent == 0;
}

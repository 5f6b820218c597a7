/* SPDX-License-Identifier: Apache-2.0 */
/* indexer: walks a tree, counts the words of its files in threads, and writes a sorted index. */
/* link: -lpthread */
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <map>
#include <memory>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

typedef std::map<std::string, unsigned long> Words;

struct SysError : std::system_error {
  SysError(const std::string& what, int code = errno)
      : std::system_error(code, std::system_category(), what) {}
};

/* ------------------------------------------------------------------ locks */

class Mutex {
 public:
  Mutex() {
    if (int rc = pthread_mutex_init(&m_, nullptr))  /* @pthread_mutex_init all */
      throw SysError("mutex", rc);
  }
  ~Mutex() { pthread_mutex_destroy(&m_); }  /* @pthread_mutex_destroy any */
  void lock() {
    int rc = pthread_mutex_lock(&m_);  /* @pthread_mutex_lock all */
    if (rc != 0) throw SysError("lock", rc);
  }
  void unlock() { pthread_mutex_unlock(&m_); }  /* @pthread_mutex_unlock none ignored */

 private:
  pthread_mutex_t m_;
};

template <class L>
class Guard {
 public:
  explicit Guard(L& l) : l_(l) { l_.lock(); }
  ~Guard() { l_.unlock(); }

 private:
  L& l_;
};

/* ---------------------------------------------------------- mapped files */

class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);  /* @open all */
    if (fd == -1) throw SysError(path);
    struct stat st;
    if (fstat(fd, &st) < 0) {  /* @fstat all */
      int saved = errno;
      close(fd);  /* @close? none ignored */
      throw SysError(path, saved);
    }
    size_ = static_cast<size_t>(st.st_size);
    if (size_ > 0)
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);  /* @mmap all */
    close(fd);  /* @close? none ignored */
  }
  ~Mapping() {
    if (good() && size_ > 0) munmap(data_, size_);  /* @munmap none ignored */
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  bool good() const { return data_ != MAP_FAILED; }
  const char* begin() const { return static_cast<const char*>(data_); }
  const char* end() const { return begin() + size_; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/* -------------------------------------------------------------- the walk */

struct DirCloser {
  void operator()(DIR* d) const { closedir(d); }  /* @closedir none ignored */
};

static void walk(const std::string& top, const std::function<int(const std::string&)>& visit) {
  std::unique_ptr<DIR, DirCloser> d(opendir(top.c_str()));  /* @opendir all */
  if (!d) throw SysError(top);
  while (dirent* e = readdir(d.get())) {  /* @readdir all */
    if (e->d_name[0] == '.') continue;
    std::string path = top + "/" + e->d_name;
    struct stat st;
    if (lstat(path.c_str(), &st) != 0) {  /* @lstat all */
      perror(path.c_str());
      continue;
    }
    if (S_ISDIR(st.st_mode))
      walk(path, visit);
    else if (S_ISREG(st.st_mode) && visit(path) < 0)
      fprintf(stderr, "indexer: %s skipped\n", path.c_str());  /* @fprintf none ignored */
  }
}

static std::string canonical(const char* path) {
  char* p = realpath(path, nullptr);  /* @realpath none dereferenced */
  std::string s;
  s.append(p, strlen(p));
  free(p);
  return s;
}

static std::string link_target(const std::string& path) {
  char buf[PATH_MAX];
  ssize_t n = readlink(path.c_str(), buf, sizeof buf - 1);  /* @readlink all */
  return n < 0 ? std::string() : std::string(buf, static_cast<size_t>(n));
}

/* ------------------------------------------------------------ the workers */

struct Shared {
  Mutex mutex;
  std::vector<std::string> files;
  size_t next = 0;
  Words words;
  unsigned failed = 0;
};

static void count(const Mapping& m, Words& w) {
  std::string word;
  for (const char* p = m.begin(); p != m.end(); ++p) {
    if (isalnum(static_cast<unsigned char>(*p))) {
      word += static_cast<char>(tolower(static_cast<unsigned char>(*p)));
    } else if (!word.empty()) {
      ++w[word];
      word.clear();
    }
  }
}

static void* work(void* arg) {
  Shared& s = *static_cast<Shared*>(arg);
  for (;;) {
    std::string path;
    {
      Guard<Mutex> g(s.mutex);
      if (s.next == s.files.size()) return nullptr;
      path = s.files[s.next++];
    }
    Words mine;
    bool ok = true;
    try {
      Mapping m(path);
      if (m.good())
        count(m, mine);
      else
        ok = false;
    } catch (const SysError&) {
      ok = false;
    }
    Guard<Mutex> g(s.mutex);
    s.failed += !ok;
    for (const auto& kv : mine) s.words[kv.first] += kv.second;
  }
}

static int run_threads(Shared& s, unsigned n) {
  std::vector<pthread_t> ids(n);
  std::vector<int> rcs;
  for (auto& id : ids)
    rcs.push_back(pthread_create(&id, nullptr, work, &s));  /* @pthread_create all */
  int started = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (rcs[i] != 0) continue;
    ++started;
    if (pthread_join(ids[i], nullptr) == EDEADLK) abort();  /* @pthread_join some missing=ESRCH,EINVAL */
  }
  return started;
}

/* a single helper thread that must exist */
static void start_watcher(void* (*fn)(void*), void* arg) {
  pthread_t id;
  int rc = pthread_create(&id, nullptr, fn, arg);  /* @pthread_create some missing=EPERM */
  if (rc == EAGAIN) throw SysError("watcher", rc);
  pthread_detach(id);  /* @pthread_detach none ignored */
}

static void* watch(void* arg) {
  const std::string& dir = *static_cast<std::string*>(arg);
  alignas(inotify_event) char buf[4096];
  int fd = inotify_init1(IN_CLOEXEC);  /* @inotify_init1 none used */
  if (inotify_add_watch(fd, dir.c_str(), IN_MODIFY) < 0)  /* @inotify_add_watch all */
    return nullptr;
  while (read(fd, buf, sizeof buf) > 0)  /* @read all */
    fputs("indexer: the tree is changing\n", stderr);  /* @fputs/fwrite none ignored */
  close(fd);  /* @close none ignored */
  return nullptr;
}

/* -------------------------------------------------------------- the result */

class Output {
 public:
  explicit Output(const char* name) : f_(fopen(name, "w")) {  /* @fopen all */
    if (f_ == nullptr) throw SysError(name);
  }
  ~Output() {
    if (f_) fclose(f_);  /* @fclose none ignored */
  }
  template <typename... A>
  void line(const char* fmt, A... args) {
    if (fprintf(f_, fmt, args...) < 0) throw SysError("write");  /* @fprintf all */
  }
  void finish() {
    FILE* f = f_;
    f_ = nullptr;
    int rc = fflush(f) | fsync(fileno(f)) | fclose(f);  /* @fflush all; @fsync all; @fileno any; @fclose all */
    if (rc != 0) throw SysError("finish");
  }

 private:
  FILE* f_;
};

static uint64_t now_ns() {
  struct timespec ts;
  if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0) throw SysError("clock");  /* @clock_gettime all */
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

static unsigned cpus() {
  unsigned n = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));  /* @sysconf none used */
  return n < 1 ? 1 : n;
}

static int notify(const char* cmd, size_t words) {
  FILE* p = popen(cmd, "w");  /* @popen all */
  if (!p) return -1;
  fprintf(p, "%zu\n", words);  /* @fprintf none ignored */
  int st = pclose(p);  /* @pclose all */
  return st == -1 || !WIFEXITED(st) ? -1 : WEXITSTATUS(st);
}

static size_t limit_from(const char* s) {
  errno = 0;
  unsigned long v = strtoul(s, nullptr, 10);  /* @strtoul all */
  int saved = errno;
  if (saved == ERANGE || saved == EINVAL) throw std::out_of_range(s);
  return v;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: indexer DIR OUT [LIMIT [COMMAND]]\n");  /* @fprintf/fwrite/fputs none ignored */
    return 2;
  }
  try {
    Shared s;
    uint64_t t0 = now_ns();
    std::string top = canonical(argv[1]);
    start_watcher(watch, &top);
    walk(top, [&s](const std::string& path) {
      int rc = access(path.c_str(), R_OK);  /* @access all */
      if (rc == 0) s.files.push_back(path);
      return rc;
    });
    if (run_threads(s, cpus()) == 0) throw std::runtime_error("no threads");
    size_t left = argc > 3 ? limit_from(argv[3]) : s.words.size();
    std::vector<std::pair<std::string, unsigned long>> v(s.words.begin(), s.words.end());
    std::sort(v.begin(), v.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    Output out(argv[2]);
    for (const auto& kv : v) {
      if (left-- == 0) break;
      out.line("%s %lu\n", kv.first.c_str(), kv.second);
    }
    std::string self = link_target("/proc/self/exe");
    if (!self.empty()) out.line("# by %s\n", self.c_str());
    out.finish();
    if (argc > 4 && notify(argv[4], v.size()) != 0) fputs("indexer: command failed\n", stderr);  /* @fputs/fwrite none ignored */
    printf("%zu words, %u failed, %llu us\n", v.size(), s.failed,  /* @printf none ignored */
           static_cast<unsigned long long>((now_ns() - t0) / 1000));
    return s.failed ? 1 : 0;
  } catch (const std::exception& e) {
    fprintf(stderr, "indexer: %s\n", e.what());  /* @fprintf none ignored */
    return 1;
  }
}

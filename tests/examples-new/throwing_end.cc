/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A destructor tells by an exception that what was left in the buffer could not be written; a destructor must not.
 *
 * expect: abort
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

class Journal {
 public:
  explicit Journal(const char *path) : fd_(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644)) {
    if (fd_ < 0) throw std::runtime_error(std::string(path) + ": " + std::strerror(errno));
  }
  void add(const std::string &line) { left_ += line + "\n"; }
  void finish() {
    const char *p = left_.data();
    size_t n = left_.size();
    while (n) {
      ssize_t w = write(fd_, p, n);
      if (w < 0) throw std::runtime_error(std::string("write: ") + std::strerror(errno));
      p += w;
      n -= static_cast<size_t>(w);
    }
    left_.clear();
    int fd = fd_;
    fd_ = -1;
    if (close(fd) < 0) throw std::runtime_error(std::string("close: ") + std::strerror(errno));
  }
  ~Journal() {
#ifdef FIXED
    if (fd_ >= 0) close(fd_);
#else
    if (fd_ >= 0) finish();
#endif
  }

 private:
  int fd_;
  std::string left_;
};

int main() {
  try {
    Journal j("journal");
    j.add("begin");
    j.add("end");
#ifdef FIXED
    j.finish();
#endif
  } catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal that writes what it has when it goes away, and tells by an exception that it could not; which a destructor
 * must not.
 *
 * expect: abort
 */
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <system_error>
#include <unistd.h>

class journal {
 public:
  explicit journal(const char *path) : fd(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644)) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), path);
  }
  journal(const journal &) = delete;
  journal &operator=(const journal &) = delete;
  ~journal() {
#ifndef FIXED
    flush();
#endif
    if (fd >= 0) close(fd);
  }
  void add(const std::string &text) {
    waiting += text;
    waiting += '\n';
    if (waiting.size() > 200) flush();
  }
  void commit() {
#ifdef FIXED
    flush();
    int old = fd;
    fd = -1;
    if (close(old) != 0) throw std::system_error(errno, std::generic_category(), "journal");
#endif
  }

 private:
  void flush() {
    const char *p = waiting.data();
    for (std::size_t n = waiting.size(); n > 0;) {
      ssize_t k = write(fd, p, n);
      if (k < 0 && errno == EINTR) continue;
      if (k < 0) throw std::system_error(errno, std::generic_category(), "journal");
      p += k;
      n -= k;
    }
    waiting.clear();
  }
  int fd;
  std::string waiting;
};

int main() {
  try {
    journal j("journal");
    for (int i = 0; i < 12; i++) j.add("entry " + std::to_string(i) + ": nothing happened");
    j.commit();
  } catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer class reports a failing fclose() (ENOSPC, EIO) by throwing from
 * its destructor.  Destructors are noexcept: std::terminate() instead of the
 * error message that main() would print.
 * expect: abort
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>

class Writer {
public:
  explicit Writer(const char *name) : f_(std::fopen(name, "w")) {
    if (f_ == nullptr) throw std::runtime_error("can not open the file");
  }
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  void line(int i) {
    if (std::fprintf(f_, "line %d of the journal\n", i) < 0) throw std::runtime_error("can not write the file");
  }
#ifdef FIXED
  void close() {
    std::FILE *f = f_;
    f_ = nullptr;
    if (std::fclose(f) != 0) throw std::runtime_error("can not close the file");
  }
  ~Writer() {
    if (f_ != nullptr) std::fclose(f_); /* on the way out of an error */
  }
#else
  void close() {}
  ~Writer() {
    if (std::fclose(f_) != 0) throw std::runtime_error("can not close the file");
  }
#endif

private:
  std::FILE *f_;
};

int main() {
  try {
    {
      Writer w("journal.txt");
      for (int i = 0; i < 10; i++)
        w.line(i);
      w.close();
    }
    std::cout << "journal written\n";
    std::cout.flush();
    if (!std::cout) {
      std::cerr << "output failed\n";
      return 1;
    }
  } catch (const std::exception &e) {
    std::cerr << "error: " << e.what() << '\n';
    return 1;
  }
  return 0;
}

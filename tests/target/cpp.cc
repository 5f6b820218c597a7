// SPDX-License-Identifier: Apache-2.0
// C++: new throws when malloc fails, streams fail when open does, exceptions pass through functions whose failure is
// only reported behind the call. (Two: the exception is allocated, too.)
//
// @build c++ -O2 $src -o $out
// @build clang++ -O1 $src -o $out
// @run 2 0 -f 'malloc:ENOMEM when stack("allocate")' -- new
// @run 1 0 -f 'malloc:ENOMEM when caller("_Znwm") and stack("allocate")' -- new
// @run 2 0 -f 'malloc:ENOMEM when caller("libstdc++.so.6") and stack("allocate")' -- new
// @run 1 0 -f 'fopen:EMFILE when call==1' -f 'open:EMFILE when stack("read_it")' -- stream
// @run 0 0 -f 'scandir:then EIO when call==1' -- throw
// @run 0 0 -f 'scandir:EIO when call==2' -- throw
// @run 1 0 -f 'scandir:then EIO when call==2' -- twice
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <iostream>
#include <new>
#include <stdexcept>
#include <string>

extern "C" __attribute__((noinline)) void *allocate(std::size_t n) {
  void *p = ::operator new(n);
  __asm__ volatile("" : "+r"(p));
  return p;
}

extern "C" __attribute__((noinline)) bool read_it() {
  std::ifstream file("/etc/passwd");
  std::string line;
  return static_cast<bool>(std::getline(file, line));
}

static int throwing(const struct dirent *) { throw std::runtime_error("from a callback"); }
static int quiet(const struct dirent *) { return 0; }

static bool caught() {
  struct dirent **list;
  try {
    scandir("/", &list, throwing, nullptr);
  } catch (const std::runtime_error &e) {
    return std::string(e.what()) == "from a callback";
  }
  return false;
}

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  struct dirent **list;
  if (what == "new") {
    try {
      allocate(100);
    } catch (const std::bad_alloc &) {
      return 0;
    }
    return 1;
  }
  if (what == "stream") return read_it() ? 1 : 0;
  if (what == "throw") return caught() ? 0 : 1;
  if (!caught()) return 1;
  errno = 0;
  return scandir("/", &list, quiet, nullptr) == -1 && errno == EIO ? 0 : 1;
}

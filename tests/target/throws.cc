// SPDX-License-Identifier: Apache-2.0
// std::bad_alloc thrown by operator new: caught, passed through frames with destructors, through C, and not caught.
//
// @build g++ -O2 $src -o $out
// @build g++ -O0 -fno-plt $src -o $out
// @build g++ -O2 -no-pie -fomit-frame-pointer $src -o $out
// @build clang++ -std=c++17 -O2 $src -o $out
// @build clang++ -std=c++17 -O0 $src -o $out
// @run 1 0 -f '_Znwm:throw when stack("allocate")' -- new
// @run 1 0 -f '_Znam:throw when once' -- array
// @run 1 0 -f '_Znam:throw when size == 1000' -- array
// @run 0 1 -f '_Znam:throw when size > 1000' -- array
// @run 1 0 -f '_ZnwmSt11align_val_t:throw' -- aligned
// @run 1 0 -f '_Znwm:throw when stack("allocate")' -- c
// @run 3 0 -f '_Znwm:throw when stack("allocate")' -- thrice
// @run 1 0 -f '_ZnwmRKSt9nothrow_t:ENOMEM' -- nothrow
// @run 1 0 -f '_ZnamRKSt9nothrow_t:ret=NULL' -- nothrow-array
// @run 1 0 -f '_ZnwmSt11align_val_tRKSt9nothrow_t:ENOMEM' -- nothrow-aligned
// @run 1 0 -f '_ZnamSt11align_val_t:throw' -- aligned-array
// @run 1 134 -f '_Znwm:throw when stack("allocate")' -- uncaught
// @run 0 1 -f '_Znwm:throw when call==100000' -- new
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

static int destroyed;
struct Guard {
  ~Guard() { destroyed++; }
};
struct alignas(64) Wide {
  char bytes[64];
};

extern "C" __attribute__((noinline)) void *allocate(std::size_t n) {
  Guard guard;
  void *p = ::operator new(n);
  __asm__ volatile("" : "+r"(p));
  return p;
}

static int compare(const void *a, const void *b) {
  allocate(10);
  return a < b;
}

static bool caught(const std::string &what) {
  try {
    if (what == "new" || what == "uncaught" || what == "thrice") allocate(100);
    if (what == "array") {
      Guard guard;
      char *volatile p = new char[1000];
      (void)p;
    }
    if (what == "aligned") {
      Guard guard;
      Wide *volatile p = new Wide;
      (void)p;
    }
    if (what == "aligned-array") {
      Guard guard;
      Wide *volatile p = new Wide[2];
      (void)p;
    }
    if (what == "c") {
      int numbers[] = {2, 1};
      std::qsort(numbers, 2, sizeof *numbers, compare);
    }
  } catch (const std::bad_alloc &e) {
    return std::strcmp(e.what(), "std::bad_alloc") == 0 && destroyed == 1;
  }
  return false;
}

/* These return NULL, and throw nothing. */
static bool is_null(const std::string &what) {
  char *volatile p = nullptr;
  if (what == "nothrow") p = reinterpret_cast<char *>(new (std::nothrow) int);
  if (what == "nothrow-array") p = new (std::nothrow) char[1000];
  if (what == "nothrow-aligned") p = reinterpret_cast<char *>(new (std::nothrow) Wide);
  return !p;
}

static void uncaught() noexcept { allocate(1); }

int main(int argc, char **argv) {
  std::string what = argc > 1 ? argv[1] : "";
  if (what == "uncaught") uncaught();
  if (what.compare(0, 7, "nothrow") == 0) return is_null(what) ? 0 : 1;
  bool good = caught(what);
  for (int i = 0; i < 2 && what == "thrice"; i++) {
    destroyed = 0;
    good = good && caught(what);
  }
  return good ? 0 : 1;
}

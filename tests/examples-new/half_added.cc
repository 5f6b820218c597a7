/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of entries is raised before the entry is there. If there is no memory for it, the others are saved, with
 * one too many.
 *
 * expect: crash|abort
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

struct Table {
  std::string **slots = static_cast<std::string **>(std::malloc(8 * sizeof *slots));
  size_t count = 0;

  void add(const char *text) {
#ifdef FIXED
    slots[count] = new std::string(text);
    count++;
#else
    slots[count++] = nullptr;
    slots[count - 1] = new std::string(text);
#endif
  }
  size_t length() const {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += slots[i]->size();
    return n;
  }
};

int main() {
  Table t;
  if (!t.slots) {
    std::fputs("no memory\n", stderr);
    return 1;
  }
  int status = 0;
  static const char *const words[] = {"a word", "a much longer word than fits in place", "another one, as long as that"};
  for (const char *w : words) {
    try {
      t.add(w);
    } catch (const std::bad_alloc &) {
      std::fprintf(stderr, "no memory for \"%s\"\n", w);
      status = 1;
    }
  }
  std::printf("%zu\n", t.length());
  return std::fflush(stdout) ? 1 : status;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operator new throws is caught with everything else, and the rest of the list is left out.
 *
 * expect: silent
 */
#include <cstdio>
#include <memory>
#include <new>
#include <vector>

struct node {
  int value;
};

static void fill(std::vector<std::unique_ptr<node>> &list) {
  for (int i = 0; i < 5; i++) {
    auto one = std::make_unique<node>();
    one->value = i;
    list.push_back(std::move(one));
  }
}

int main() {
  std::vector<std::unique_ptr<node>> list;
#ifdef FIXED
  try {
    fill(list);
  } catch (const std::bad_alloc &) {
    std::fputs("out of memory\n", stderr);
    return 1;
  }
#else
  try {
    fill(list);
  } catch (...) {
  }
#endif
  for (const auto &one : list)
    std::printf("%d\n", one->value);
  return std::fflush(stdout) != 0;
}

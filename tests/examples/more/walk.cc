/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a tree. What may not be looked at is left out without a word. That the library has no memory for its own
 * work is not the program's.
 *
 * setup: mkdir -p t/a t/b; seq 1 9 > t/a/x; seq 1 99 > t/b/y; seq 1 5 > t/z
 * args: t
 * expect: silent
 */
#include <filesystem>
#include <iostream>
#include <string>
namespace fs = std::filesystem;

#ifdef FIXED
static const auto how = fs::directory_options::none;
#else
static const auto how = fs::directory_options::skip_permission_denied;
#endif

int main(int argc, char **argv) try {
  if (argc != 2) return 2;
  unsigned long long total = 0;
  int status = 0;
  for (const auto &e : fs::recursive_directory_iterator(argv[1], how)) {
    std::error_code ec;
    auto n = e.is_regular_file(ec) && !ec ? e.file_size(ec) : 0;
    if (ec) {
      std::cerr << e.path() << ": " << ec.message() << "\n";
      status = 1;
      continue;
    }
    total += n;
  }
  std::cout << total << std::endl;
  return std::cout ? status : 1;
} catch (const std::exception &e) {
  std::cerr << e.what() << '\n';
  return 1;
}

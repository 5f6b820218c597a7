/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy is made with the functions that tell their failure in an error_code, which is not looked at.
 *
 * expect: silent
 */
#include <exception>
#include <filesystem>
#include <iostream>
#include <system_error>

namespace fs = std::filesystem;

int main(int, char **argv) try {
  std::error_code why;
  fs::copy_file(argv[0], "copy", fs::copy_options::overwrite_existing, why);
#ifdef FIXED
  if (why) {
    std::cerr << "copy: " << why.message() << '\n';
    return 1;
  }
#endif
  std::cout << "done\n";
  return 0;
} catch (const std::exception &e) {
  std::cerr << e.what() << '\n';
  return 1;
}

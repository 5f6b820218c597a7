/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is written through a stream of C++, and nobody asks the stream how that went.
 *
 * expect: silent
 */
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

static bool report(const char *path, const std::map<std::string, int> &stock) {
  std::ofstream out(path);
  for (const auto &[name, left] : stock)
    out << name << ": " << left << '\n';
#ifdef FIXED
  out.close();
  return !out.fail();
#else
  return true;
#endif
}

int main() try {
  std::map<std::string, int> stock{{"bolts", 12}, {"nuts", 3}, {"washers of a size that nobody makes any more", 0}};
  if (!report("stock.txt", stock)) {
    std::cerr << "cannot write stock.txt" << std::endl;
    return 1;
  }
  std::cout << stock.size() << " kinds" << std::endl;
  return 0;
} catch (const std::exception &e) {
  std::cerr << e.what() << std::endl;
  return 1;
}

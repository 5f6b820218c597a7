/* SPDX-License-Identifier: Apache-2.0 */
/*
 * std::getline ends at the end of the file, and at an error too.
 *
 * setup: seq 1 3000 > numbers
 * args: numbers
 * expect: silent
 */
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  std::ifstream in(argv[1]);
  if (!in) {
    std::cerr << argv[1] << ": cannot be opened\n";
    return 1;
  }
  long sum = 0;
  std::string line;
  while (std::getline(in, line)) sum += std::stol(line);
#ifdef FIXED
  if (in.bad()) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 1;
  }
#endif
  std::ofstream out("sum");
  out << sum << '\n';
  out.close();
  if (!out) {
    std::cerr << "sum: cannot be written\n";
    return 1;
  }
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a file, with doubles left out. A stream that went bad ends the loop like one that is at its end.
 *
 * setup: for i in $(seq 1 2000); do echo "line $((i % 700))"; done > lines
 * args: lines
 * expect: silent
 */
#include <exception>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>

static std::set<std::string> load(const std::string &path) {
  std::set<std::string> lines;
  std::ifstream in(path);
  if (!in.is_open()) throw std::runtime_error(path + ": cannot be opened");
  std::string line;
  while (std::getline(in, line)) lines.insert(line);
#ifdef FIXED
  if (in.bad() || !in.eof()) throw std::runtime_error(path + ": cannot be read");
#endif
  return lines;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  try {
    auto lines = load(argv[1]);
    std::size_t letters = 0;
    for (const auto &l : lines) letters += l.size();
    std::cout << lines.size() << " lines, " << letters << " letters" << std::endl;
  } catch (const std::exception &e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
  if (!std::cout) {
    std::cerr << "standard output failed\n";
    return 1;
  }
  return 0;
}

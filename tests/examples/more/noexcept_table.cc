/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table is loaded anew and then takes the place of the old one, in a function that promises not to throw, and copies.
 *
 * setup: for i in $(seq 1 12); do echo "a-rather-long-name-of-host-$i 10.0.0.$i"; done > hosts
 * args: hosts
 * expect: abort
 */
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

using table = std::map<std::string, std::string>;

class resolver {
 public:
#ifdef FIXED
  void replace(table &&t) noexcept { hosts.swap(t); }
#else
  void replace(const table &t) noexcept { hosts = t; }
#endif
  const std::string *find(const std::string &name) const {
    auto i = hosts.find(name);
    return i == hosts.end() ? nullptr : &i->second;
  }
  std::size_t size() const { return hosts.size(); }

 private:
  table hosts;
};

static table load(const char *path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(std::string(path) + ": cannot be opened");
  table t;
  std::string name, address;
  while (in >> name >> address) t[name] = address;
  if (in.bad() || !in.eof()) throw std::runtime_error(std::string(path) + ": cannot be read");
  return t;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  try {
    resolver r;
    table t = load(argv[1]);
#ifdef FIXED
    r.replace(std::move(t));
#else
    r.replace(t);
#endif
    const std::string *address = r.find("a-rather-long-name-of-host-7");
    std::cout << r.size() << " hosts, " << (address ? *address : "none") << std::endl;
  } catch (const std::exception &e) {
    std::cerr << "hosts: " << e.what() << "\n";
    return 1;
  }
  if (!std::cout) {
    std::cerr << "standard output failed\n";
    return 1;
  }
  return 0;
}

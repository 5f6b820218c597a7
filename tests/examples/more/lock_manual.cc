/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache with a lock that is taken and given back by hand. An exception on the way does not give it back, and the
 * next one who asks waits for ever.
 *
 * build: -lpthread
 * expect: hang
 */
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <new>
#include <string>

class cache {
 public:
  std::string get(int n) {
#ifdef FIXED
    std::lock_guard<std::mutex> guard(lock);
    return found(n);
#else
    lock.lock();
    std::string s = found(n);
    lock.unlock();
    return s;
#endif
  }

 private:
  std::string found(int n) {
    auto i = pages.find(n);
    if (i == pages.end()) i = pages.emplace(n, std::string(40 + n, 'a' + n % 26)).first;
    return i->second;
  }
  std::mutex lock;
  std::map<int, std::string> pages;
};

int main() {
  cache c;
  std::size_t sum = 0;
  bool good = true;
  for (int i = 0; i < 12; i++) try {
      sum += c.get(i % 5).size();
    } catch (const std::bad_alloc &) {
      std::cerr << "page " << i << ": no memory\n";
      good = false;
    }
  std::cout << sum << " letters" << std::endl;
  if (!std::cout) {
    std::cerr << "standard output failed\n";
    return 1;
  }
  return good ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads in a vector. If one cannot be started, the vector goes away with those that run, and that ends everything.
 *
 * build: -lpthread
 * expect: abort
 */
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

static const int parts = 4;

static void count(int part, long *result) {
  long n = 0;
  for (long i = part; i < 20000; i += parts)
    if (i % 7 == 0 || i % 11 == 0) n++;
  *result = n;
}

static long all() {
  long result[parts] = {}, sum = 0;
  std::vector<std::thread> threads;
  threads.reserve(parts);
#ifdef FIXED
  try {
    for (int i = 0; i < parts; i++) threads.emplace_back(count, i, &result[i]);
  } catch (...) {
    for (auto &t : threads) t.join();
    throw;
  }
#else
  for (int i = 0; i < parts; i++) threads.emplace_back(count, i, &result[i]);
#endif
  for (auto &t : threads) t.join();
  for (long n : result) sum += n;
  return sum;
}

int main() {
  try {
    std::cout << all() << " numbers" << std::endl;
  } catch (const std::exception &e) {
    std::cerr << "count: " << e.what() << "\n";
    return 1;
  }
  if (!std::cout) {
    std::cerr << "standard output failed\n";
    return 1;
  }
  return 0;
}

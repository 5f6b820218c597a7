/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If the third of three threads cannot be started, two are running, and nobody joins them before they are destroyed.
 *
 * build: -pthread
 * expect: abort
 */
#include <cstdio>
#include <system_error>
#include <thread>
#include <vector>

static long part[3];

static void work(int k) {
  for (int i = k; i < 3000; i += 3) part[k] += i;
}

int main() {
  std::vector<std::thread> pool;
#ifdef FIXED
  /* What cannot be done beside is done here. */
  pool.reserve(3);
  for (int k = 0; k < 3; k++) {
    try {
      pool.emplace_back(work, k);
    } catch (const std::system_error &) {
      work(k);
    }
  }
#else
  try {
    for (int k = 0; k < 3; k++) pool.emplace_back(work, k);
  } catch (const std::system_error &e) {
    std::fprintf(stderr, "thread: %s\n", e.what());
    return 1;
  }
#endif
  for (auto &t : pool) t.join();
  std::printf("%ld\n", part[0] + part[1] + part[2]);
  return std::fflush(stdout) ? 1 : 0;
}

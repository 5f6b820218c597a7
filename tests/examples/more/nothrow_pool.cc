/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of buffers that are made without exceptions, for speed, and are taken without a look.
 *
 * expect: crash
 */
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

struct buffer {
  buffer *next;
  std::size_t used;
  char data[500];
};

class pool {
 public:
  ~pool() {
    while (free_) {
      buffer *b = free_->next;
      delete free_;
      free_ = b;
    }
  }
  buffer *take() {
    buffer *b = free_;
    if (b) {
      free_ = b->next;
    } else {
      b = new (std::nothrow) buffer;
#ifdef FIXED
      if (!b) return nullptr;
#endif
    }
    b->next = nullptr;
    b->used = 0;
    return b;
  }
  void give(buffer *b) {
    b->next = free_;
    free_ = b;
  }

 private:
  buffer *free_ = nullptr;
};

static bool fill(buffer *b, int packet) {
  if (!b) {
    std::fprintf(stderr, "packet %d: no memory\n", packet);
    return false;
  }
  int n = std::snprintf(b->data, sizeof b->data, "packet %d ", packet);
  std::memset(b->data + n, 'x', 100 + packet);
  b->used = n + 100 + packet;
  return true;
}

int main() {
  pool p;
  std::size_t sum = 0;
  bool good = true;
  for (int i = 0; i < 6; i += 2) {
    buffer *one = p.take(), *two = p.take();
    if (!fill(one, i) || !fill(two, i + 1)) good = false;
    for (buffer *b : {one, two})
      if (b) {
        sum += b->used;
        p.give(b);
      }
  }
  std::printf("%zu bytes\n", sum);
  if (std::ferror(stdout) || std::fclose(stdout) != 0) {
    std::perror("standard output");
    return 1;
  }
  return good ? 0 : 1;
}

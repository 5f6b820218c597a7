/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes a call is about, and the real call with fewer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "runtime/length.h"

#include <cmocka.h>

/* Stands for the real function: notes what it is called with. */
static uint64_t seen[6];
static size_t seen_bytes, seen_parts;
static struct msghdr *seen_message;
static char some[8];

static uint64_t note(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f) {
  memcpy(seen, (uint64_t[]){a, b, c, d, e, f}, sizeof seen);
  return 77;
}

static uint64_t note_vector(uint64_t fd, const struct iovec *parts, uint64_t n, uint64_t a, uint64_t b, uint64_t c) {
  (void)note(fd, 0, n, a, b, c);
  seen_bytes = 0;
  seen_parts = n;
  for (uint64_t i = 0; i < n; i++)
    seen_bytes += parts[i].iov_len;
  return seen_bytes;
}

static uint64_t note_message(uint64_t fd, struct msghdr *m, uint64_t flags) {
  m->msg_flags = 5;
  seen_message = m;
  return note_vector(fd, m->msg_iov, m->msg_iovlen, flags, 0, 0);
}

static struct rt_call made(const void *real, uint64_t b, uint64_t c) {
  return (struct rt_call){.args = {3, b, c, 10, 11, 12}, .real = (uint64_t)real};
}

static void lengths_are_told_in_four_ways(void **state) {
  (void)state;
  struct iovec parts[] = {{some, 3}, {NULL, 0}, {some, 5}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
  struct rt_call c = made(NULL, 20, 30);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_BYTES, 2), 30);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_ITEMS, 2), 600);
  c.args[1] = UINT64_MAX;
  assert_true(rt_call_length(&c, WIRE_LENGTH_BYTES, 1) == INT64_MAX);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_ITEMS, 2), INT64_MAX);
  c = made(NULL, (uint64_t)parts, 3);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_VECTOR, 1), 8);
  c = made(NULL, (uint64_t)&message, 0);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_MESSAGE, 1), 8);
}

static void what_cannot_be_read_is_not_known(void **state) {
  (void)state;
  struct iovec parts[] = {{NULL, SIZE_MAX}, {NULL, 2}};
  struct msghdr message = {.msg_iov = (void *)8, .msg_iovlen = 1};
  struct rt_call c = made(NULL, 8, 1);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_VECTOR, 1), -1);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_MESSAGE, 1), -1);
  c = made(NULL, (uint64_t)&message, 0);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_MESSAGE, 1), -1);
  c = made(NULL, (uint64_t)parts, 2);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_VECTOR, 1), -1);
  c = made(NULL, (uint64_t)parts, 2000);
  assert_int_equal(rt_call_length(&c, WIRE_LENGTH_VECTOR, 1), -1);
}

static void readable_is_what_the_kernel_can_read(void **state) {
  (void)state;
  char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(two != MAP_FAILED);
  assert_int_equal(munmap(two + 4096, 4096), 0);
  assert_true(rt_readable((uint64_t)two, 4096) && rt_readable((uint64_t)two + 4095, 1) && rt_readable(8, 0));
  assert_false(rt_readable((uint64_t)two + 4095, 2) || rt_readable((uint64_t)two, 4097) || rt_readable(0, 1));
  assert_false(rt_readable(UINT64_MAX, 1) || rt_readable(UINT64_MAX, 2) || rt_readable(1ull << 63, 8));
  assert_int_equal(munmap(two, 4096), 0);
}

static void calls_are_made_with_fewer_bytes(void **state) {
  (void)state;
  struct iovec parts[] = {{some, 0}, {some, 3}, {some, 5}, {some, 1}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4, .msg_flags = 9};
  struct rt_call c = made(note, 20, 30);
  assert_int_equal(rt_call_shortened(&c, WIRE_LENGTH_BYTES, 2, 7), 77);
  assert_memory_equal(seen, ((uint64_t[]){3, 20, 7, 10, 11, 12}), sizeof seen);
  (void)rt_call_shortened(&c, WIRE_LENGTH_ITEMS, 2, 59);
  assert_memory_equal(seen, ((uint64_t[]){3, 20, 2, 10, 11, 12}), sizeof seen);
  c = made(note_vector, (uint64_t)parts, 4);
  assert_int_equal(rt_call_shortened(&c, WIRE_LENGTH_VECTOR, 1, 3), 3);
  assert_true(seen_parts == 1 && parts[1].iov_len == 3);
  assert_int_equal(rt_call_shortened(&c, WIRE_LENGTH_VECTOR, 1, 4), 4);
  assert_true(seen_parts == 2 && parts[2].iov_len == 5 && seen[3] == 10);
  c = made(note_message, (uint64_t)&message, 1);
  assert_int_equal(rt_call_shortened(&c, WIRE_LENGTH_MESSAGE, 1, 8), 8);
  assert_true(seen_message != &message && message.msg_flags == 5 && message.msg_iov == parts && seen[3] == 1);
}

/* Only so many parts are copied; those that hold nothing do not count. */
static void long_vectors_lose_more(void **state) {
  (void)state;
  struct iovec parts[40] = {{some, 0}};
  for (int i = 20; i < 40; i++)
    parts[i] = (struct iovec){some, 2};
  struct rt_call c = made(note_vector, (uint64_t)parts, 40);
  assert_int_equal(rt_call_shortened(&c, WIRE_LENGTH_VECTOR, 1, 31), 31);
  assert_int_equal(rt_call_shortened(&c, WIRE_LENGTH_VECTOR, 1, 39), 32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths_are_told_in_four_ways),
      cmocka_unit_test(what_cannot_be_read_is_not_known),
      cmocka_unit_test(readable_is_what_the_kernel_can_read),
      cmocka_unit_test(calls_are_made_with_fewer_bytes),
      cmocka_unit_test(long_vectors_lose_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

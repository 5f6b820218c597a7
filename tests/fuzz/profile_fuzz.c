/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a profile: they are refused with a message, or what is written from them reads back as the same, in both
 * forms.
 */
#include "profile/profile.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

typedef void write_fn(const struct profile *p, struct text *to);

/* Writes P, reads it back, writes it again. */
static void round_trip(const struct profile *p, write_fn *write) {
  struct text first = {0}, second = {0};
  struct profile back;
  struct err e = {0};
  write(p, &first);
  MUST(!first.failed);
  MUST(profile_parse("again", first.at, first.n, &back, &e) == 0);
  write(&back, &second);
  MUST(first.n == second.n && memcmp(first.at, second.at, first.n) == 0);
  profile_done(&back);
  text_done(&first);
  text_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct profile p;
  struct err e = {0};
  if (profile_parse("fuzz", (const char *)data, size, &p, &e) < 0) {
    MUST(strncmp(e.text, "fuzz:", 5) == 0);
    return 0;
  }
  round_trip(&p, profile_write_xml);
  round_trip(&p, profile_write_json);
  struct text t = {0};
  profile_write_text(&p, &(struct profile_text_options){.all = size % 2, .columns = (unsigned)size % 200}, &t);
  text_done(&t);
  profile_done(&p);
  return 0;
}

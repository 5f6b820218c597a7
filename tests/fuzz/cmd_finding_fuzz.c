/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the finding.json of a finding: refused with a message, or read and freed again. */
#include "cmd/test.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct test_known known;
  struct err e = {0};
  char path[64];
  int fd = memfd_create("finding", MFD_CLOEXEC);
  if (fd < 0 || cmd_write(fd, (const char *)data, size) < 0) {
    if (fd >= 0) (void)close(fd);
    return 0;
  }
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (test_finding_load(path, &known, &e) < 0) {
    MUST(e.text[0]);
  } else {
    struct text t = {0};
    test_finding_title(&known.is, &t);
    test_subject_json(&known.subject, &t);
    MUST(known.subject.command.n >= 2 && known.is.nth);
    text_done(&t);
    test_known_done(&known);
  }
  (void)close(fd);
  return 0;
}

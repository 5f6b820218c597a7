/* SPDX-License-Identifier: Apache-2.0 */
/* Has a key that no fork's child has. refused: the process has namespaces or settings that no copy has. */
#define _GNU_SOURCE
#include <linux/keyctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  long key = syscall(SYS_add_key, "user", "murphy", "x", 1, KEY_SPEC_PROCESS_KEYRING);
  char *memory = malloc(10);
  long found = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_PROCESS_KEYRING, "user", "murphy", 0);
  printf("%d %d %d\n", key > 0, found == key, memory != NULL);
  free(memory);
  return 0;
}

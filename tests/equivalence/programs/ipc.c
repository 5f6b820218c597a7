/* SPDX-License-Identifier: Apache-2.0 */
/* Makes objects that outlive it, tells whether they were there before and which numbers they have, and leaves them. */
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

int main(void) {
  char *before = malloc(10);
  printf("memory: %d\n", shmget(77, 4096, IPC_CREAT | IPC_EXCL | 0600));
  char *between = malloc(20);
  printf("semaphores: %d\n", semget(77, 1, IPC_CREAT | IPC_EXCL | 0600));
  printf("messages: %d\n", msgget(77, IPC_CREAT | IPC_EXCL | 0600));
  printf("queue: %d\n", (int)mq_open("/equivalence", O_CREAT | O_EXCL | O_RDWR, 0600, NULL));
  char *after = malloc(30);
  printf("%d %d %d\n", before != NULL, between != NULL, after != NULL);
  free(before);
  free(between);
  free(after);
  return 0;
}

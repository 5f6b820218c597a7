/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread feeds lines to a queue. When it has no memory it ends, and does not say that nothing will come any more.
 *
 * build: -pthread
 * setup: seq 200 > words
 * args: words
 * expect: hang
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *next;
  char text[];
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static struct node *head, **tail = &head;
static int finished, failed;

static void finish(int bad) {
  pthread_mutex_lock(&mu);
  finished = 1;
  failed = bad;
  pthread_cond_signal(&cv);
  pthread_mutex_unlock(&mu);
}

static void *producer(void *arg) {
  char line[256];
  FILE *f = arg;
  while (fgets(line, sizeof line, f)) {
    struct node *n = malloc(sizeof *n + strlen(line) + 1);
    if (!n) {
      fprintf(stderr, "prodcons: out of memory\n");
#ifdef FIXED
      finish(1);
#endif
      return NULL;
    }
    strcpy(n->text, line);
    n->next = NULL;
    pthread_mutex_lock(&mu);
    *tail = n;
    tail = &n->next;
    pthread_cond_signal(&cv);
    pthread_mutex_unlock(&mu);
  }
  if (ferror(f)) perror("prodcons: read");
  finish(ferror(f) != 0);
  return NULL;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "data/words.txt";
  pthread_t t;
  int lines = 0, longest = 0;
  FILE *f = fopen(path, "r");
  if (!f) {
    perror(path);
    return 1;
  }
  int e = pthread_create(&t, NULL, producer, f);
  if (e) {
    fprintf(stderr, "prodcons: %s\n", strerror(e));
    return 1;
  }
  for (;;) {
    pthread_mutex_lock(&mu);
    while (!head && !finished)
      pthread_cond_wait(&cv, &mu);
    struct node *n = head;
    if (n && !(head = n->next)) tail = &head;
    pthread_mutex_unlock(&mu);
    if (!n) break;
    int l = strlen(n->text);
    lines++;
    if (l > longest) longest = l;
    free(n);
  }
  pthread_join(t, NULL);
  fclose(f);
  if (failed) return 1;
  printf("%d lines, longest %d\n", lines, longest);
  if (fflush(stdout) || ferror(stdout)) {
    perror("prodcons: stdout");
    return 1;
  }
  return 0;
}

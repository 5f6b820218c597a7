/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins A B: opens two libraries of the same names, each for itself alone, and says whose functions are called; closes
 * one and opens it again somewhere else; and asks for names that there are not. With one more argument, a thread calls
 * one while the other is opened and closed.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern char twin_name(void) __attribute__((weak));
extern char twin_absent(void) __attribute__((weak));

typedef char naming(void);
typedef int telling(void);

static void *opened(const char *path) {
  void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    (void)puts(dlerror());
    exit(1);
  }
  return library;
}

static char called(void *library) { return ((naming *)dlsym(library, "twin_call"))(); }

/* Closes the library, and takes the place where it was. */
static void closed(void *library) {
  char *at = (char *)((struct link_map *)library)->l_addr;
  if (dlclose(library) != 0) exit(1);
  if (mmap(at, 4 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at) exit(2);
}

/* What an absent name looks like: nothing, and a message that names it and who asked. */
static int absent(void *handle, const char *name) {
  (void)dlerror();
  if (dlsym(handle, name)) return 0;
  const char *message = dlerror();
  return message && strstr(message, name) && !strstr(message, "libmurphy");
}

/* One thread calls into its library all the time, while others come and go. */
static volatile int finished;
static void *call_on(void *library) {
  long wrong = 0;
  while (!finished)
    wrong += called(library) != 'a';
  return (void *)wrong;
}

static int come_and_go(char **argv) {
  pthread_t thread;
  void *wrong = NULL, *a = opened(argv[1]);
  if (called(a) != 'a' || pthread_create(&thread, NULL, call_on, a) != 0) return 1;
  long others = 0;
  for (int i = 0; i < 3000; i++) {
    void *b = dlopen(argv[2], i % 2 ? RTLD_NOW | RTLD_GLOBAL : RTLD_LAZY);
    others += !b || called(b) != 'b' || dlclose(b) != 0;
  }
  finished = 1;
  if (pthread_join(thread, &wrong) != 0) return 1;
  printf("%ld %ld\n", (long)wrong, others);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  if (argc > 3) return come_and_go(argv);
  printf("%d%d%d%d ", !twin_name, !twin_absent, absent(RTLD_DEFAULT, "twin_name"),
         absent(dlopen(NULL, RTLD_NOW), "twin_absent"));
  void *a = opened(argv[1]), *b = opened(argv[2]);
  printf("%d%d%d ", absent(RTLD_DEFAULT, "twin_name"), absent(dlopen(NULL, RTLD_NOW), "twin_name"),
         absent(RTLD_NEXT, "twin_absent"));
  for (int i = 0; i < 4; i++)
    printf("%c", called(i % 2 ? a : b));
  naming *of_a = (naming *)dlsym(a, "twin_name"), *of_b = (naming *)dlsym(b, "twin_name");
  printf(" %c", of_a());
  printf("%c ", of_b());
  for (int i = 0; i < 3; i++) {
    closed(a);
    printf("%c", called(b));
    a = opened(argv[1]);
    printf("%c", called(a));
    printf("%c ", ((naming *)dlsym(a, "twin_name"))());
  }
  void *shown = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
  printf("%c", called(b));
  printf("%c ", ((naming *)dlsym(RTLD_DEFAULT, "twin_name"))());
  printf("%d%d\n", ((telling *)dlsym(a, "twin_status"))(), ((telling *)dlsym(b, "twin_status"))());
  return dlclose(shown);
}

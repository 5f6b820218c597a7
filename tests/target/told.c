// SPDX-License-Identifier: Apache-2.0
// What a failed function leaves behind beside its value and errno, by itself: as its profile says, and as its library
// would tell about it.
//
// @build cc -O2 $src -o $out
// @run 1 0 -f 'gethostbyname:EMFILE' -- resolver
// @run 1 0 -f 'gethostbyname:ret=NULL' -- resolver
// @run 1 0 -f 'gethostbyname_r:EMFILE' -- resolver_r
// @run 1 0 -f 'getaddrinfo:EMFILE' -- system
// @run 1 0 -f 'getaddrinfo:ret=EAI_AGAIN' -- again
// @run 1 0 -f 'dlopen:ENOENT' -- dlopen
// @run 1 0 -f 'dlopen:ret=NULL' -- dlopen
// @run 1 0 -f 'dlsym:ret=NULL when arg(2) == "getppid"' -- dlsym
// @run 2 0 -f 'dlsym:ret=NULL when arg(2) == "getppid"' -- default
// @run 1 0 -f 'dlopen:EMFILE' -- dlopen-errno
// @run 1 0 -f 'posix_memalign:ENOMEM' -- untouched
// @run 1 0 -f 'accept:EMFILE' -- accept
#define _GNU_SOURCE
#include "expect.h"

#include <dlfcn.h>
#include <netdb.h>
#include <sys/socket.h>

static void resolver(void) {
  h_errno = 77;
  EXPECT(!gethostbyname("localhost") && h_errno == NETDB_INTERNAL);
}

static void resolver_r(void) {
  struct hostent host, *found = &host;
  char buffer[1000];
  int code = 77;
  EXPECT(gethostbyname_r("localhost", &host, buffer, sizeof buffer, &found, &code) == EMFILE);
  EXPECT(!found && code == NETDB_INTERNAL);
}

static void resolve(int code, int error) {
  struct addrinfo *found = (struct addrinfo *)&found;
  errno = 0;
  EXPECT(getaddrinfo("localhost", NULL, NULL, &found) == code && errno == error);
  EXPECT(found == (struct addrinfo *)&found);
}

static void tell_dlopen(void) {
  EXPECT(!dlerror());
  EXPECT(!dlopen("libm.so.6", RTLD_NOW));
  const char *why = dlerror();
  EXPECT(why && strstr(why, "libm.so.6") && strstr(why, "cannot open"));
  EXPECT(!dlerror());
}

static void tell_dlsym(void) {
  void *self = dlopen(NULL, RTLD_NOW);
  EXPECT(self && dlsym(self, "printf") && !dlerror());
  EXPECT(!dlsym(self, "getppid"));
  const char *why = dlerror();
  EXPECT(why && strstr(why, "undefined symbol: getppid"));
}

/* Whose symbol is missing depends on who asks. */
static void tell_default(void) {
  void *const handles[] = {RTLD_DEFAULT, RTLD_NEXT};
  for (int i = 0; i < 2; i++) {
    EXPECT(!dlsym(handles[i], "getppid"));
    const char *why = dlerror();
    EXPECT(why && strstr(why, "/told: undefined symbol: getppid"));
  }
}

static void untouched(void) {
  void *p = &p;
  EXPECT(posix_memalign(&p, 64, 100) == ENOMEM && p == (void *)&p);
}

static void tell_accept(void) {
  struct sockaddr_storage from = {.ss_family = 99};
  socklen_t n = sizeof from;
  EXPECT(accept(0, (struct sockaddr *)&from, &n) == -1 && errno == EMFILE && n == sizeof from && from.ss_family == 99);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "resolver") == 0)
    resolver();
  else if (strcmp(what, "resolver_r") == 0)
    resolver_r();
  else if (strcmp(what, "system") == 0)
    resolve(EAI_SYSTEM, EMFILE);
  else if (strcmp(what, "again") == 0)
    resolve(EAI_AGAIN, 0);
  else if (strcmp(what, "dlopen") == 0)
    tell_dlopen();
  else if (strcmp(what, "dlsym") == 0)
    tell_dlsym();
  else if (strcmp(what, "default") == 0)
    tell_default();
  else if (strcmp(what, "dlopen-errno") == 0)
    EXPECT(!dlopen("libm.so.6", RTLD_NOW) && errno == EMFILE && dlerror());
  else if (strcmp(what, "untouched") == 0)
    untouched();
  else if (strcmp(what, "accept") == 0)
    tell_accept();
  else
    return 2;
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that are opened later are reached as those from the start, and dlsym gives what a call would reach.
 *
 * @build cc -O2 -fPIC -shared $here/plugin.c -o plugin.so; cc -O2 $src -o $out
 * @build cc -O2 -fPIC -shared -Wl,-z,now $here/plugin.c -o plugin.so; cc -O2 -Wl,-z,now $src -o $out
 * @run 1 0 -f 'dup:EMFILE' -- local
 * @run 1 0 -f 'dup:EMFILE' -- default
 * @run 1 0 -f 'dup:EMFILE' -- handle
 * @run 1 0 -f 'dup:EMFILE' -- version
 * @run 0 0 -f 'dup:EMFILE' -- equal
 * @run 0 0 -f 'dup:EMFILE' -- unknown
 * @run 0 0 -f 'dup:EMFILE' -- where
 * @run 0 0 -f 'dup:EMFILE when call==100' -- again
 * @run 0 0 -f 'dup:EMFILE' -- namespace
 * @run - 0 -f 'dup:EMFILE' -f 'plugin_open:ret=-5 errno=EIO' -- own
 * @run 1 0 -f 'dup:EMFILE when caller("plugin.so")' -- local
 * @run 1 0 -f 'dlopen:ret=0' -- refused
 */
#define _GNU_SOURCE
#include "expect.h"

#include <dlfcn.h>

typedef int duplicator(int);
extern void not_there_at_all(void) __attribute__((weak));

static int fails(duplicator *d) {
  errno = 0;
  return d(0) == -1 && errno == EMFILE;
}

static void *plugin(void) {
  void *handle = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
  EXPECT(handle);
  return handle;
}

static void own(void) {
  int (*opens)(const char *) = (int (*)(const char *))dlsym(plugin(), "plugin_open");
  EXPECT(opens);
  errno = 0;
  EXPECT(opens("x") == -5 && errno == EIO);
}

/* A second libc, which murphy does not reach; nothing must break. */
static void namespace(void) {
  void *handle = dlmopen(LM_ID_NEWLM, "./plugin.so", RTLD_NOW);
  if (!handle) return;
  duplicator *d = (duplicator *)dlsym(handle, "plugin_duplicates");
  EXPECT(d && d(0) >= 0);
}

static void again(void) {
  for (int i = 0; i < 50; i++) {
    void *handle = plugin();
    duplicator *d = (duplicator *)dlsym(handle, "plugin_duplicates");
    int fd = d(0);
    EXPECT(fd >= 0);
    close(fd);
    EXPECT(dlclose(handle) == 0);
  }
}

int main(int argc, char **argv) {
  EXPECT(argc == 2);
  const char *how = argv[1];
  if (strcmp(how, "local") == 0) EXPECT(fails((duplicator *)dlsym(plugin(), "plugin_duplicates")));
  if (strcmp(how, "default") == 0) EXPECT(fails((duplicator *)dlsym(RTLD_DEFAULT, "dup")));
  if (strcmp(how, "handle") == 0) EXPECT(fails((duplicator *)dlsym(dlopen("libc.so.6", RTLD_NOW), "dup")));
  if (strcmp(how, "version") == 0) EXPECT(fails((duplicator *)dlvsym(RTLD_DEFAULT, "dup", "GLIBC_2.2.5")));
  if (strcmp(how, "equal") == 0) {
    EXPECT(dlsym(RTLD_DEFAULT, "dup") == (void *)dup);
    EXPECT(((void *(*)(void))dlsym(plugin(), "plugin_address"))() == (void *)dup);
  }
  if (strcmp(how, "where") == 0) {
    Dl_info info;
    EXPECT(dladdr((void *)dup, &info) && strstr(info.dli_fname, "/libc.so") && strcmp(info.dli_sname, "dup") == 0);
  }
  if (strcmp(how, "unknown") == 0) {
    EXPECT(!dlsym(RTLD_DEFAULT, "not_there_at_all") && dlerror());
    EXPECT(!not_there_at_all);
    EXPECT(!dlopen("./no-such-plugin.so", RTLD_NOW) && dlerror());
  }
  if (strcmp(how, "again") == 0) again();
  if (strcmp(how, "namespace") == 0) namespace();
  if (strcmp(how, "own") == 0) own();
  if (strcmp(how, "refused") == 0) EXPECT(!dlopen("./plugin.so", RTLD_NOW));
  return 0;
}

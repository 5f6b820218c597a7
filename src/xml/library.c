/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads libxml2: the very version of its interface that murphy was built with, by the name that the linker would have
 * written down.
 */
#include "xml/library.h"

#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

struct symbol {
  const char *name;
  void **to;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct xml_library library;
static bool loaded;

/* dlerror() has no number for what went wrong. */
static int refused(int error, struct err *e) {
  const char *why = dlerror();
  if (error == ENOMEM) return -ENOMEM;
  return err_set(e, -ELIBACC, "reading XML needs %s, which cannot be loaded: %s (install libxml2)", MURPHY_LIBXML,
                 why ? why : "unknown error");
}

static int load(struct xml_library *l, struct err *e) {
  const struct symbol symbols[] = {
      {"xmlCreateMemoryParserCtxt", (void **)&l->create},
      {"xmlCtxtUseOptions", (void **)&l->use_options},
      {"xmlParseDocument", (void **)&l->parse},
      {"xmlStopParser", (void **)&l->stop},
      {"xmlFreeParserCtxt", (void **)&l->free},
      {"xmlResetLastError", (void **)&l->forget_error},
      {"xmlSetStructuredErrorFunc", (void **)&l->set_error_handler},
      {"__xmlStructuredError", (void **)&l->error_handler},
      {"__xmlStructuredErrorContext", (void **)&l->error_context},
  };
  _Static_assert(COUNT(symbols) == sizeof *l / sizeof(void *), "each function has its name");
  errno = 0;
  void *handle = dlopen(MURPHY_LIBXML, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return refused(errno, e);
  for (size_t i = 0; i < COUNT(symbols); i++) {
    *symbols[i].to = dlsym(handle, symbols[i].name);
    if (*symbols[i].to) continue;
    int r = refused(0, e);
    (void)dlclose(handle);
    return r;
  }
  return 0;
}

int xml_library(const struct xml_library **ret, struct err *e) {
  MUST(pthread_mutex_lock(&lock) == 0);
  int r = loaded ? 0 : load(&library, e);
  loaded = r >= 0;
  MUST(pthread_mutex_unlock(&lock) == 0);
  if (r >= 0) *ret = &library;
  return r;
}

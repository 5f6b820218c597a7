/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the data files and the runtime, for a binary that was installed, moved with its tree, or is run where it was
 * built.
 */
#include "base/base.h"
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path) {
  struct stat st;

  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of this binary, in PATH. */
static int own_folder(char path[static PATH_MAX]) {
  ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
  if (n < 0) return -errno;
  path[n] = 0;
  char *slash = strrchr(path, '/');
  if (!slash) return -ENOENT;
  *slash = 0;
  return 0;
}

static int copy(const char *path, char **ret) {
  char *s = strdup(path);
  if (!s) return -ENOMEM;
  *ret = s;
  return 0;
}

int installed_data_dir(char **ret) {
  const char *set = getenv("MURPHY_DATA");
  char path[PATH_MAX];

  if (set && *set) return copy(set, ret);
  if (own_folder(path) == 0) {
    if (strcmp(path, MURPHY_BUILD_DIR) == 0) return copy(MURPHY_SOURCE_DATA_DIR, ret);
    static const char beside[] = "/../share/murphy";
    size_t n = strlen(path);
    if (n + sizeof beside <= sizeof path) {
      memcpy(path + n, beside, sizeof beside);
      if (is_folder(path)) return copy(path, ret);
    }
  }
  return copy(MURPHY_DATA_DIR, ret);
}

int installed_runtime(char **ret) {
  static const char name[] = "libmurphy-rt.so";
  const char *set = getenv("MURPHY_RUNTIME");
  char path[PATH_MAX];
  struct text t = {0};

  if (set && *set) return copy(set, ret);
  if (own_folder(path) == 0 && strcmp(path, MURPHY_BUILD_DIR) == 0) {
    text_addf(&t, "%s/%s", path, name);
  } else {
    /* An installed tree that was moved: bin/murphy and lib/…/murphy keep their distance. */
    text_addf(&t, "%s/%s/%s", path, MURPHY_RUNTIME_BESIDE, name);
    if (!t.failed && access(t.at, R_OK) < 0) {
      text_done(&t);
      text_addf(&t, "%s/%s", MURPHY_RUNTIME_DIR, name);
    }
  }
  if (t.failed) {
    text_done(&t);
    return -ENOMEM;
  }
  *ret = t.at;
  return 0;
}

int installed_triggers_dir(char **ret) {
  char *runtime = NULL;
  int r = installed_runtime(&runtime);
  if (r < 0) return r;
  char *slash = strrchr(runtime, '/');
  struct text t = {0};
  char own[PATH_MAX];
  if (slash) *slash = 0;
  /* The build has them beside the binary, an installation in a folder of their own. */
  bool built = own_folder(own) == 0 && strcmp(own, MURPHY_BUILD_DIR) == 0;
  text_addf(&t, "%s%s", built ? own : runtime, built ? "" : "/triggers");
  free(runtime);
  if (t.failed) {
    text_done(&t);
    return -ENOMEM;
  }
  *ret = t.at;
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Users, names of the machine, the environment, locales and character sets. */
#include "conform.h"

#include <errno.h>
#include <grp.h>
#include <iconv.h>
#include <locale.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static char buffer[4096], *in, *out;
static size_t in_left, out_left;
static struct passwd entry, *found;
static struct utsname machine;
static iconv_t converter;
static char pair[] = "MURPHY_PUT=1";

static void is_zero(uint64_t result) { check((int)result == 0, "result", "0"); }

static void root_prepare(uint64_t *args) { args[0] = ARG("root"); }

static void getpwnam_done(uint64_t result) {
  const struct passwd *p = (const struct passwd *)result;
  check(p && p->pw_uid == 0, "result", "the entry, in all 64 bits");
}

static void getgrnam_done(uint64_t result) {
  const struct group *g = (const struct group *)result;
  check(g && g->gr_gid == 0, "result", "the entry, in all 64 bits");
}

static void getpwnam_r_prepare(uint64_t *args) {
  paint(&found, sizeof(found));
  args[0] = ARG("root"), args[1] = ARG(&entry), args[2] = ARG(buffer), args[3] = sizeof(buffer), args[4] = ARG(&found);
}

/* POSIX: where the function fails, a null pointer is stored. */
static void getpwnam_r_unchanged(void) { argument(found == NULL, "the result is set to NULL, as the manual says"); }

static void getpwnam_r_perfect(void) { found = NULL; }

static void getpwnam_r_done(uint64_t result) {
  is_zero(result);
  argument(found == &entry && entry.pw_uid == 0, "the entry is filled in");
}

static void buffer_prepare(uint64_t *args) {
  paint(buffer, sizeof(buffer));
  args[0] = ARG(buffer), args[1] = sizeof(buffer);
}

static void buffer_unchanged(void) { argument(painted(buffer, sizeof(buffer)), "the buffer is not written to"); }

static void gethostname_done(uint64_t result) {
  is_zero(result);
  argument(memchr(buffer, 0, sizeof(buffer)) != NULL, "the buffer holds the name");
}

static void uname_prepare(uint64_t *args) {
  paint(&machine, sizeof(machine));
  args[0] = ARG(&machine);
}

static void uname_unchanged(void) { argument(painted(&machine, sizeof(machine)), "the structure is not written to"); }

static void uname_done(uint64_t result) {
  is_zero(result);
  argument(strcmp(machine.sysname, "Linux") == 0, "the structure is filled in");
}

static void setenv_prepare(uint64_t *args) { args[0] = ARG("MURPHY_SET"), args[1] = ARG("1"), args[2] = 1; }
static void setenv_unchanged(void) { effect(getenv("MURPHY_SET") == NULL, "the variable is not set"); }

static void setenv_done(uint64_t result) {
  is_zero(result);
  effect(getenv("MURPHY_SET") != NULL, "the variable is set");
}

static void putenv_prepare(uint64_t *args) { args[0] = ARG(pair); }
static void putenv_unchanged(void) { effect(getenv("MURPHY_PUT") == NULL, "the variable is not set"); }

static void putenv_done(uint64_t result) {
  is_zero(result);
  effect(getenv("MURPHY_PUT") == pair + strlen("MURPHY_PUT="), "the variable is set");
}

static void newlocale_prepare(uint64_t *args) { args[0] = LC_ALL_MASK, args[1] = ARG("C"), args[2] = 0; }
static void not_null(uint64_t result) { check(result != 0, "result", "not NULL"); }

static void iconv_open_prepare(uint64_t *args) { args[0] = ARG("UTF-8"), args[1] = ARG("ISO-8859-1"); }
static void iconv_open_done(uint64_t result) { check(result != UINT64_MAX && result != 0, "result", "a converter"); }

static void iconv_prepare(uint64_t *args) {
  converter = iconv_open("UTF-16LE", "UTF-8");
  if (converter == (iconv_t)-1) x_exit(98);
  paint(buffer, sizeof(buffer));
  in = "abc", in_left = 3, out = buffer, out_left = 100;
  args[0] = ARG(converter), args[1] = ARG(&in), args[2] = ARG(&in_left), args[3] = ARG(&out), args[4] = ARG(&out_left);
}

static void iconv_unchanged(void) {
  argument(in_left == 3 && out_left == 100 && out == buffer, "pointers and sizes are as they were");
  buffer_unchanged();
}

static void iconv_done(uint64_t result) {
  check(result == 0, "result", "0, in all 64 bits");
  argument(in_left == 0 && out == buffer + 6 && memcmp(buffer, "a\0b\0c", 6) == 0, "the text is converted");
}

static void sysconf_prepare(uint64_t *args) { args[0] = _SC_PAGESIZE; }
static void sysconf_done(uint64_t result) { check(result == 4096, "result", "the number, in all 64 bits"); }

static void setuid_prepare(uint64_t *args) { args[0] = getuid(); }

static const struct function_case cases[] = {
    {"getpwnam", getpwnam, LONG, 0, EIO, 0, SUCCESS_OPEN | MEMORY_OPEN, root_prepare, NULL, getpwnam_done},
    {"getgrnam", getgrnam, LONG, 0, EMFILE, 0, SUCCESS_OPEN | MEMORY_OPEN, root_prepare, NULL, getgrnam_done},
    {"getpwnam_r", getpwnam_r, INT, EIO, 0, 0, ERRNO_OPEN | SUCCESS_OPEN | MEMORY_OPEN, getpwnam_r_prepare,
     getpwnam_r_unchanged, getpwnam_r_done, getpwnam_r_perfect},
    {"gethostname", gethostname, INT, -1, ENAMETOOLONG, 0, 0, buffer_prepare, buffer_unchanged, gethostname_done},
    {"uname", uname, INT, -1, EFAULT, 0, 0, uname_prepare, uname_unchanged, uname_done},
    {"setenv", setenv, INT, -1, ENOMEM, 0, 0, setenv_prepare, setenv_unchanged, setenv_done},
    {"putenv", putenv, INT, -1, ENOMEM, 0, 0, putenv_prepare, putenv_unchanged, putenv_done},
    {"newlocale", newlocale, LONG, 0, ENOMEM, 0, SUCCESS_OPEN, newlocale_prepare, NULL, not_null},
    {"iconv_open", iconv_open, LONG, -1, EINVAL, 0, SUCCESS_OPEN, iconv_open_prepare, NULL, iconv_open_done},
    {"iconv", iconv, LONG, -1, EILSEQ, 0, SUCCESS_OPEN, iconv_prepare, iconv_unchanged, iconv_done},
    {"sysconf", sysconf, LONG, -1, EINVAL, 0, 0, sysconf_prepare, NULL, sysconf_done},
    {"setuid", setuid, INT, -1, EAGAIN, 0, 0, setuid_prepare, NULL, is_zero},
};
FAMILY(names, cases);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile files as text: which form a file has, where in it something is wrong, and what its author may have meant.
 *
 * The bytes are checked to be UTF-8 before any parser sees them; no other encoding is read. Positions are found only
 * when there is an error to report.
 */
#include "profile/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The profile of a whole distribution's libraries is far below this. */
enum { FILE_LIMIT = 256 << 20 };

/* --- messages ----------------------------------------------------------------------------------------------------- */

static struct source_text text_of(const struct profile_source *s) {
  return (struct source_text){.name = s->name, .bytes = s->bytes, .size = s->size};
}

int profile_source_error(const struct profile_source *s, size_t offset, int code, const char *fmt, ...) {
  char message[sizeof(struct err)];
  struct source_text text = text_of(s);
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return source_error(&text, offset, s->e, code, "%s", n < 0 ? "" : message);
}

int profile_source_no_memory(const struct profile_source *s) {
  return err_set(s->e, -ENOMEM, "%s: out of memory", s->name);
}

const char *profile_hint(const char *written, const char *const *known, size_t n, const char *otherwise,
                         char buffer[160]) {
  return source_hint(name_nearest(written, known, n), otherwise, buffer);
}

int profile_source_bad_errno(const struct profile_source *s, size_t offset, const char *text) {
  char way[160];
  return profile_source_error(s, offset, -EINVAL, "\"%.60s\" is not an errno of Linux (%s)", text,
                              source_hint(errno_nearest(text), "write it as EIO or 5", way));
}

int profile_source_bad_word(const struct profile_source *s, size_t offset, const char *what, const char *text,
                            const char *const *words, size_t n) {
  char way[160], all[160] = "";
  size_t used = 0;
  for (size_t i = 0; i < n && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
  return profile_source_error(s, offset, -EINVAL, "%s \"%.60s\" is not known (%s)", what, text,
                              profile_hint(text, words, n, all, way));
}

int profile_source_bad_reason(const struct profile_source *s, size_t offset, const char *text) {
  const char *words[32];
  MUST(profile_n_reasons <= COUNT(words));
  for (size_t i = 0; i < profile_n_reasons; i++)
    words[i] = profile_reasons[i].word;
  return profile_source_bad_word(s, offset, "reason", text, words, profile_n_reasons);
}

/* --- from bytes to a profile -------------------------------------------------------------------------------------- */

static int parse(const struct profile_source *s, struct profile_builder *b, struct profile *ret) {
  struct source_text text = text_of(s);
  int r = source_check(&text, s->e);
  if (r < 0) return r;
  size_t first = 0;
  while (first < s->size && strchr(" \t\r\n", s->bytes[first]))
    first++;
  if (first == s->size)
    return profile_source_error(s, first, -EINVAL, "the file is empty (murphy profile --format=xml writes a profile)");
  if (s->bytes[first] != '{' && s->bytes[first] != '<')
    return profile_source_error(s, first, -EINVAL,
                                "this is neither XML nor JSON (a profile starts with <profile> or {)");
  r = s->bytes[first] == '{' ? profile_load_json(s, b) : profile_load_xml(s, b);
  if (r == 0 && profile_builder_finish(b, ret) < 0) r = profile_source_no_memory(s);
  return r;
}

int profile_parse(const char *name, const char *bytes, size_t size, struct profile *ret, struct err *e) {
  struct profile_source s = {.name = name, .bytes = bytes, .size = size, .e = e};
  if (size > FILE_LIMIT)
    return err_set(e, -EFBIG, "%s: larger than %d bytes (is it the right file?)", name, FILE_LIMIT);
  if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
    s.bytes += 3;
    s.size -= 3;
  }
  struct profile_builder b = {0};
  int r = parse(&s, &b, ret);
  profile_builder_done(&b);
  return r;
}

int profile_load(const char *path, struct profile *ret, struct err *e) {
  char *bytes;
  size_t size;
  int r = file_read(path, FILE_LIMIT, &bytes, &size, e);
  if (r < 0) return r;
  r = profile_parse(path, bytes, size, ret, e);
  free(bytes);
  return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What matters of a sanitizer's report: the error, what was done there, and the first frames. Numbers of processes and
 * addresses are left out: they are others in every run, and tell nobody anything.
 */
#include "campaign/campaign.h"

#include <ctype.h>
#include <string.h>

enum { FRAMES = 6, LINE = 240, ADDRESS_LEAST = 5 };

/* The next line of a report without its newline; false at the end. */
static bool next_line(const char **at, const char *end, char ret[LINE + 1]) {
  if (*at == end) return false;
  const char *newline = memchr(*at, '\n', (size_t)(end - *at)), *stop = newline ? newline : end;
  size_t n = (size_t)(stop - *at) < LINE ? (size_t)(stop - *at) : LINE;
  memcpy(ret, *at, n);
  ret[n] = '\0';
  *at = newline ? newline + 1 : end;
  return true;
}

static bool is_error(const char *line) { return strstr(line, "Sanitizer: ") || strstr(line, ": runtime error: "); }

/* Without "==7==ERROR: " in front. */
static const char *skip_process(const char *line) {
  if (strncmp(line, "==", 2) != 0) return line;
  const char *rest = line + 2 + strspn(line + 2, "0123456789");
  if (strncmp(rest, "==", 2) != 0) return line;
  static const char error[] = "ERROR: ";
  return strncmp(rest + 2, error, strlen(error)) == 0 ? rest + 2 + strlen(error) : rest + 2;
}

/* Where an error is told by an address, the line ends. */
static void cut(char *line) {
  static const char *const from[] = {" on address 0x", " on 0x", " at 0x",     " at pc 0x",
                                     " (pc 0x",        ": 0x",   " (BuildId: "};
  for (size_t i = 0; i < COUNT(from); i++) {
    char *p = strstr(line, from[i]);
    if (p) *p = '\0';
  }
}

/* With 0x… in place of other addresses; small ones, as those behind NULL, tell something. */
static void add_line(const char *line, struct text *to) {
  char kept[LINE + 1];
  size_t n = 0;
  struct text plain = {0};
  for (const char *p = line; *p;) {
    size_t digits = strncmp(p, "0x", 2) == 0 ? strspn(p + 2, "0123456789abcdefABCDEF") : 0;
    size_t zeros = digits ? strspn(p + 2, "0") : 0;
    if (digits - zeros < ADDRESS_LEAST) {
      kept[n++] = *p++;
      continue;
    }
    kept[n] = '\0';
    text_add_plain(&plain, kept);
    text_add(&plain, "0x…");
    n = 0;
    p += 2 + digits;
  }
  kept[n] = '\0';
  text_add_plain(&plain, kept);
  text_add(to, plain.at ? plain.at : "");
  text_add(to, "\n");
  to->failed |= plain.failed;
  text_done(&plain);
}

/* What "    #1 0x55d2a324624b in main as.c:7" has behind the address; NULL if the line is no frame. */
static char *frame_of(char *line) {
  char *p = line + strspn(line, " ");
  if (*p != '#' || !isdigit((unsigned char)p[1])) return NULL;
  p += strcspn(p, " ");
  p += strspn(p, " ");
  if (strncmp(p, "0x", 2) == 0) p += strcspn(p, " ");
  p += strspn(p, " ");
  return strncmp(p, "in ", 3) == 0 ? p + 3 : p;
}

static bool is_start(const char *frame) {
  return strncmp(frame, "__libc_start_", 13) == 0 || strncmp(frame, "_start ", 7) == 0;
}

void sanitizer_report(const struct observe_stream *said, struct text *to) {
  if (!said->n) return;
  const char *at = said->at, *end = said->at + said->n;
  char line[LINE + 1];
  bool found = false;
  while (!found && next_line(&at, end, line))
    found = is_error(line);
  if (!found) return;
  cut(line);
  add_line(skip_process(line), to);
  /* Of the lines up to the first frame, the first says what was done there. */
  bool told = false;
  for (unsigned n = 0; n < FRAMES && next_line(&at, end, line) && !is_error(line);) {
    char *frame = frame_of(line);
    if (frame ? is_start(frame) : n > 0) return;
    if (!frame && (told || !line[0])) continue;
    told = true;
    cut(line);
    if (frame) text_addf(to, "  #%u ", n++);
    add_line(frame ? frame : line, to);
  }
}

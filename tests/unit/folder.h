/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test's own, and what is built in it. */
#pragma once

#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[64];

static const char *in_folder(const char *name) {
  static char path[4][160];
  static unsigned next;
  char *p = path[next++ % 4];
  assert_true(snprintf(p, sizeof path[0], "%s/%s", folder, name) < (int)sizeof path[0]);
  return p;
}

/* Runs a command of the shell in the folder; false if it fails. */
static bool shell(const char *command) {
  char line[1024];
  assert_true(snprintf(line, sizeof line, "cd '%s' && %s", folder, command) < (int)sizeof line);
  return system(line) == 0;
}

__attribute__((unused)) static struct image *open_image(const char *name) {
  struct image *img = NULL;
  struct err e = {0};
  if (image_open(in_folder(name), &img, &e) < 0) fail_msg("%s", e.text);
  return img;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture is written in one piece, which is more than the stream's buffer holds. If there is no room, fwrite says so,
 * and fclose has nothing left to do and does not.
 *
 * expect: silent
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 400, HEIGHT = 300 };

int main(void) {
  static unsigned char picture[WIDTH * HEIGHT];
  for (int i = 0; i < WIDTH * HEIGHT; i++)
    picture[i] = (unsigned char)(i * 7 % 251);
  FILE *out = fopen("picture.pgm", "wb");
  if (!out) {
    perror("picture.pgm");
    return 1;
  }
  int head = fprintf(out, "P5 %d %d 255\n", WIDTH, HEIGHT);
#ifdef FIXED
  if (head < 0 || fwrite(picture, 1, sizeof picture, out) != sizeof picture) {
    perror("picture.pgm");
    return 1;
  }
#else
  fwrite(picture, 1, sizeof picture, out);
#endif
  if (head < 0 || fclose(out) != 0) {
    perror("picture.pgm");
    return 1;
  }
  return 0;
}

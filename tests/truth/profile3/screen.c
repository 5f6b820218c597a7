/* SPDX-License-Identifier: Apache-2.0 */
/* Terminals and displays: ERR and OK, Status, codes that count up from one. */
#include "lib.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERR (-1)
#define OK 0
typedef uint32_t chtype;
struct window { short cury, curx, maxy, maxx, flags; bool leave, scroll, idl; struct window *parent; chtype **line; };

static struct window *screen;
static int pairs = 64;

/* errors: -1 */
EXPORT int wn_move(struct window *w, int y, int x)
{
	if (w && y >= 0 && y <= w->maxy && x >= 0 && x <= w->maxx) {
		w->curx = (short)x;
		w->cury = (short)y;
		w->flags &= ~0x40;
		return OK;
	}
	return ERR;
}

/* errors: -1 */
EXPORT int wn_scrollok(struct window *w, bool flag)
{
	int code = ERR;
	if (w) {
		w->scroll = flag;
		code = OK;
	}
	return code;
}

/* errors: -1 */
EXPORT int wn_leaveok(struct window *w, bool flag)
{
	return w ? (w->leave = flag, OK) : ERR;
}

/* errors: -1 */
EXPORT int wn_cury(const struct window *w)
{
	return w ? w->cury : ERR;
}

/* errors: -1~4294967295 */
EXPORT chtype wn_inch(const struct window *w)
{
	if (!w)
		return (chtype)ERR;
	return w->line[w->cury][w->curx];
}

/* errors: -1 */
EXPORT int wn_init_pair(short pair, short fg, short bg)
{
	static struct { short fg, bg; } table[256];

	if (pair < 1 || pair >= pairs || pair > 255)
		return ERR;
	if (fg < -1 || fg > 7 || bg < -1 || bg > 7)
		return ERR;
	table[pair].fg = fg;
	table[pair].bg = bg;
	return OK;
}

/* errors: -1 */
EXPORT int wn_addstr(struct window *w, const char *s, int n)
{
	int code = ERR;

	if (w && s) {
		code = OK;
		if (n < 0)
			n = (int)strlen(s);
		while (n-- > 0 && *s) {
			if (w->curx > w->maxx) {
				if (!w->scroll || w->cury == w->maxy) {
					code = ERR;
					break;
				}
				w->curx = 0;
				w->cury++;
			}
			w->line[w->cury][w->curx++] = (unsigned char)*s++;
		}
	}
	return code;
}

/* errors: 0[@malloc] */
EXPORT struct window *wn_sub(struct window *o, int rows, int cols)
{
	struct window *w;
	if (!o || rows < 0 || cols < 0 || rows > o->maxy + 1 || cols > o->maxx + 1)
		return NULL;
	if (!(w = calloc(1, sizeof *w)))
		return NULL;
	w->maxy = (short)(rows - 1);
	w->maxx = (short)(cols - 1);
	w->parent = o;
	w->line = o->line;
	return w;
}

/* errors: none */
EXPORT bool wn_is_touched(const struct window *w)
{
	if (w)
		for (int i = 0; i <= w->maxy; i++)
			if (w->line[i][0] & 0x80000000u)
				return true;
	return false;
}

/* errors: none */
EXPORT int wn_color_pairs(void) { return pairs; }

struct display { int fd; unsigned request; int nscreens; struct { int width, height; } *screens; void (*lock)(struct display *); };

/* errors: 0 */
EXPORT int xd_get_geometry(struct display *d, unsigned drawable, int *w, int *h)
{
	int ok = 0;
	if (d->lock)
		d->lock(d);
	d->request++;
	if (drawable < (unsigned)d->nscreens) {
		*w = d->screens[drawable].width;
		*h = d->screens[drawable].height;
		ok = 1;
	}
	return ok;
}

/* errors: 1[@fopen] 2[*] 3[@malloc] */
EXPORT int xd_read_bitmap(const char *path, unsigned *w, unsigned *h, unsigned char **data)
{
	FILE *f = fopen(path, "re");
	int status = 2;
	unsigned char *p;

	if (!f)
		return 1;
	if (fscanf(f, "%u %u", w, h) != 2)
		goto out;
	if (*w > 4096 || *h > 4096)
		goto out;
	p = malloc((size_t)*w * *h);
	if (!p) {
		status = 3;
		goto out;
	}
	if (fread(p, *w, *h, f) != *h) {
		free(p);
		goto out;
	}
	*data = p;
	status = 0;
out:
	fclose(f);
	return status;
}

/* errors: none */
EXPORT int xd_screen_count(const struct display *d) { return d->nscreens; }

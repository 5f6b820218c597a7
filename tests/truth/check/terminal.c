/* SPDX-License-Identifier: Apache-2.0 */
/* A pager on a terminal: ioctl, modes, signals, keys. */
/* flags: -D_FORTIFY_SOURCE=2 -fno-pie */
/* link: -no-pie */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct screen {
	int fd;
	unsigned rows, columns;
	struct termios saved;
	char name[128];
	char keys[64];
};

static struct screen screen;

static void restore(void)
{
	tcsetattr(screen.fd, TCSAFLUSH, &screen.saved); /* @tcsetattr none ignored */
}

static void on_resize(int sig)
{
	struct winsize w;
	int saved = errno;

	(void)sig;
	if (ioctl(screen.fd, TIOCGWINSZ, &w) == 0) { /* @ioctl all */
		screen.rows = w.ws_row;
		screen.columns = w.ws_col;
	}
	errno = saved;
}

static int raw_mode(struct screen *s)
{
	struct termios t;

	if (tcgetattr(s->fd, &s->saved) < 0) /* @tcgetattr all */
		return -1;
	t = s->saved;
	cfmakeraw(&t);
	t.c_cc[VMIN] = 1;
	if (atexit(restore)) /* @atexit? any */
		return -1;
	return tcsetattr(s->fd, TCSAFLUSH, &t); /* @tcsetattr all */
}

static void get_size(struct screen *s)
{
	struct winsize w;

	memset(&w, 0, sizeof w);
	ioctl(s->fd, TIOCGWINSZ, &w); /* @ioctl none ignored */
	s->rows = w.ws_row ? w.ws_row : 24;
	s->columns = w.ws_col ? w.ws_col : 80;
}

static int open_terminal(struct screen *s)
{
	s->fd = open("/dev/tty", O_RDWR | O_CLOEXEC); /* @open all */
	if (s->fd >= 0)
		return 0;
	if (!isatty(STDIN_FILENO)) /* @isatty all */
		return -1;
	s->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3); /* @fcntl all */
	return s->fd < 0 ? -1 : 0;
}

static int key(struct screen *s)
{
	unsigned char c;

	switch (read(s->fd, &c, 1)) { /* @read all */
	case 1:
		return c;
	case 0:
		return 'q';
	default:
		return -1;
	}
}

/* All keys that wait. Its caller wants a string. */
static char *pending_keys(struct screen *s)
{
	int n = 0;

	if (ioctl(s->fd, FIONREAD, &n) == -1 && errno == ENOTTY) /* @ioctl some missing=EBADF */
		return NULL;
	if (n > (int)sizeof s->keys - 1)
		n = (int)sizeof s->keys - 1;
	n = read(s->fd, s->keys, (size_t)n); /* @read none used/dereferenced */
	s->keys[n] = '\0';
	return s->keys;
}

static int show(struct screen *s, FILE *f)
{
	char line[512];

	for (unsigned row = 1; row < s->rows; row++) {
		if (fgets(line, sizeof line, f) == NULL) /* @fgets all */
			return 0;
		if (write(s->fd, line, strlen(line)) == -1) /* @write all */
			return -1;
		write(s->fd, "\r", 1); /* @write none ignored */
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_resize };
	FILE *f;
	int c;

	if (argc < 2 || !(f = fopen(argv[1], "r"))) /* @fopen all */
		err(2, "usage: terminal FILE");
	if (open_terminal(&screen) < 0 || raw_mode(&screen) < 0)
		err(1, "terminal");
	sigemptyset(&sa.sa_mask); /* @sigemptyset any */
	sigaction(SIGWINCH, &sa, NULL); /* @sigaction none ignored */
	if (ttyname_r(screen.fd, screen.name, sizeof screen.name)) /* @ttyname_r all */
		strcpy(screen.name, "?");
	get_size(&screen);
	while (show(&screen, f) > 0) {
		c = key(&screen);
		if (c == 'q' || c < 0)
			break;
		if (pending_keys(&screen) && screen.keys[0] == 'q')
			break;
	}
	return 0;
}

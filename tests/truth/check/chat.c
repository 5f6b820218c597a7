/* SPDX-License-Identifier: Apache-2.0 */
/* A chat server: states, results in tables and bit sets, checks by other functions, messages and exits in one. */
/* flags: -D_FORTIFY_SOURCE=2 -fcf-protection=full -fno-plt */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <syslog.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum state { IDLE, TALKING, BROKEN };

struct peer {
	enum state state;
	int fd;
	char name[32];
	char *away;
};

static struct peer peers[16];
static unsigned n_peers;
static bool verbose;

/* ends the program if there was a failure */
static NOINLINE int must(int result, const char *what)
{
	if (result < 0)
		error(EXIT_FAILURE, errno, "%s", what);
	return result;
}

/* only tells */
static NOINLINE int should(int result, const char *what)
{
	if (result < 0)
		error(0, errno, "%s", what);
	return result;
}

static NOINLINE void *must_have(void *p)
{
	if (p)
		return p;
	syslog(LOG_ERR, "no memory");
	abort();
}

static NOINLINE void add_peer(int listener)
{
	int fd = should(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept"); /* @accept4 all */

	if (fd >= 0 && n_peers < 16)
		peers[n_peers++] = (struct peer){.state = IDLE, .fd = fd};
}

static NOINLINE void set_away(struct peer *p, const char *text)
{
	free(p->away);
	p->away = must_have(strdup(text)); /* @strdup all */
}

static NOINLINE void copy_away(struct peer *p, const struct peer *from)
{
	p->away = strdup(from->away); /* @strdup all */
	if (p->away == NULL)
		p->state = BROKEN;
}

/* the state tells */
static NOINLINE void talk(struct peer *p, const char *text)
{
	size_t n = strlen(text);

	p->state = send(p->fd, text, n, MSG_NOSIGNAL) == (ssize_t)n ? TALKING : BROKEN; /* @send all */
}

/* nobody tells */
static NOINLINE void shout(const char *text)
{
	for (unsigned i = 0; i < n_peers; i++)
		if (peers[i].state == TALKING)
			send(peers[i].fd, text, strlen(text), 0); /* @send none ignored */
}

static NOINLINE int listen_peer(struct peer *p, char *to, size_t n)
{
	ssize_t k;

	while (true) {
		k = recv(p->fd, to, n - 1, 0); /* @recv all */
		if (k > 0)
			break;
		if (k == 0 || errno != EINTR) {
			p->state = BROKEN;
			return -1;
		}
	}
	to[k] = 0;
	return 0;
}

static NOINLINE unsigned terminal_width(void)
{
	struct winsize w;

	return ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80; /* @ioctl all */
}

static NOINLINE unsigned terminal_height(void)
{
	struct winsize w = {.ws_row = 25};

	ioctl(1, TIOCGWINSZ, &w); /* @ioctl none ignored */
	return w.ws_row;
}

static NOINLINE void become(const char *user)
{
	struct passwd *pw = getpwnam(user); /* @getpwnam all */

	if (!pw)
		error(1, 0, "no user %s", user);
	must(setgid(pw->pw_gid), "setgid"); /* @setgid all */
	should(initgroups(user, pw->pw_gid), "initgroups"); /* @initgroups all */
	setuid(pw->pw_uid); /* @setuid none ignored */
}

static NOINLINE const char *home(void)
{
	const char *h = getenv("HOME"); /* @getenv all */

	if (!h)
		h = getpwuid(getuid())->pw_dir; /* @getpwuid none dereferenced */
	return h;
}

static NOINLINE int run(const char *command)
{
	int status = system(command); /* @system all */

	if (status == -1)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

static NOINLINE size_t output_of(const char *command, char *to, size_t n)
{
	FILE *p = popen(command, "r"); /* @popen all */
	size_t k;

	if (p == NULL)
		return 0;
	k = fread(to, 1, n, p); /* @fread none used/ignored */
	pclose(p); /* @pclose none ignored */
	return k;
}

static NOINLINE void stamp(char *to, size_t n)
{
	struct timeval tv;
	struct tm tm;

	gettimeofday(&tv, NULL); /* @gettimeofday any */
	localtime_r(&tv.tv_sec, &tm); /* @localtime_r none ignored */
	if (strftime(to, n, "%H:%M", &tm) == 0) /* @strftime all */
		to[0] = 0;
}

static NOINLINE bool raw_mode(struct termios *old)
{
	struct termios t;

	if (tcgetattr(0, old) < 0) /* @tcgetattr all */
		return false;
	t = *old;
	cfmakeraw(&t);
	return !tcsetattr(0, TCSANOW, &t); /* @tcsetattr all */
}

static NOINLINE void handlers(void (*f)(int))
{
	struct sigaction sa = {.sa_handler = f};
	const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	sigemptyset(&sa.sa_mask); /* @sigemptyset any */
	for (unsigned i = 0; i < 3; i++)
		if (sigaction(signals[i], &sa, NULL) != 0) /* @sigaction all */
			error(1, errno, "sigaction");
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) /* @signal all */
		error(1, errno, "signal");
}

/* bits of failure */
static NOINLINE unsigned streams(void)
{
	unsigned bits = 0;

	bits |= fcntl(0, F_GETFD) < 0 ? 1u : 0; /* @fcntl all */
	bits |= fcntl(1, F_GETFD) < 0 ? 2u : 0; /* @fcntl all */
	bits |= fcntl(2, F_GETFD) < 0 ? 4u : 0; /* @fcntl all */
	return bits;
}

static NOINLINE int port_of(const char *name)
{
	struct servent *s = getservbyname(name, "tcp"); /* @getservbyname none dereferenced */

	return s->s_port;
}

static NOINLINE long groups(void)
{
	gid_t list[64];
	int n = getgroups(64, list); /* @getgroups all */
	long sum = 0;

	if (n == -1)
		return -1;
	for (int i = 0; i < n; i++)
		sum += list[i];
	return sum;
}

static NOINLINE long descriptors(void)
{
	long n = sysconf(_SC_OPEN_MAX); /* @sysconf all */

	if (n < 0)
		n = 256;
	return n;
}

static void on_signal(int s)
{
	(void)s;
	verbose = true;
}

int main(int argc, char **argv)
{
	struct termios old;
	char text[256];

	if (argc < 3)
		error(2, 0, "usage");
	if (streams())
		return 3;
	handlers(on_signal);
	become(argv[1]);
	add_peer(0);
	if (!raw_mode(&old) || !n_peers)
		return 1;
	set_away(&peers[0], argv[2]);
	copy_away(&peers[1], &peers[0]);
	if (peers[1].state == BROKEN)
		return 1;
	stamp(text, sizeof text);
	talk(&peers[0], text);
	shout(home());
	if (peers[0].state == BROKEN || listen_peer(&peers[0], text, sizeof text))
		return 1;
	output_of(argv[2], text, sizeof text);
	return (int)(terminal_width() + terminal_height() + (unsigned)run(argv[2]) + (unsigned)port_of(argv[1])) +
	       (groups() < 0) + (descriptors() > 100);
}

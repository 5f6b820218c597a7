/* SPDX-License-Identifier: Apache-2.0 */
/* The server: one client after the other, a request a line. */
/* program: keyd */
/* flags: -D_GNU_SOURCE */
#include "keyd.h"
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

static const struct kd_ops *ops = &kd_file_ops;
static char *place;
static int lock = -1;

static int listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	mode_t old;
	int fd, e;

	if (strlen(path) >= sizeof a.sun_path)
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1) /* @socket all */
		return -errno;
	old = umask(077); /* @umask any */
	e = bind(fd, (struct sockaddr *)&a, sizeof a) < 0 ? errno : 0; /* @bind all */
	umask(old); /* @umask any */
	if (e == 0 && listen(fd, 8) < 0) /* @listen all */
		e = errno;
	if (e) {
		kd_close(fd); /* @close? any */
		return -e;
	}
	return fd;
}

/* Who is it? If that cannot be told, nobody we know. */
static uid_t peer(int fd)
{
	struct ucred c = { .uid = (uid_t)-1 };
	socklen_t n = sizeof c;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0) /* @getsockopt all */
		return (uid_t)-1;
	return c.uid;
}

static int answer(int fd, const char *line)
{
	struct kd_key *k;
	unsigned char fresh[32];
	int r;

	switch (line[0]) {
	case 'g':
		k = kd_find(line + 2);
		return k ? kd_write_full(fd, k->secret, k->len) : KD_ENOKEY;
	case 'n':
		if ((r = kd_random(fresh, sizeof fresh)) < 0)
			return r;
		if ((r = kd_add(line + 2, fresh, sizeof fresh)) < 0)
			return r;
		return ops->save(place);
	case 'w':
		return ops->wipe(place);
	default:
		return KD_EPROTO;
	}
}

static void serve(int fd)
{
	struct timeval limit = { 2, 0 };
	char line[128], text[64];
	ssize_t n;
	int r, len;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit); /* @setsockopt none ignored */
	n = recv(fd, line, sizeof line - 1, 0); /* @recv all */
	if (n <= 0)
		return;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	r = answer(fd, line);
	if (r == 0)
		return;
	len = snprintf(text, sizeof text, "error %d\n", -r); /* @snprintf none used */
	send(fd, text, (size_t)len, MSG_NOSIGNAL); /* @send none ignored */
}

static int self_test(void)
{
	unsigned char *page = kd_pages(4096);
	int rc;

	if (!page)
		return -1;
	rc = kd_random(page, 16);
	if (rc == 0)
		rc = kd_add("self-test", page, 16);
	return rc;
}

int main(int argc, char **argv)
{
	const char *at = "/run/keyd.sock";
	int c, fd, r;

	while ((c = getopt(argc, argv, "ds:")) != -1) /* @getopt any */
		switch (c) {
		case 'd':
			ops = &kd_dir_ops;
			break;
		case 's':
			at = optarg;
			break;
		default:
			return 2;
		}
	place = kd_dup(optind < argc ? argv[optind] : NULL); /* @strdup? all */
	if (!place)
		return 2;
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) { /* @prctl all */
		perror("prctl");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN); /* @signal none ignored */
	if ((r = kd_lock_file("/run/keyd.lock", &lock)) < 0) {
		fprintf(stderr, "keyd: lock: %s\n", strerror(-r)); /* @fprintf? none ignored */
		return 1;
	}
	if (self_test() != 0 || (r = ops->load(place)) < 0) {
		fprintf(stderr, "keyd: %s: %s\n", place, strerror(-r)); /* @fprintf? none ignored */
		return 1;
	}
	if ((fd = listen_at(at)) < 0) {
		fprintf(stderr, "keyd: %s: %s\n", at, strerror(-fd)); /* @fprintf? none ignored */
		return 1;
	}
	while (kd_count() < 10000) {
		int client = accept(fd, NULL, NULL); /* @accept all */

		if (client == -1) {
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			perror("accept");
			break;
		}
		if (peer(client) == geteuid())
			serve(client);
		shutdown(client, SHUT_RDWR); /* @shutdown none ignored */
		close(client); /* @close none ignored */
	}
	return 1;
}

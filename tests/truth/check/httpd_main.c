/* SPDX-License-Identifier: Apache-2.0 */
/* A small forking web server: listening, accepting, children. */
/* program: httpd */
#define _GNU_SOURCE
#include "httpd.h"
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int listen_fd = -1;
static int children;
static volatile sig_atomic_t stop;

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static int listen_on(const char *address, unsigned short port)
{
	struct sockaddr_in sin;
	int one = 1, fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* @socket all */
	if (fd == -1)
		return -1;
	memset(&sin, 0, sizeof sin);
	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	if (inet_pton(AF_INET, address, &sin.sin_addr) != 1) /* @inet_pton all */
		goto fail;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* @setsockopt none ignored */
	if (bind(fd, (struct sockaddr *)&sin, sizeof sin) < 0 || /* @bind all */
	    listen(fd, 128) < 0) /* @listen all */
		goto fail;
	return fd;
fail:
	close(fd); /* @close none ignored */
	return -1;
}

static void reap(void)
{
	int status;

	while (children > 0) {
		pid_t pid = waitpid(-1, &status, WNOHANG); /* @waitpid all */
		if (pid <= 0)
			break;
		children--;
		if (WIFSIGNALED(status))
			log_line("child %d died of signal %d", (int)pid, WTERMSIG(status));
	}
}

static int serve(const char *root)
{
	struct sockaddr_in peer;
	struct conn *c = calloc(1, sizeof *c); /* @calloc none dereferenced */

	while (!stop) {
		socklen_t len = sizeof peer;
		c->fd = accept(listen_fd, (struct sockaddr *)&peer, &len); /* @accept all */
		if (c->fd < 0) {
			switch (errno) {
			case EINTR:
			case ECONNABORTED:
				continue;
			case EMFILE:
			case ENFILE:
				usleep(50000); /* @usleep none ignored */
				continue;
			default:
				free(c);
				return -1;
			}
		}
		inet_ntop(AF_INET, &peer.sin_addr, c->peer, sizeof c->peer); /* @inet_ntop none ignored */
		if (fork() == 0) { /* @fork none used/ignored */
			int rc = conn_serve(c, root);
			_exit(rc ? 1 : 0);
		}
		children++;
		close(c->fd); /* @close none ignored */
		reap();
	}
	free(c);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa;

	if (argc < 3)
		errx(2, "usage: httpd ADDRESS ROOT [LOG]");
	if (log_open(argc > 3 ? argv[3] : "httpd.log") != 0)
		err(1, "cannot open the log");
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_term;
	if (sigaction(SIGTERM, &sa, NULL) == -1) /* @sigaction all */
		err(1, "sigaction");
	signal(SIGPIPE, SIG_IGN); /* @signal none ignored */
	listen_fd = listen_on(argv[1], 8080);
	if (listen_fd < 0)
		err(1, "cannot listen on %s", argv[1]);
	if (serve(argv[2]) < 0)
		err(1, "accept");
	if (log_rotate(argc > 3 ? argv[3] : "httpd.log"))
		warn("cannot rotate");
	return 0;
}

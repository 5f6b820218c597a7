/* SPDX-License-Identifier: Apache-2.0 */
/* A relay between two descriptors: results in switches, loops that retry, and writes that may be short. */
/* flags: -D_FORTIFY_SOURCE=2 -fno-plt */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile sig_atomic_t stop;
static long lost, moved;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

/* A switch whose default takes the good case. */
static NOINLINE int pump(int from, int to)
{
	char buffer[4096];
	ssize_t n = read(from, buffer, sizeof buffer); /* @read all */

	switch (n) {
	case -1:
		return errno == EINTR ? 1 : -1;
	case 0:
		return 0;
	default:
		break;
	}
	for (ssize_t done = 0; done < n;) {
		ssize_t k = write(to, buffer + done, (size_t)(n - done)); /* @write all */

		if (k < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		done += k;
	}
	moved += n;
	return 1;
}

/* The switch knows the end and a single byte; the error goes with the rest. */
static NOINLINE int peek(int fd, char bytes[16])
{
	switch (recv(fd, bytes, 16, MSG_PEEK)) { /* @recv none used/ignored */
	case 0:
		return 'e';
	case 1:
		return 'b';
	default:
		return 'm';
	}
}

/* Only the length is told: an error shortens it. */
static NOINLINE size_t spill(int fd, const char *text)
{
	size_t left = strlen(text);

	do {
		ssize_t k = write(fd, text, left); /* @write none used */

		text += k;
		left -= (size_t)k;
	} while (left);
	return left;
}

static NOINLINE int wait_child(pid_t child)
{
	int status;
	pid_t got;

	do
		got = waitpid(child, &status, 0); /* @waitpid all */
	while (got < 0 && errno == EINTR);
	return got < 0 ? -1 : WEXITSTATUS(status);
}

/* What is no EINTR ends it; what is goes round. */
static NOINLINE int pause_for(long milliseconds)
{
	struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};

	while (nanosleep(&t, &t) != 0) /* @nanosleep all */
		if (errno != EINTR)
			return -errno;
	return 0;
}

static NOINLINE int accept_one(int listener)
{
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC); /* @accept4 all */

		if (fd >= 0)
			return fd;
		switch (errno) {
		case EINTR:
		case ECONNABORTED:
			continue;
		case EMFILE:
		case ENFILE:
			lost++;
			return -EAGAIN;
		default:
			return -errno;
		}
	}
}

static NOINLINE int listen_on(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* @socket all */
	int one = 1;

	if (!~fd)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one); /* @setsockopt none ignored */
	if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 8)) { /* @bind all; @listen all */
		int saved = errno;

		close(fd); /* @close none ignored */
		errno = saved;
		return -1;
	}
	return fd;
}

/* A result that counts: -1 is more than nothing to an unsigned number. */
static NOINLINE unsigned ready(struct pollfd *list, unsigned n)
{
	unsigned count = (unsigned)poll(list, n, 100); /* @poll none used */

	return count > 0 ? list[0].revents : 0;
}

static NOINLINE int shut(int fd)
{
	int rc = shutdown(fd, SHUT_WR); /* @shutdown all */

	if (rc < 0 && errno != ENOTCONN)
		perror("shutdown");
	rc = close(fd); /* @close some missing=EIO */
	if (rc < 0 && errno == EINTR)
		lost++;
	return fd;
}

/* The ternary makes a truth of it, and the caller looks at that. */
static NOINLINE int made_pipe(int ends[2])
{
	return pipe2(ends, O_CLOEXEC) == 0 ? 1 : 0; /* @pipe2 all */
}

/* As above, and nobody looks. */
static NOINLINE int made_blocking(int fd)
{
	return fcntl(fd, F_SETFL, 0) == 0 ? 1 : 0; /* @fcntl any */
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	int ends[2], listener, rc, fd;
	char bytes[16];

	sigaction(SIGTERM, &action, NULL); /* @sigaction none ignored */
	if (!made_pipe(ends))
		return 1;
	made_blocking(ends[0]);
	listener = listen_on(argc > 1 ? atoi(argv[1]) : 7000); /* @atoi/strtol any */
	if (listener < 0)
		return 1;
	fd = accept_one(listener);
	if (fd < 0)
		return 2;
	printf("%c %zu\n", peek(fd, bytes), spill(fd, argv[0])); /* @printf none ignored */
	while ((rc = pump(fd, ends[1])) > 0 && !stop)
		if (pause_for(10) < 0)
			break;
	struct pollfd p = {fd, POLLIN, 0};
	printf("%u %d\n", ready(&p, 1), wait_child(argc)); /* @printf none ignored */
	shut(fd);
	return rc < 0 || (lost && moved);
}

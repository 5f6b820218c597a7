/* SPDX-License-Identifier: Apache-2.0 */
/* A careless file server: unsigned results, truth taken for success, wrong constants. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct session {
	int control;
	unsigned data;
	char user[32], folder[512];
	uint64_t sent, received;
};

static const char *root = "/srv/ftp";

/* -1 is never less than zero here. */
static int receive(struct session *s, char *buf, size_t room)
{
	size_t n = read(s->control, buf, room - 1); /* @read none used/dereferenced */

	if (n < 0)
		return -1;
	buf[n] = '\0';
	return 0;
}

/* Unsigned, and yet right: a failure is larger than any answer. */
static int receive_packet(struct session *s, char *buf, unsigned room)
{
	size_t n = recv((int)s->data, buf, room, 0); /* @recv all */

	if (n > room)
		return -1;
	s->received += n;
	return 0;
}

static int open_data(struct session *s, const struct sockaddr_in *to)
{
	s->data = (unsigned)socket(AF_INET, SOCK_STREAM, 0); /* @socket none used */
	if (s->data < 0)
		return -1;
	if (connect((int)s->data, (const struct sockaddr *)to, sizeof *to) != 0) /* @connect all */
		return -1;
	return 0;
}

/* Any descriptor but 0 is taken, -1 too. */
static long send_file(struct session *s, const char *path)
{
	char block[2048];
	int fd = open(path, O_RDONLY), n; /* @open none used */
	long blocks = 0;

	if (fd) {
		while ((n = read(fd, block, sizeof block)) != 0) { /* @read none used */
			s->sent += (uint64_t)write((int)s->data, block, (size_t)n); /* @write none used */
			if (++blocks > 1 << 20)
				break;
		}
		close(fd); /* @close none ignored */
	}
	return blocks;
}

static int store_file(struct session *s, const char *path)
{
	char block[2048];
	int fd, n;

	if ((fd = open(path, O_WRONLY | O_CREAT, 0644)) == 0) /* @open none used */
		return -1;
	while ((n = (int)recv((int)s->data, block, sizeof block, 0)) >= 1) { /* @recv all */
		s->received += (uint64_t)n;
		write(fd, block, (size_t)n); /* @write none ignored */
	}
	return close(fd) < 0 ? 426 : 226; /* @close all */
}

static void list_link(struct session *s, const char *path)
{
	char target[256];
	int n;

	n = readlink(path, target, sizeof target); /* @readlink none used/dereferenced */
	target[n] = '\0';
	s->sent += strlen(target);
	send(s->control, target, strlen(target), 0); /* @send none ignored */
}

/* A reply; -1 of the format goes out as a length. */
static void reply(struct session *s, int code, const char *text)
{
	char line[600];
	int n = snprintf(line, sizeof line, "%d %s\r\n", code, text); /* @snprintf none used */

	s->sent += (uint64_t)write(s->control, line, (size_t)n); /* @write none used */
}

static int change_folder(struct session *s, const char *to)
{
	if (chdir(to) == 1) /* @chdir none used/ignored */
		return 550;
	getcwd(s->folder, sizeof s->folder); /* @getcwd none ignored */
	return 250;
}

static int greet(struct session *s)
{
	struct sockaddr_in me;
	socklen_t len = sizeof me;

	if (getsockname(s->control, (struct sockaddr *)&me, &len) == -1) /* @getsockname all */
		return -1;
	return ntohs(me.sin_port);
}

static int command(struct session *s, char *line)
{
	char *arg = strchr(line, ' ');
	int code = 500;

	if (!arg)
		return 500;
	*arg++ = '\0';
	arg[strcspn(arg, "\r\n")] = '\0';
	if (!strcmp(line, "CWD"))
		code = change_folder(s, arg);
	else if (!strcmp(line, "RETR"))
		code = send_file(s, arg) > 0 ? 226 : 550;
	else if (!strcmp(line, "STOR"))
		code = store_file(s, arg);
	else if (!strcmp(line, "DELE"))
		code = unlink(arg) ? 550 : 250; /* @unlink all */
	else if (!strcmp(line, "MKD"))
		code = mkdir(arg, 0777) < 0 ? 550 : 257; /* @mkdir all */
	else if (!strcmp(line, "RNFR"))
		rename(arg, "renamed"); /* @rename none ignored */
	else if (!strcmp(line, "LINK"))
		list_link(s, arg);
	return code;
}

int main(int argc, char **argv)
{
	struct session *s = malloc(sizeof *s); /* @malloc/calloc none dereferenced */
	struct sockaddr_in to = { .sin_family = AF_INET };
	char line[512];

	memset(s, 0, sizeof *s);
	s->control = argc > 1 ? 3 : 0;
	chroot(root); /* @chroot none ignored */
	if (greet(s) < 0)
		err(1, "no socket");
	inet_aton(argv[argc - 1], &to.sin_addr); /* @inet_aton none ignored */
	if (open_data(s, &to) < 0 || receive_packet(s, line, sizeof line) < 0)
		err(1, "data");
	while (receive(s, line, sizeof line) == 0)
		reply(s, command(s, line), s->folder);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A recorder that copies, grows and moves things: results that are compared with other values, not with constants. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct tape {
	char *base, *at;
	size_t room;
	int fd;
};

/* --- new values: to be equal to another one, or not, is no question of failure --- */

APART void tape_grow(struct tape *t)
{
	char *p = realloc(t->base, t->room * 2); /* @realloc none dereferenced */

	if (p != t->base) {
		t->at = p + (t->at - t->base);
		t->base = p;
	}
	t->at[0] = 1;
	t->room *= 2;
}

APART int tape_grow_well(struct tape *t)
{
	char *old = t->base, *p = realloc(old, t->room * 2); /* @realloc all */

	if (!p)
		return -1;
	if (p != old)
		t->at = p + (t->at - old);
	t->base = p;
	t->room *= 2;
	return 0;
}

APART char *own_name(char *old)
{
	char *s = strdup(old); /* @strdup none dereferenced */

	if (s != old)
		s[0] = 'x';
	return s;
}

APART int open_as(const char *path, int want)
{
	int fd = open(path, O_WRONLY); /* @open none used */

	if (fd != want) {
		if (dup2(fd, want) != want) /* @dup2 all */
			perror(path);
		close(fd); /* @close any */
	}
	return 0;
}

/* --- values that the caller knows before --- */

APART int redirect(int fd)
{
	if (dup2(fd, STDOUT_FILENO) != STDOUT_FILENO) /* @dup2 all */
		return -1;
	if (dup3(fd, 7, O_CLOEXEC) == 7) /* @dup3 all */
		return 0;
	return -1;
}

APART int redirect_input(int fd)
{
	if (dup2(fd, STDIN_FILENO)) /* @dup2 all */
		return -1;
	return 0;
}

APART int redirect_wrong(int fd)
{
	if (dup2(fd, 5) == 0) /* @dup2 none used/ignored */
		return 1;
	return puts("moved") < 0; /* @puts any */
}

APART int rewind_to(int fd, off_t to)
{
	if (lseek(fd, 512, SEEK_SET) != 512) /* @lseek all */
		return -1;
	if (lseek(fd, to, SEEK_SET) != to) /* @lseek all */
		return -1;
	return 0;
}

APART int map_at(void *where, size_t n)
{
	void *p = mmap(where, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0); /* @mmap all */

	return p != where ? -1 : 0;
}

APART int reopen_input(const char *path)
{
	if (freopen(path, "r", stdin) != stdin) /* @freopen all */
		return -1;
	return 0;
}

APART int wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child) /* @waitpid all */
		return -1;
	return status;
}

APART int first_line(char *line, int n, FILE *f)
{
	if (fgets(line, n, f) != line) /* @fgets all */
		return -1;
	return 0;
}

/* --- counts: -1 is the largest of numbers without a sign --- */

APART int put_unsigned(int fd, const char *b, size_t n)
{
	if (write(fd, b, n) < n) { /* @write none used/ignored */
		perror("write");
		return -1;
	}
	return 0;
}

APART int put_signed(int fd, const char *b, ssize_t n)
{
	if (write(fd, b, n) < n) { /* @write all */
		perror("write");
		return -1;
	}
	return 0;
}

APART int put_all(int fd, const char *b, size_t n)
{
	if (write(fd, b, n) != n) { /* @write all */
		perror("write");
		return -1;
	}
	return 0;
}

APART int send_text(int fd, const char *text)
{
	if (send(fd, text, strlen(text), 0) < strlen(text)) { /* @send none used/ignored */
		perror("send");
		return -1;
	}
	return 0;
}

APART int get_items(FILE *f, int *items, size_t n)
{
	if (fread(items, sizeof *items, n, f) < n) /* @fread all */
		return -1;
	return items[0];
}

APART int fill(int fd, char *b, size_t n)
{
	size_t got = read(fd, b, n); /* @read none used */

	if (got < n)
		b[got] = 0;
	return b[0];
}

APART int longer_than(int fd, char *b, size_t n, ssize_t least)
{
	if (read(fd, b, n) >= least) /* @read all */
		return b[0];
	return -1;
}

/* --- a result that is compared with what another call made of it --- */

APART int copy_once(int in, int out)
{
	char b[4096];
	ssize_t n = read(in, b, sizeof b); /* @read none used */

	if (write(out, b, n) != n) { /* @write all */
		perror("write");
		return 1;
	}
	return 0;
}

APART int copy_stepwise(int in, int out)
{
	char b[4096];
	ssize_t n = read(in, b, sizeof b), done; /* @read none used */

	done = write(out, b, n); /* @write all */
	if (done != n)
		return 1;
	return 0;
}

APART int copy_checked(int in, int out)
{
	char b[4096];
	ssize_t n = read(in, b, sizeof b); /* @read all */

	if (n < 0 || write(out, b, n) != n) { /* @write all */
		perror("copy");
		return 1;
	}
	return 0;
}

APART int compare_files(int x, int y)
{
	char a[512], b[512];
	ssize_t n = read(x, a, sizeof a); /* @read any */

	if (read(y, b, sizeof b) != n) /* @read any */
		return 1;
	return memcmp(a, b, n);
}

/* --- errors that only one errno makes matter --- */

APART int end_of(FILE *f)
{
	if (fclose(f) < 0 && errno == EINTR) { /* @fclose some */
		fputs("interrupted\n", stderr); /* @fputs/fwrite any */
		return 1;
	}
	return 0;
}

APART int flush_of(FILE *f)
{
	if (fflush(f) != 0 && errno == ENOSPC) { /* @fflush some missing=EIO */
		fputs("full\n", stderr); /* @fputs/fwrite any */
		return 1;
	}
	return 0;
}

APART int put_text(FILE *f, const char *text)
{
	if (fputs(text, f) < 0 && errno == ENOSPC) { /* @fputs some */
		fputs("full\n", stderr); /* @fputs/fwrite any */
		return 1;
	}
	return 0;
}

APART int flush_but(FILE *f)
{
	if (fflush(f) != 0 && errno != EINTR) { /* @fflush all */
		perror("flush");
		return 1;
	}
	return 0;
}

/* --- lengths: all that there is room for is too long, and -1 is not that --- */

APART int link_of(const char *path, char *b, ssize_t room)
{
	ssize_t n = readlink(path, b, room); /* @readlink none used */

	if (n == room)
		return -1;
	b[n] = 0;
	return 0;
}

APART int short_link_of(const char *path, char b[100])
{
	ssize_t n = readlink(path, b, 100); /* @readlink none used */

	if (n == 100)
		return -1;
	b[n] = 0;
	return 0;
}

APART int known_link_of(const char *path, char *b, size_t room)
{
	struct stat st;

	if (lstat(path, &st) < 0 || st.st_size >= room) /* @lstat all */
		return -1;
	if (readlink(path, b, room) != st.st_size) /* @readlink all */
		return -1;
	b[st.st_size] = 0;
	return 0;
}

int main(int argc, char **argv)
{
	struct tape t = { .base = calloc(1, 64), .room = 64, .fd = argc }; /* @calloc all */
	char line[100];

	if (!t.base)
		return 1;
	t.at = t.base;
	tape_grow(&t);
	if (tape_grow_well(&t) < 0 || open_as(argv[1], argc) < 0)
		return 1;
	if (redirect(argc) < 0 || redirect_input(argc) < 0 || rewind_to(argc, argc) < 0)
		return 1;
	if (redirect_wrong(argc) || map_at(argv, argc) < 0 || reopen_input(argv[1]) < 0 || wait_for(argc) < 0)
		return 1;
	if (first_line(line, sizeof line, stdin) < 0 || put_unsigned(1, line, argc) < 0 || put_signed(1, line, argc) < 0)
		return 1;
	if (put_all(1, line, argc) < 0 || send_text(1, line) < 0 || get_items(stdin, (int *)line, argc) < 0)
		return 1;
	if (fill(0, line, argc) < 0 || longer_than(0, line, argc, argc / 2) < 0)
		return 1;
	if (copy_once(0, 1) || copy_stepwise(0, 1) || copy_checked(0, 1) || compare_files(0, 3))
		return 1;
	flush_of(stdout);
	if (flush_but(stdout) || put_text(stdout, line))
		return 1;
	if (link_of(argv[1], line, argc) || short_link_of(argv[1], line) || known_link_of(argv[1], line, argc))
		return 1;
	return end_of(stdout) || own_name(argv[0])[0] == 'x';
}

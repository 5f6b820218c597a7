/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that are put aside before somebody looks, or that nobody looks at though it seems so: variables behind
 * pointers, tests without a consequence, slots of the stack that compilers use twice, elements that are written by
 * name.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static long total;

static NOINLINE void note(const char *what) { total += what[0]; }
static NOINLINE void touch(int *at) { if (total == -77) *at = 0; }

/* Either way leads to the same place. */
static NOINLINE void test_nothing(const char *from, const char *to)
{
	if (rename(from, to) < 0) { /* @rename none ignored */
	}
	if (link(from, to) < 0) /* @link all */
		note(from);
}

/* A variable behind a pointer of which nothing else is known but that. */
static NOINLINE void set_behind(int fd)
{
	int rc = 0, *at = &rc;

	*at = fdatasync(fd); /* @fdatasync all */
	if (rc)
		note("sync");
}

static NOINLINE void set_behind_unasked(int fd)
{
	int rc, *at = &rc;

	*at = fsync(fd); /* @fsync none ignored/used */
	touch(&rc);
}

static NOINLINE void set_either(int fd, int which)
{
	int rc = 0, other = 0, *at = which ? &rc : &other;

	*at = ftruncate(fd, 0); /* @ftruncate none ignored/used */
	if (which == 7 && total == 3)
		note("other");
	touch(&other);
	touch(&rc);
}

/*
 * Variables whose lives do not meet share a slot; compilers write to it by its name, or by a register that points to
 * it.
 */
struct file {
	const char *name;
	int fd, flags;
	void *buffer;
};

static NOINLINE void open_file(struct file *f)
{
	f->fd = open(f->name, O_RDWR); /* @open all */
}

static NOINLINE void make_file(struct file *f)
{
	f->fd = creat(f->name, 0600); /* @creat none used */
}

static NOINLINE void find_folder(const char *path, DIR **ret)
{
	*ret = opendir(path); /* @opendir all */
}

static void remove_seen(const char *path)
{
	volatile int rc = unlink(path); /* @unlink all */

	if (rc == -1)
		note(path);
}

static void remove_unseen(const char *path)
{
	volatile int rc = rmdir(path); /* @rmdir none ignored/used */

	(void)rc;
}

static void open_seen(const char *path)
{
	struct file f = {path, -2, 0, NULL};

	open_file(&f);
	if (f.fd == -1)
		note(f.name);
	else
		total += f.fd;
}

static void make_unseen(const char *path)
{
	struct file f = {path, 0, 0, NULL};

	make_file(&f);
	total += f.fd;
}

static void cut_all(char **paths, int n)
{
	int rc[8];

	for (int i = 0; i < n && i < 8; i++)
		rc[i] = truncate(paths[i], 0); /* @truncate all */
	for (int i = 0; i < n && i < 8; i++)
		if (rc[i] < 0)
			note(paths[i]);
}

static void copy_all(int n, int fd)
{
	int fds[8] = {0};

	for (int i = 0; i < n && i < 8; i++)
		fds[i] = fcntl(fd, F_DUPFD, i); /* @fcntl none used */
	for (int i = 0; i < n && i < 8; i++)
		total += fds[i];
}

static void walk(const char *path)
{
	DIR *d;

	find_folder(path, &d);
	if (d)
		closedir(d); /* @closedir none ignored */
	else
		note(path);
}

/* Elements that are written by their names, and looked at by a loop; and members that only lie beside what is. */
enum { FIRST, SECOND, THIRD, SLOTS };
static int slots[SLOTS], extra;
static struct pair {
	int fd, copy;
} pairs[2];

static NOINLINE int open_slots(const char *path, int fd)
{
	slots[FIRST] = openat(AT_FDCWD, path, O_RDONLY); /* @openat all */
	slots[SECOND] = eventfd(0, EFD_CLOEXEC); /* @eventfd all */
	slots[THIRD] = epoll_create1(EPOLL_CLOEXEC); /* @epoll_create1 all */
	for (int i = 0; i < SLOTS; i++)
		if (slots[i] < 0) {
			note(path);
			return -1;
		}
	extra = dup(fd); /* @dup none used */
	return 0;
}

static NOINLINE int open_pairs(const char *path, int fd)
{
	pairs[0].fd = inotify_init1(0); /* @inotify_init1 all */
	pairs[0].copy = dup2(fd, 7); /* @dup2 none used/ignored */
	pairs[1].fd = inotify_init1(0); /* @inotify_init1 all */
	pairs[1].copy = dup3(fd, 8, 0); /* @dup3 none used/ignored */
	for (int i = 0; i < 2; i++)
		if (pairs[i].fd < 0) {
			note(path);
			return -1;
		}
	return 0;
}

static NOINLINE long sum(void)
{
	long n = extra;

	for (int i = 0; i < SLOTS; i++)
		n += slots[i];
	return n + pairs[0].copy + pairs[1].copy;
}

/* A function that is chosen, and called by a pointer after others of the library, which do not get it. */
static int hide(int fd, const char *path)
{
	if (total == 5)
		return chmod(path, 0600); /* @chmod all */
	return fchmod(fd, 0600); /* @fchmod all */
}

static int show(int fd, const char *path)
{
	return lseek(fd, path[0], SEEK_CUR) == -1 ? -1 : 0; /* @lseek all */
}

static inline int each(int fd, int (*fn)(int, const char *))
{
	char name[64];
	ssize_t n;

	while ((n = read(fd, name, sizeof name - 1)) > 0) { /* @read all */
		name[n] = 0;
		if (fn(fd, name) != 0) {
			note(name);
			return -1;
		}
	}
	return (int)n;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	test_nothing(argv[1], argv[2]);
	set_behind(argc);
	set_behind_unasked(argc);
	set_either(argc, argc);
	remove_seen(argv[1]);
	remove_unseen(argv[2]);
	open_seen(argv[1]);
	make_unseen(argv[2]);
	cut_all(argv, argc);
	copy_all(argc, argc);
	walk(argv[3]);
	if (open_slots(argv[1], argc) < 0 || open_pairs(argv[2], argc) < 0)
		return 1;
	total += sum();
	if (each(argc, argv[1][0] == 'h' ? hide : show) < 0)
		return 1;
	return total > 100;
}

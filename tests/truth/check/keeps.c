/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small things between a call and its check: functions that leave registers alone, tables of functions that lie beside
 * each other, arrays of the whole program, and answers that are no errors.
 */
/* flags: -D_GNU_SOURCE */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static unsigned calls, worst;
static const char *last;

/* gcc knows which registers these change, and keeps a result in another one, or in the same one. */
static NOINLINE void count(void) { calls++; }

static NOINLINE void note(const char *what) { last = what; }

static NOINLINE void grow(unsigned by)
{
	if (by > worst)
		worst = by;
	count();
}

static NOINLINE int open_counted(const char *path)
{
	int fd = open(path, O_RDONLY); /* @open all */

	count();
	if (fd == -1)
		return -1;
	return fd;
}

static NOINLINE int open_counted_only(const char *path)
{
	int fd = open(path, O_RDONLY); /* @open none used */

	count();
	return dup(fd); /* @dup all */
}

static NOINLINE char *copy_noted(const char *text)
{
	char *p = strdup(text); /* @strdup all */

	note(text);
	if (!p)
		return NULL;
	p[0] = '*';
	return p;
}

static NOINLINE long read_grown(int fd, char *to, size_t room)
{
	ssize_t n = read(fd, to, room); /* @read all */

	grow((unsigned)room);
	return n < 0 ? 0 : n;
}

static NOINLINE void remove_counted(const char *path)
{
	unlink(path); /* @unlink none ignored */
	count();
}

/* Limits that are negative numbers are answers to other questions. */
static NOINLINE long processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN); /* @sysconf all */

	return n == -1 ? 1 : n;
}

static NOINLINE size_t path_length(char *to, size_t room)
{
	size_t n = confstr(_CS_PATH, to, room); /* @confstr all */

	return n == 0 || n > room ? 0 : n - 1;
}

static NOINLINE long ticks(void)
{
	struct tms t;
	clock_t now = times(&t); /* @times all */

	return now == (clock_t)-1 ? 0 : (long)now;
}

static NOINLINE int set_time(const struct timeval *tv)
{
	if (settimeofday(tv, NULL) > 0) /* @settimeofday none used/ignored */
		return -1;
	return 0;
}

static NOINLINE int set_mode(int dir, const char *path)
{
	if (fchmodat(dir, path, 0600, 0) == 1) /* @fchmodat none used/ignored */
		return -1;
	return 0;
}

static void *idle(void *argument) { return argument; }

static NOINLINE int start(pthread_t *t)
{
	errno = 0;
	pthread_create(t, NULL, idle, NULL); /* @pthread_create none ignored */
	return errno ? -1 : 0;
}

/* Two tables, one behind the other: what is asked of a member is asked of that member. */
struct ops {
	int (*make)(const char *);
	int (*drop)(const char *);
	int (*hide)(const char *, const char *);
};

static int make_folder(const char *path) { return mkdir(path, 0700); } /* @mkdir all */
static int drop_folder(const char *path) { return rmdir(path); } /* @rmdir none ignored/returned */
static int hide_folder(const char *path, const char *to) { return rename(path, to); } /* @rename all */
static int make_pipe(const char *path) { return mkfifo(path, 0600); } /* @mkfifo all */
static int drop_pipe(const char *path) { return remove(path); } /* @remove none ignored/returned */
static int hide_pipe(const char *path, const char *to) { return link(path, to); } /* @link all */

static const struct ops folders = {make_folder, drop_folder, hide_folder};
static const struct ops pipes = {make_pipe, drop_pipe, hide_pipe};

static NOINLINE int work(const struct ops *o, const char *path, const char *to)
{
	if (o->make(path) < 0)
		return -1;
	if (o->hide(path, to) != 0)
		return -2;
	o->drop(path);
	return 0;
}

/* An array of the whole program, filled by one loop and looked at by another one. */
static char *blocks[8];
static void *maps[6];

static NOINLINE void fill(size_t n)
{
	for (int i = 0; i < 8; i++)
		blocks[i] = malloc(n << i); /* @malloc all */
}

static NOINLINE int is_filled(void)
{
	for (int i = 0; i < 8; i++)
		if (!blocks[i])
			return 0;
	return 1;
}

static NOINLINE void map_all(size_t n)
{
	for (int i = 0; i < 6; i++)
		maps[i] = mmap(NULL, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap none used */
}

static NOINLINE int is_mapped(void)
{
	for (int i = 0; i < 6; i++)
		if (maps[i] == NULL)
			return 0;
	return 1;
}

/* Without its upper bits, an error is a number like others. */
static NOINLINE int close_many(void)
{
	long n = sysconf(_SC_OPEN_MAX); /* @sysconf none used */
	int closed = 0;

	for (int fd = 3; fd < (int)(n & 0xffff); fd++)
		closed += fcntl(fd, F_GETFD) >= 0; /* @fcntl all */
	return closed;
}

/* What is put behind a pointer is nobody's if the function crashes before it returns. */
struct text {
	char *at;
	size_t length;
};

static NOINLINE void make_text(struct text *t, const char *from, size_t n)
{
	t->at = malloc(n + 1); /* @malloc none dereferenced */
	t->length = n;
	for (size_t i = 0; i < n; i++)
		t->at[i] = from[i];
	t->at[n] = 0;
}

static NOINLINE int has_text(const struct text *t) { return t->at != NULL; }

/* What is opened gets the lowest descriptor, which was just closed. */
static NOINLINE int use_terminal(const char *tty)
{
	close(0); /* @close none ignored */
	if (open(tty, O_RDWR) != 0) /* @open all */
		return -1;
	close(1); /* @close none ignored */
	if (dup(0) != 1) /* @dup all */
		return -1;
	return 0;
}

static NOINLINE int use_other(const char *tty)
{
	if (open(tty, O_RDWR) != 0) /* @open none used/ignored */
		return -1;
	return 0;
}

/* A stream keeps its failure until it is told to forget it. */
static NOINLINE int put_kept(FILE *f, const char *text)
{
	fprintf(f, "%s:", text); /* @fprintf all */
	return ferror(f) ? -1 : 0; /* @ferror any */
}

static NOINLINE int put_cleared(FILE *f, const char *text)
{
	fprintf(f, "%s;", text); /* @fprintf none ignored */
	clearerr(f); /* @clearerr any */
	return ferror(f) ? -1 : 0; /* @ferror any */
}

static NOINLINE int put_rewound(FILE *f, const char *text)
{
	fprintf(f, "%s!", text); /* @fprintf none ignored */
	if (calls > 1)
		rewind(f); /* @rewind any */
	return ferror(f) ? -1 : 0; /* @ferror any */
}

static NOINLINE int put_elsewhere(FILE *f, const char *text, const char *path)
{
	fprintf(f, "%s?", text); /* @fprintf none ignored */
	if (!freopen(path, "w", f)) /* @freopen all */
		note("nowhere");
	fprintf(f, "%s.", text); /* @fprintf all */
	return ferror(f) ? -1 : 0; /* @ferror any */
}

/* The other stream is cleared; this one is cleared before, and when it was asked. */
static NOINLINE int put_first(FILE *f, FILE *other, const char *text)
{
	clearerr(f); /* @clearerr any */
	fprintf(f, "%s,", text); /* @fprintf all */
	clearerr(other); /* @clearerr any */
	int bad = ferror(f); /* @ferror any */

	clearerr(f); /* @clearerr any */
	return bad ? -1 : 0;
}

/* Asked once, and never again. */
static NOINLINE void serve(FILE *f, const char *text)
{
	fprintf(f, "%s begins", text); /* @fprintf all */
	if (ferror(f)) /* @ferror any */
		exit(1);
	for (;;) {
		fprintf(f, "%s goes on", text); /* @fprintf none ignored */
		if (calls++ > 100)
			sleep(1); /* @sleep any */
	}
}

/* The answer goes nowhere, or only to people. */
static NOINLINE void put_unasked(FILE *f, const char *text)
{
	fprintf(f, "%s-", text); /* @fprintf none ignored */
	ferror(f); /* @ferror any */
}

static NOINLINE void put_printed(FILE *f, const char *text)
{
	fprintf(f, "%s+", text); /* @fprintf none ignored */
	int bad = ferror(f); /* @ferror any */

	fprintf(stderr, "%d %d", bad, 1); /* @fprintf none ignored */
}

/* What was not read is used before anybody asks, and the end of the file is no failure. */
static NOINLINE int get_used(FILE *f, char *to)
{
	struct {
		unsigned length;
		char name[60];
	} head;

	fread(&head, sizeof head, 1, f); /* @fread none ignored */
	memcpy(to, head.name, head.length);
	return ferror(f) ? -1 : 0; /* @ferror any */
}

static NOINLINE int get_counted(FILE *f)
{
	static int n[256];
	int c = fgetc(f); /* @fgetc/getc none used/dereferenced */

	n[c]++;
	return ferror(f) ? -1 : n[3]; /* @ferror any */
}

/* Not an element of the array, though it lies behind it. */
struct opened {
	int fds[2], log;
};

struct opened opened;

static NOINLINE void open_both(char **paths)
{
	for (int i = 0; i < 2; i++)
		opened.fds[i] = open(paths[i], O_RDONLY); /* @open all */
}

static NOINLINE void open_log(const char *path)
{
	opened.log = open(path, O_WRONLY); /* @open none used/ignored */
}

static NOINLINE int sum_opened(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		if (opened.fds[i] < 0)
			return -1;
		sum += opened.fds[i];
	}
	return sum;
}

static NOINLINE long say_opened(const struct opened *o) { return write(o->log, "x", 1) < 0; } /* @write all */

int main(int argc, char **argv)
{
	char buffer[256];
	pthread_t t;
	struct text text = {0};
	struct timeval tv = {.tv_sec = argc};
	const struct ops *o = argc > 3 ? &pipes : &folders;

	if (argc < 3)
		return 2;
	int fd = open_counted(argv[1]);
	char *p = copy_noted(argv[2]);
	if (fd < 0 || !p || open_counted_only(argv[1]) < 0)
		return 1;
	long n = read_grown(fd, buffer, sizeof buffer) + processors() + (long)path_length(buffer, sizeof buffer) + ticks();
	remove_counted(argv[2]);
	fill((size_t)argc);
	map_all((size_t)argc * 4096);
	if (!is_filled() || !is_mapped())
		return 1;
	make_text(&text, argv[1], 3);
	if (!has_text(&text))
		return 1;
	n += use_terminal(argv[1]) + use_other(argv[2]);
	n += put_kept(stderr, argv[1]) + put_cleared(stderr, argv[1]) + put_rewound(stderr, argv[1]);
	n += put_elsewhere(stderr, argv[1], argv[2]) + put_first(stderr, stdin, argv[1]);
	put_unasked(stderr, argv[1]);
	put_printed(stderr, argv[1]);
	n += get_used(stdin, buffer) + get_counted(stdin);
	open_both(argv + 1);
	open_log(argv[1]);
	n += sum_opened(argc) + say_opened(&opened);
	if (argc > 9)
		serve(stderr, argv[1]);
	n += set_time(&tv) + set_mode(AT_FDCWD, argv[1]) + start(&t) + work(o, argv[1], argv[2]) + close_many();
	return n > 100 || strcmp(last, p) == 0;
}

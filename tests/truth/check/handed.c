/* SPDX-License-Identifier: Apache-2.0 */
/* Results that others look at: who started a thread or walked a tree, who holds the object, who has the array. */
/* flags: -pthread */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* A table of commands behind zeros, with the name first, is no table of virtual functions. */
static long long counters[4] = {0};

static int make(const char *a) { return mkdir(a, 0755); } /* @mkdir all */
static int drop(const char *a) { return rmdir(a); } /* @rmdir all */

static const struct command {
	const char *name;
	int (*run)(const char *);
} commands[] = {{"make", make}, {"drop", drop}};

static NOINLINE int dispatch(const char *name, const char *arg)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].name, name)) {
			counters[i]++;
			return commands[i].run(arg) ? 1 : 0;
		}
	return 2;
}

/* What a thread stores in its task. */
struct task {
	pthread_t t;
	int fd;
	ssize_t got;
	char *buf;
};

static void *reader(void *arg)
{
	struct task *t = arg;
	t->buf = malloc(4096); /* @malloc all */
	t->got = pread(t->fd, t->buf, t->buf ? 4096 : 0, 0); /* @pread/pread64 all */
	return NULL;
}

static NOINLINE int run_readers(int fd, int n)
{
	struct task tasks[8];
	int bad = 0;
	for (int i = 0; i < n; i++) {
		tasks[i].fd = fd;
		if (pthread_create(&tasks[i].t, NULL, reader, &tasks[i])) /* @pthread_create all */
			exit(1);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(tasks[i].t, NULL); /* @pthread_join none ignored */
		if (tasks[i].buf == NULL || tasks[i].got < 0)
			bad++;
		free(tasks[i].buf);
	}
	return bad;
}

static void *opener(void *arg)
{
	struct task *t = arg;
	t->fd = open("handed.in", O_RDONLY); /* @open all */
	return NULL;
}

static NOINLINE int run_opener(struct task *t)
{
	if (pthread_create(&t->t, NULL, opener, t)) /* @pthread_create all */
		return -1;
	pthread_join(t->t, NULL); /* @pthread_join none ignored */
	return t->fd < 0 ? -1 : 0;
}

/* ... and nobody asks for. */
static void *sizer(void *arg)
{
	struct task *t = arg;
	t->got = lseek(t->fd, 0, SEEK_END); /* @lseek/lseek64 none used */
	return NULL;
}

static NOINLINE long run_sizers(int fd, int n)
{
	struct task *tasks = calloc((size_t)n, sizeof *tasks); /* @calloc all */
	long sum = 0;
	if (!tasks)
		return -1;
	for (int i = 0; i < n; i++) {
		tasks[i].fd = fd;
		if (pthread_create(&tasks[i].t, NULL, sizer, tasks + i)) /* @pthread_create all */
			exit(1);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(tasks[i].t, NULL); /* @pthread_join none ignored */
		sum += tasks[i].got;
	}
	free(tasks);
	return sum;
}

/* What a walk through a tree is told, it tells. */
static int remove_node(const char *path, const struct stat *st, int kind, struct FTW *w)
{
	(void)st;
	(void)w;
	if (kind == FTW_DP)
		return -1;
	return unlink(path); /* @unlink? all */
}

static NOINLINE int remove_tree(const char *path)
{
	if (nftw(path, remove_node, 16, FTW_DEPTH | FTW_PHYS) != 0) /* @nftw/nftw64 all */
		return -errno;
	return 0;
}

static int touch_node(const char *path, const struct stat *st, int kind, struct FTW *w)
{
	(void)st;
	(void)w;
	return kind == FTW_F ? chmod(path, 0644) : 0; /* @chmod none returned/ignored/used */
}

static NOINLINE void touch_tree(const char *path)
{
	nftw(path, touch_node, 16, FTW_PHYS); /* @nftw/nftw64 none ignored */
}

/* Given to one walk that is looked at and, chosen among others, to one that is not. */
static int own_node(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return lchown(path, 0, 0); /* @lchown none returned/ignored/used */
}

static NOINLINE int own_tree(const char *path)
{
	return nftw(path, own_node, 16, FTW_PHYS) != 0 ? -1 : 0; /* @nftw/nftw64 all */
}

static NOINLINE void visit_tree(const char *path, int own)
{
	nftw(path, own ? own_node : touch_node, 16, FTW_PHYS); /* @nftw/nftw64 none ignored */
}

/* An object that one function fills and another one looks at; the one in between only hands it on. */
struct context {
	int fd;
	FILE *log;
};

static NOINLINE void context_open(struct context *c, const char *path)
{
	c->fd = open(path, O_RDONLY); /* @open all */
	c->log = fopen("handed.log", "a"); /* @fopen all */
}

static NOINLINE struct context *context_new(const char *path)
{
	struct context *c = malloc(sizeof *c); /* @malloc all */
	if (!c)
		abort();
	context_open(c, path);
	return c;
}

static NOINLINE int context_usable(const struct context *c)
{
	return c->fd >= 0 && c->log != NULL;
}

/* Elements of an array behind a member. */
struct pool {
	int n, max, *fds, *old;
};

static NOINLINE int pool_fill(struct pool *p, char **paths)
{
	int bad = 0;
	for (p->n = 0; p->n < p->max; p->n++) {
		p->fds[p->n] = open(paths[p->n], O_RDONLY); /* @open all */
		p->old[p->n] = open(paths[p->n], O_WRONLY); /* @open none used/ignored */
		if (p->fds[p->n] < 0)
			bad++;
	}
	return bad;
}

/* One member of each element is set, and that one or another looked at; the index may begin at the member. */
struct entry {
	int state, rc;
	char *path;
};

struct list {
	int n;
	struct entry *entries;
};

static NOINLINE int list_enter(const struct list *l)
{
	int bad = 0;
	for (int i = 0; i < l->n; i++)
		l->entries[i].rc = chdir(l->entries[i].path); /* @chdir all */
	for (int i = 0; i < l->n; i++)
		if (l->entries[i].rc < 0)
			bad++;
	return bad;
}

static NOINLINE int list_cut(const struct list *l, char **paths)
{
	int bad = 0;
	for (int i = 0; i < l->n; i++)
		l->entries[i].rc = truncate(paths[i], 0); /* @truncate none ignored/used */
	for (int i = 0; i < l->n; i++)
		if (l->entries[i].state < 0)
			bad++;
	return bad;
}

/* To an unsigned number, -1 is more than was asked for. */
static NOINLINE int dump(int fd, const char *page)
{
	ssize_t n = pwrite(fd, page, 65536, 0); /* @pwrite/pwrite64 none ignored/used */
	return (size_t)n < 65536 ? -1 : 0;
}

static NOINLINE int dump_signed(int fd, const char *page)
{
	ssize_t n = pwrite(fd, page, 65536, 0); /* @pwrite/pwrite64 all */
	return n < 65536 ? -1 : 0;
}

/* Two differences at once. */
static NOINLINE int ended_well(pid_t pid)
{
	int status;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1; /* @waitpid all */
}

/* A copy of errno that nobody reads again. */
static NOINLINE int link_again(const char *from, const char *to)
{
	if (unlink(to) < 0) /* @unlink some missing=EPERM */
		switch (errno) {
		case EISDIR:
			return -1;
		case EROFS:
			exit(1);
		}
	return link(from, to); /* @link all */
}

int main(int argc, char **argv)
{
	struct task t = {0};
	struct pool p = {.max = argc};
	struct list l = {.n = argc};
	char page[65536] = {0};
	if (argc < 3)
		return 2;
	struct context *c = context_new(argv[1]);
	if (!context_usable(c) || dispatch(argv[1], argv[2]))
		return 1;
	p.fds = calloc((size_t)argc, sizeof *p.fds); /* @calloc all */
	p.old = calloc((size_t)argc, sizeof *p.old); /* @calloc all */
	if (!p.fds || !p.old || pool_fill(&p, argv))
		return 1;
	l.entries = calloc((size_t)argc, sizeof *l.entries); /* @calloc all */
	if (!l.entries || list_enter(&l) || list_cut(&l, argv))
		return 1;
	touch_tree(argv[1]);
	visit_tree(argv[1], argc > 3);
	if (own_tree(argv[1]))
		return 1;
	if (run_readers(0, argc) || run_opener(&t) || run_sizers(0, argc) < 0 || remove_tree(argv[2]))
		return 1;
	return dump(1, page) || dump_signed(1, page) || ended_well(argc) || link_again(argv[1], argv[2]);
}

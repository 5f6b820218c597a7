/* SPDX-License-Identifier: Apache-2.0 */
/* flags: -fno-pie */
/* link: -no-pie */
/* memory, queues, watches, patterns, conversions */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <iconv.h>
#include <mqueue.h>
#include <regex.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#define NI __attribute__((noinline))
static volatile long sink;
static void *volatile keep;

struct buf { char *p; size_t n; };
struct node { struct node *next; struct buf b; };

static NI int buf_grow(struct buf *b, size_t n)
{
	char *q = realloc(b->p, n); /* @realloc all */
	if (q == NULL) return -1;
	b->p = q;
	b->n = n;
	return 0;
}

static NI void buf_blind(struct buf *b, size_t n)
{
	b->p = realloc(b->p, n); /* @realloc none dereferenced/used */
	b->p[n - 1] = 'x';
}

static NI struct node *node_new(const char *s)
{
	struct node *x = malloc(sizeof *x); /* @malloc all */
	if (!x) return NULL;
	x->next = NULL;
	x->b.p = strdup(s); /* @strdup all */
	x->b.n = strlen(s);
	if (x->b.p == NULL) {
		free(x);
		return NULL;
	}
	return x;
}

static NI char *node_blind(const char *s)
{
	struct node *x = malloc(sizeof *x * 2); /* @malloc none dereferenced/used */
	x->next = NULL;
	x->b.n = strlen(s);
	keep = x;
	return (char *)x;
}

static NI void copy_blind(const char *s)
{
	char *d = malloc(strlen(s) + 9); /* @malloc none dereferenced/used */
	keep = strcpy(d, s);
}

static NI void maybe_deref(const char *s, int flag)
{
	char *d = strdup(s); /* @strdup none dereferenced/used */
	if (flag > 3)
		d[0] = '-';
	keep = d;
}

static NI void table(size_t n)
{
	long *t = calloc(n, sizeof *t); /* @calloc none dereferenced/used */
	t[n / 2] = 7;
	keep = t;
}

static NI int two(size_t n)
{
	char *a = malloc(n), *b = calloc(n, 2); /* @malloc all; @calloc all */
	keep = a;
	keep = b;
	if (a == NULL || b == NULL) {
		free(a);
		free(b);
		return -1;
	}
	return 0;
}

static NI int guard(char *p, size_t n)
{
	mprotect(p, n, PROT_READ); /* @mprotect none ignored */
	if (mlock(p, n) < 0 && errno == EPERM) return 1; /* @mlock some missing=ENOMEM */
	if (mlock(p, n + 1) && errno != ENOMEM) return 2; /* @mlock all */
	return munlock(p, n) == -1 ? 3 : 0; /* @munlock all */
}

static NI int shm(const char *n)
{
	int fd = shm_open(n, O_CREAT | O_EXCL | O_RDWR, 0600); /* @shm_open some missing=EACCES,EMFILE */
	if (fd < 0 && errno == EEXIST) return -1;
	ftruncate(fd, 4096); /* @ftruncate none ignored */
	return fd;
}

static NI int shm_ok(const char *n, struct buf *b)
{
	int rc = -1, fd = shm_open(n, O_RDWR, 0); /* @shm_open all */
	if (fd == -1) goto out;
	b->p = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0); /* @mmap all */
	if (b->p == (void *)-1) goto cls;
	rc = 0;
cls:
	close(fd); /* @close none ignored */
out:
	shm_unlink(n); /* @shm_unlink none ignored */
	return rc;
}

static NI int map_neg(size_t n)
{
	char *p = mmap(0, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap none used/dereferenced */
	if (!p) return -1;
	return p[0];
}

static NI int memfd(const char *n)
{
	int fd = memfd_create(n, 0); /* @memfd_create all */
	return fd < 0 ? -errno : fd;
}

static NI int queue(const char *n, const char *s)
{
	mqd_t q = mq_open(n, O_RDWR | O_NONBLOCK); /* @mq_open all */
	if (q == (mqd_t)-1) return -1;
	if (mq_send(q, s, strlen(s), 0) == -1 && errno == EAGAIN) return 1; /* @mq_send some missing=EMSGSIZE */
	mq_close(q); /* @mq_close none ignored */
	return 0;
}

static NI long queue_get(mqd_t q, char *b, size_t n)
{
	ssize_t r = mq_receive(q, b, n, NULL); /* @mq_receive some missing=EMSGSIZE */
	if (r < 0) {
		if (errno == EAGAIN) return 0;
		if (errno == EINTR) return 1;
	}
	return r + b[0];
}
static NI int queue_blind(const char *n)
{
	mqd_t q = mq_open(n, O_RDONLY | O_CREAT, 0600, NULL); /* @mq_open none used */
	if (!q) return 1;
	sink = q;
	mq_unlink(n); /* @mq_unlink none ignored */
	return 0;
}
static NI int sems(const char *n)
{
	sem_t *s = sem_open(n, O_CREAT, 0600, 1); /* @sem_open all */
	if (s == SEM_FAILED) return -1;
	if (sem_trywait(s) != 0) return 1; /* @sem_trywait all */
	sem_post(s); /* @sem_post none ignored */
	return 0;
}
static NI int sem_timed(sem_t *s, struct timespec *t)
{
	if (sem_timedwait(s, t) < 0 && errno == ETIMEDOUT) return 1; /* @sem_timedwait some missing=EINTR */
	while (sem_timedwait(s, t) == -1) /* @sem_timedwait all */
		if (errno != EINTR) return 2;
	return 0;
}
static NI int sem_never(const char *n)
{
	sem_t *s = sem_open(n, 0); /* @sem_open none used */
	if ((intptr_t)s == -1) return -1;
	keep = s;
	sem_unlink(n); /* @sem_unlink none ignored */
	return 0;
}
static NI int watch(const char *p)
{
	int w, i = inotify_init1(IN_CLOEXEC); /* @inotify_init1 all */
	if (i < 0) return -1;
	w = inotify_add_watch(i, p, IN_MODIFY); /* @inotify_add_watch some missing=ENOENT */
	if (w == -1 && errno == ENOSPC) return -2;
	inotify_rm_watch(i, w); /* @inotify_rm_watch none ignored */
	return i;
}
static NI int watch_blind(int i, const char *p)
{
	int w = inotify_add_watch(i, p, IN_CREATE); /* @inotify_add_watch none used */
	if (w == 0) return 1;
	sink = w;
	return 0;
}
static NI int event(unsigned n)
{
	uint64_t one = 1;
	int fd = eventfd(n, EFD_NONBLOCK); /* @eventfd all */
	if (fd >> 31) return -1;
	if (write(fd, &one, sizeof one) != sizeof one) return -2; /* @write all */
	return eventfd(n + 1, 0); /* @eventfd none used */
}
static NI int conv(const char *cs, char *in, size_t n)
{
	char o[64], *op = o;
	size_t on = sizeof o, r;
	iconv_t c = iconv_open("UTF-8", cs); /* @iconv_open all */
	if (c == (iconv_t)-1) return -1;
	r = iconv(c, &in, &n, &op, &on); /* @iconv some missing=EILSEQ */
	if (r == (size_t)-1 && errno == E2BIG) return 1;
	if (iconv(c, &in, &n, &op, &on) == (size_t)-1) return 2; /* @iconv all */
	if (iconv(c, NULL, NULL, &op, &on) < 0) return 3; /* @iconv none used */
	iconv_close(c); /* @iconv_close none ignored */
	return o[0];
}
static NI int conv_blind(const char *cs)
{
	iconv_t c = iconv_open(cs, "UTF-16"); /* @iconv_open none used */
	if (!c) return -1;
	keep = c;
	c = iconv_open(cs, "UTF-7"); /* @iconv_open some missing=ENOMEM */
	if (c == (iconv_t)-1 && errno == EINVAL) return -2;
	keep = c;
	return 0;
}
static NI int pattern(const char *re, const char *s)
{
	regex_t r;
	if (regcomp(&r, re, REG_EXTENDED) != 0) return -1; /* @regcomp all */
	return regexec(&r, s, 0, NULL, 0) == 0; /* @regexec any */
}
static NI int pattern_bad(const char *re)
{
	static regex_t r, q;
	if (regcomp(&r, re, 0) < 0) return -1; /* @regcomp none used */
	if (regcomp(&q, re, REG_ICASE) == REG_ESPACE) return -2; /* @regcomp some */
	return r.re_nsub;
}
static NI int globs(const char *p)
{
	glob_t g = { 0 };
	int rc = glob(p, 0, NULL, &g); /* @glob some missing=GLOB_NOSPACE */
	if (rc == GLOB_NOMATCH) return 0;
	if (glob(p, GLOB_APPEND, NULL, &g)) return -1; /* @glob all */
	if (glob(p, GLOB_APPEND | GLOB_MARK, NULL, &g) == -1) return -2; /* @glob none used */
	return g.gl_pathc;
}
static NI int entropy(unsigned char *b, size_t n)
{
	if (getrandom(b, n, 0) != (ssize_t)n) return -1; /* @getrandom all */
	getrandom(b, n, GRND_NONBLOCK); /* @getrandom none ignored */
	return getentropy(b, n) < 0 ? 1 : 0; /* @getentropy all */
}
static NI int sysv(key_t k)
{
	int q = msgget(k, IPC_CREAT | 0600), m = shmget(k, 4096, 0600), s = semget(k, 1, 0600); /* @msgget all; @shmget all; @semget all */
	if (q == -1 || m == -1 || s == -1) return -1;
	void *a = shmat(m, NULL, 0); /* @shmat all */
	if (a == (void *)-1) return -2;
	keep = a;
	if (shmdt(a) < 0) return -3; /* @shmdt all */
	msgctl(q, IPC_RMID, NULL); /* @msgctl none ignored */
	return msgsnd(q, "\1\0\0\0\0\0\0\0x", 1, 0) == 0 ? 0 : errno; /* @msgsnd all */
}
static NI int aligned(size_t n, size_t m)
{
	void *p = NULL, *q = aligned_alloc(64, n * 64); /* @aligned_alloc all */
	keep = q;
	if (posix_memalign(&p, 64, n) != 0) return -1; /* @posix_memalign all */
	keep = p;
	p = reallocarray(p, n, m); /* @reallocarray all */
	keep = p;
	if (p == NULL || q == NULL) return -2;
	return 0;
}
static NI int remap(void *p, size_t n)
{
	void *q = mremap(p, n, n * 2, MREMAP_MAYMOVE); /* @mremap all */
	if (q == MAP_FAILED) return errno == EAGAIN ? 1 : 2;
	return 0;
}

int main(int argc, char **argv)
{
	static sem_t s;
	struct timespec t = { argc, 0 };
	struct buf b = { NULL, 0 };
	char *p = argc > 1 ? argv[1] : argv[0], tmp[256];
	sink += sysv(argc) + aligned(argc, argc) + remap(tmp, argc);
	sink += buf_grow(&b, argc) + two(argc) + guard(p, argc) + shm(p) + shm_ok(p, &b) + map_neg(argc) + memfd(p) + queue(p, p);
	buf_blind(&b, argc);
	if (!node_new(p)) return 1;
	keep = node_blind(p);
	copy_blind(p);
	maybe_deref(p, argc);
	table(argc);
	sink += queue_get(argc, tmp, sizeof tmp) + queue_blind(p) + sems(p) + sem_timed(&s, &t) + sem_never(p) + watch(p);
	sink += watch_blind(argc, p) + event(argc) + conv(p, p, strlen(p)) + conv_blind(p) + pattern(p, p) + pattern_bad(p);
	return sink + globs(p) + entropy((unsigned char *)tmp, argc);
}

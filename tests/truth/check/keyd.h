/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the program keyd: a server that keeps secrets and hands them out over a local socket. */
#ifndef KEYD_H
#define KEYD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define KEYD_INLINE static inline __attribute__((always_inline))

enum kd_status { KD_OK = 0, KD_ENOKEY = -100, KD_EPROTO = -101, KD_ELIMIT = -102 };

struct kd_key {
	struct kd_key *next;
	char *name;
	unsigned char *secret;
	size_t len;
	time_t expires;
};

struct kd_buf {
	unsigned char *data;
	size_t len, cap;
	bool failed;
};

struct kd_ops {
	const char *name;
	int (*load)(const char *path);
	int (*save)(const char *path);
	int (*wipe)(const char *path);
};

/* keyd_io.c */
int kd_read_full(int fd, void *buf, size_t n);
int kd_write_full(int fd, const void *buf, size_t n);
int kd_open_retry(const char *path, int flags);
ssize_t kd_slurp(const char *path, char **ret);
int kd_random(void *buf, size_t n);
int kd_lock_file(const char *path, int *ret);
FILE *kd_stream(int fd, const char *mode);
int kd_sync_parent(const char *path);
void *kd_pages(size_t n);

/* keyd_store.c */
int kd_add(const char *name, const void *secret, size_t len);
struct kd_key *kd_find(const char *name);
size_t kd_count(void);
extern const struct kd_ops kd_file_ops, kd_dir_ops;

/* Never fails to its callers. */
KEYD_INLINE void *kd_xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (__builtin_expect(!p, 0)) {
		static const char text[] = "keyd: out of memory\n";
		_exit(write(2, text, sizeof text - 1) < 0 ? 112 : 111);
	}
	return p;
}

/* May fail, and leaves it to its callers. */
KEYD_INLINE char *kd_dup(const char *s)
{
	return s ? strdup(s) : NULL;
}

/* Closes without a change of errno. */
KEYD_INLINE int kd_close(int fd)
{
	int saved = errno, r = 0;

	if (fd >= 0 && close(fd) < 0) {
		r = -errno;
		errno = saved;
	}
	return r;
}

/* The buffer remembers that it has failed once: asked for at the end. */
KEYD_INLINE bool kd_failed(const struct kd_buf *b)
{
	return b->failed;
}

#endif

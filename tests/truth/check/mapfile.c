/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory: mappings that fail with MAP_FAILED, and people who test for NULL. */
/* flags: -fno-plt */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

struct map {
	unsigned char *data;
	size_t size;
	int fd;
};

static int map_open(struct map *m, const char *path)
{
	struct stat st;

	m->fd = open(path, O_RDWR); /* @open all */
	if (m->fd == -1)
		return -1;
	if (fstat(m->fd, &st) == -1) /* @fstat all */
		return -1;
	m->size = (size_t)st.st_size;
	m->data = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0); /* @mmap all */
	if (m->data == MAP_FAILED) {
		m->data = NULL;
		return -1;
	}
	madvise(m->data, m->size, MADV_SEQUENTIAL); /* @madvise none ignored */
	return 0;
}

/* Tests for NULL, which mmap never returns. */
static uint32_t checksum(const char *path, size_t size)
{
	int fd = open(path, O_RDONLY); /* @open none used */
	uint32_t sum = 0;
	unsigned char *p;

	p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0); /* @mmap none dereferenced */
	if (p == NULL)
		return 0;
	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + p[i];
	munmap(p, size); /* @munmap none ignored */
	close(fd); /* @close none ignored */
	return sum;
}

static int map_grow(struct map *m, size_t size)
{
	void *p;

	if (ftruncate(m->fd, (off_t)size)) /* @ftruncate all */
		return -1;
	p = mremap(m->data, m->size, size, MREMAP_MAYMOVE); /* @mremap all */
	if (p == (void *)-1)
		return -1;
	m->data = p;
	m->size = size;
	return 0;
}

static void *arena(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* @mmap all */

	return p == MAP_FAILED ? NULL : p;
}

static int *counters(key_t key)
{
	int id = shmget(key, 4096, IPC_CREAT | 0600); /* @shmget all */
	int *p;

	if (id < 0)
		return NULL;
	p = shmat(id, NULL, 0); /* @shmat none dereferenced */
	if (!p)
		return NULL;
	p[0]++;
	return p;
}

static char *guarded(size_t size)
{
	char *p = arena(size + 8192);

	if (!p)
		return NULL;
	if (mprotect(p, 4096, PROT_NONE) < 0 || /* @mprotect all */
	    mprotect(p + 4096 + size, 4096, PROT_NONE) < 0) { /* @mprotect all */
		munmap(p, size + 8192); /* @munmap none ignored */
		return NULL;
	}
	return p + 4096;
}

int main(int argc, char **argv)
{
	struct map m = { 0 };
	char *extra;
	int *hits;

	if (argc < 2)
		errx(2, "usage: mapfile FILE");
	if (map_open(&m, argv[1]))
		err(1, "%s", argv[1]);
	m.data[0] ^= (unsigned char)checksum(argv[1], m.size);
	if (map_grow(&m, m.size + 4096) < 0)
		err(1, "grow");
	if (msync(m.data, m.size, MS_SYNC) == -1) /* @msync all */
		err(1, "msync");
	extra = guarded(16384);
	if (!extra)
		errx(1, "no memory");
	memcpy(extra, m.data, m.size < 16384 ? m.size : 16384);
	hits = counters((key_t)0x4d55);
	if (hits && mlock(hits, 4096) != 0) /* @mlock all */
		warn("not locked");
	munmap(m.data, m.size); /* @munmap none ignored */
	return close(m.fd) ? 1 : 0; /* @close all */
}

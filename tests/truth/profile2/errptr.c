/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel manners: an error number inside a pointer, refusals in one line, references. */
#include "common.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline void *ERR_PTR(long e) { return (void *)e; }
static inline bool IS_ERR(const void *p) { return (unsigned long)p >= (unsigned long)-4095; }
static inline long PTR_ERR(const void *p) { return (long)p; }

struct inode {
	unsigned long ino;
	int links, refs;
	unsigned mode;
	struct inode *hash;
};

static struct inode *buckets[16];

/* errors: -EINVAL -ENOENT -ESTALE */
EXPORT struct inode *inode_get(unsigned long ino, unsigned generation)
{
	struct inode *i;

	if (!ino)
		return ERR_PTR(-EINVAL);
	for (i = buckets[ino & 15]; i; i = i->hash)
		if (i->ino == ino) {
			if (i->mode >> 16 != generation)
				return ERR_PTR(-ESTALE);
			i->refs++;
			return i;
		}
	return ERR_PTR(-ENOENT);
}

/* errors: -ENOMEM[@malloc] -EEXIST -EINVAL */
EXPORT struct inode *inode_new(unsigned long ino, unsigned mode)
{
	struct inode *i;

	if (!ino || !mode)
		return ERR_PTR(-EINVAL);
	for (i = buckets[ino & 15]; i; i = i->hash)
		if (i->ino == ino)
			return ERR_PTR(-EEXIST);
	i = malloc(sizeof(*i));
	if (!i)
		return ERR_PTR(-ENOMEM);
	*i = (struct inode){ .ino = ino, .refs = 1, .mode = mode, .hash = buckets[ino & 15] };
	buckets[ino & 15] = i;
	return i;
}

/* errors: -EINVAL -ENOENT -ESTALE -EMLINK */
EXPORT int inode_link(unsigned long ino, unsigned generation)
{
	struct inode *i = inode_get(ino, generation);

	if (IS_ERR(i))
		return (int)PTR_ERR(i);
	if (i->links >= 127)
		return -EMLINK;
	i->links++;
	return 0;
}

/* errors: 0 */
EXPORT struct inode *inode_get_or_null(unsigned long ino, unsigned generation)
{
	struct inode *i = inode_get(ino, generation);

	return IS_ERR(i) ? NULL : i;
}

/* errors: none */
EXPORT void inode_put(struct inode *i)
{
	if (--i->refs == 0 && i->links == 0)
		i->mode = 0;
}

static NI int may_write(const struct inode *i, unsigned who)
{
	unsigned want = who ? 0002 : 0200;

	return (i->mode & want) ? 0 : -EACCES;
}

static NI int may_delete(const struct inode *dir, const struct inode *i, unsigned who)
{
	int error = may_write(dir, who);

	if (error)
		return error;
	if (i->mode & 01000 && who)
		return -EPERM;
	return 0;
}

/* errors: -EACCES -EPERM -EBUSY -EISDIR */
EXPORT int inode_unlink(struct inode *dir, struct inode *i, unsigned who)
{
	int error = may_delete(dir, i, who);

	if (!error) {
		error = -EISDIR;
		if (!(i->mode & 040000)) {
			error = -EBUSY;
			if (i->refs < 2) {
				i->links--;
				error = 0;
			}
		}
	}
	return error;
}

/* errors: -EACCES -EFBIG */
EXPORT long inode_grow(struct inode *i, unsigned who, long by)
{
	long error = may_write(i, who);

	if (error)
		return error;
	if (by > 1l << 40)
		return -EFBIG;
	return by + (long)i->links * 512;
}

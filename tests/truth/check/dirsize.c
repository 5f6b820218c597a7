/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of folders: directory streams, fts-like walking, descriptors of folders. */
/* flags: -D_FILE_OFFSET_BITS=64 -fcf-protection=full -Wl,-z,now */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct total {
	unsigned long long bytes;
	unsigned long files, errors;
	int top;
};

static struct total all;

/* Goes on without folders that cannot be read, and counts them. */
static void walk(int parent, const char *name, struct total *t)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW); /* @openat all */
	struct dirent *d;
	struct stat st;
	DIR *dir;

	if (fd < 0) {
		t->errors++;
		return;
	}
	dir = fdopendir(fd); /* @fdopendir all */
	if (dir == NULL) {
		close(fd); /* @close none ignored */
		t->errors++;
		return;
	}
	for (;;) {
		errno = 0;
		d = readdir(dir); /* @readdir all */
		if (!d) {
			if (errno)
				t->errors++;
			break;
		}
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		if (fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) { /* @fstatat all; @dirfd any */
			t->errors++;
			continue;
		}
		t->bytes += (unsigned long long)st.st_size;
		t->files++;
		if (S_ISDIR(st.st_mode))
			walk(dirfd(dir), d->d_name, t); /* @dirfd any */
	}
	closedir(dir); /* @closedir none ignored */
}

/* The simple way: a folder that cannot be opened crashes it. */
static unsigned long count_entries(const char *path)
{
	DIR *dir = opendir(path); /* @opendir none dereferenced */
	unsigned long n = 0;

	while (readdir(dir)) /* @readdir all */
		n++;
	closedir(dir); /* @closedir none ignored */
	return n;
}

static int visit(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)path;
	if (kind == FTW_F && at->level > 0)
		all.bytes += (unsigned long long)st->st_blocks * 512;
	return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int list(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, by_name); /* @scandir all */

	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		puts(names[i]->d_name); /* @puts none ignored */
		free(names[i]);
	}
	free(names);
	return n;
}

static unsigned long long free_space(const char *path)
{
	struct statvfs v;

	return statvfs(path, &v) == 0 ? (unsigned long long)v.f_bavail * v.f_frsize : 0; /* @statvfs all */
}

static void empty(const char *path)
{
	if (rmdir(path) == -1 && errno == ENOTEMPTY) /* @rmdir some missing=EACCES,EBUSY */
		warnx("%s is not empty", path);
	else
		all.files--;
}

int main(int argc, char **argv)
{
	const char *root = argc > 1 ? argv[1] : ".";
	char *real = realpath(root, NULL); /* @realpath none dereferenced */
	size_t depth = 0;

	for (char *p = real; *p; p++)
		depth += *p == '/';
	free(real);
	if (chdir(root)) /* @chdir all */
		err(1, "%s", root);
	all.top = AT_FDCWD;
	walk(all.top, ".", &all);
	if (nftw(".", visit, 16, FTW_PHYS) != 0) /* @nftw all */
		all.errors++;
	if (depth > 3 && list("..") < 0)
		warn("..");
	empty("tmp");
	printf("%llu bytes, %lu files, %lu here, %llu free\n", all.bytes, all.files, count_entries("."), free_space(".")); /* @printf none ignored */
	if (fclose(stdout)) /* @fclose all */
		err(1, "stdout");
	return all.errors != 0;
}

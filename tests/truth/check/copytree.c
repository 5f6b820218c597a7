/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a tree of files with links, times and owners. */
/* flags: -D_FILE_OFFSET_BITS=64 -D_FORTIFY_SOURCE=2 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int verbose;

static int copy_link(const char *from, const char *to)
{
	char target[PATH_MAX];
	ssize_t n = readlink(from, target, sizeof target - 1); /* @readlink all */

	if (n < 0)
		return -1;
	target[n] = '\0';
	if (symlink(target, to) == 0) /* @symlink all */
		return 0;
	if (errno != EEXIST)
		return -1;
	return unlink(to) == 0 && symlink(target, to) == 0 ? 0 : -1; /* @unlink all; @symlink all */
}

static int copy_data(int in, int out)
{
	char buffer[65536];

	for (;;) {
		ssize_t n = read(in, buffer, sizeof buffer); /* @read all */
		if (n == 0)
			return 0;
		if (n == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		for (ssize_t done = 0; done < n;) {
			ssize_t k = write(out, buffer + done, (size_t)(n - done)); /* @write all */
			if (k < 0)
				return -1;
			done += k;
		}
	}
}

static int copy_file(const char *from, const char *to, const struct stat *st)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };
	int in = -1, out = -1, rc = -1;

	if ((in = open(from, O_RDONLY | O_NOFOLLOW)) < 0) /* @open all */
		goto done;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC, st->st_mode & 0777); /* @open all */
	if (out < 0)
		goto done;
	posix_fadvise(in, 0, 0, POSIX_FADV_SEQUENTIAL); /* @posix_fadvise none ignored */
	if (copy_data(in, out) < 0)
		goto done;
	(void)!fchown(out, st->st_uid, st->st_gid); /* @fchown none ignored */
	if (fchmod(out, st->st_mode & 07777) < 0) /* @fchmod all */
		warn("%s: mode not kept", to);
	futimens(out, times); /* @futimens none ignored */
	rc = close(out); /* @close all */
	out = -1;
done:
	if (out != -1)
		close(out); /* @close none ignored */
	if (in != -1)
		close(in); /* @close none ignored */
	return rc;
}

static int copy_tree(const char *from, const char *to, int depth)
{
	struct dirent *entry;
	struct stat st;
	int rc = 0;
	DIR *dir;

	if (lstat(from, &st)) { /* @lstat all */
		warn("%s", from);
		return -1;
	}
	if (verbose > 1)
		printf("%s -> %s\n", from, to); /* @printf none ignored */
	if (S_ISLNK(st.st_mode))
		return copy_link(from, to);
	if (!S_ISDIR(st.st_mode))
		return copy_file(from, to, &st);
	if (mkdir(to, 0777) < 0 && errno != EEXIST) /* @mkdir all */
		return -1;
	if (!(dir = opendir(from))) /* @opendir all */
		return -1;
	while ((entry = readdir(dir)) != NULL) { /* @readdir all */
		char *a, *b;
		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&a, "%s/%s", from, entry->d_name) < 0) /* @asprintf all */
			break;
		if (asprintf(&b, "%s/%s", to, entry->d_name) == -1) /* @asprintf all */
			break;
		if (depth < 64)
			rc |= copy_tree(a, b, depth + 1);
		free(a);
		free(b);
	}
	closedir(dir); /* @closedir none ignored */
	return rc;
}

int main(int argc, char **argv)
{
	char *cwd;

	while (argc > 3 && !strcmp(argv[1], "-v")) {
		verbose++;
		argc--;
		argv++;
	}
	if (argc < 3)
		errx(2, "usage: copytree [-v] FROM TO");
	if (verbose) {
		cwd = getcwd(NULL, 0); /* @getcwd none dereferenced */
		printf("in %s (%zu)\n", cwd, strlen(cwd)); /* @printf none ignored */
		free(cwd);
	}
	if (copy_tree(argv[1], argv[2], 0) < 0)
		err(1, "%s", argv[1]);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Copies recipes into a folder; nearly all calls of the library are behind wrappers of another file. */
/* program: brew */
/* flags: -D_GNU_SOURCE */
#include "brew.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct recipe {
    char *name;
    int in, out;
    off_t size;
    struct recipe *next;
};

static struct recipe *recipes;
static int log_fd;

static struct recipe *add(const char *name)
{
    struct recipe *r = xcalloc(1, sizeof *r);

    r->name = xstrdup(name);
    r->in = open_input(name);
    if (r->in < 0) {
        complain(name);
        free(r->name);
        free(r);
        return NULL;
    }
    r->next = recipes;
    recipes = r;
    return r;
}

static int copy(struct recipe *r, const char *dir)
{
    char *to = xasprintf("%s/%s", dir, r->name);
    char *buffer = xmalloc(8192);
    ssize_t n;
    int rc = -1;

    r->out = xopen(to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    while ((n = safe_read(r->in, buffer, 8192)) > 0)
        if (full_write(r->out, buffer, (size_t)n) != (size_t)n)
            goto out;
    if (n == 0)
        rc = 0;
out:
    if (rc < 0)
        complain(to);
    if (close(r->out) < 0 && !rc) { /* @close all */
        complain(to);
        rc = -1;
    }
    close(r->in); /* @close none ignored */
    free(buffer);
    free(to);
    return rc;
}

static void note(const char *what)
{
    char *copy = fast_strdup(what);

    copy[0] ^= 0x20;
    write(log_fd, copy, strlen(copy)); /* @write none ignored */
    free(copy);
}

static int write_index(const char *dir)
{
    FILE *f = outer_fopen(dir, "index", "w");

    if (!f) {
        complain("index");
        return 1;
    }
    for (struct recipe *r = recipes; r; r = r->next)
        fprintf(f, "%s %lld\n", r->name, (long long)r->size); /* @fprintf none ignored */
    close_stream(f, "index");
    return 0;
}

int main(int argc, char **argv)
{
    const char *dir = argc > 1 ? argv[1] : ".";
    char **names = NULL;
    int n = 0, rc;

    log_fd = open_log("/tmp/brew.log");
    if ((rc = make_dir(dir)) < 0 && rc != -EEXIST)
        die("%s: %s\n", dir, strerror(-rc));
    for (int i = 2; i < argc; i++) {
        struct recipe *r = add(argv[i]);

        if (!r)
            continue;
        if (file_size(argv[i], &r->size) != 0)
            complain(argv[i]);
        names = xrealloc(names, (size_t)(n + 1) * sizeof *names);
        names[n++] = r->name;
        note(r->name);
    }
    for (struct recipe *r = recipes; r; r = r->next)
        if (copy(r, dir))
            remove_quietly(r->name);
    if (write_index(dir))
        return 1;
    if (!remove_or_tell("/tmp/brew.lock"))
        return 1;
    if (status_of(fchmod(log_fd, 0600))) /* @fchmod all */
        complain("log");
    return status_of(fsync(log_fd)) || error_count; /* @fsync all */
}

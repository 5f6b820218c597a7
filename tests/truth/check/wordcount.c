/* SPDX-License-Identifier: Apache-2.0 */
/* Counts words of files: a hash table, lines, streams. */
/* program: wordcount */
#define _GNU_SOURCE
#include "wordcount.h"
#include <ctype.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	struct word *next;
	unsigned count;
	char *text;
};

static struct word **table;
static size_t buckets = 1024, words;

static void grow(void)
{
	struct word **bigger = try_alloc(buckets * 2, sizeof *bigger);

	if (!bigger)
		return; /* slower, but right */
	for (size_t i = 0; i < buckets; i++)
		bigger[i * 2] = table[i];
	free(table);
	table = bigger;
	buckets *= 2;
}

static void add(const char *text, size_t n)
{
	size_t h = 5381;
	struct word *w;

	for (size_t i = 0; i < n; i++)
		h = h * 33 + (unsigned char)text[i];
	for (w = table[h % buckets]; w; w = w->next)
		if (strncmp(w->text, text, n) == 0 && w->text[n] == '\0') {
			w->count++;
			return;
		}
	w = xmalloc(sizeof *w);
	w->text = copy_text(text, n);
	if (w->text[0] == '#')
		w->text[0] = '_';
	w->count = 1;
	w->next = table[h % buckets];
	table[h % buckets] = w;
	words++;
}

static void split(const char *line)
{
	while (*line) {
		size_t n = 0;
		while (isalpha((unsigned char)line[n]))
			n++;
		if (n)
			add(line, n);
		line += n ? n : 1;
	}
}

static int count_file(const char *path)
{
	char *line = NULL;
	size_t room = 0;
	FILE *f;

	if ((f = fopen(path, "r")) == NULL) /* @fopen all */
		return -1;
	while (getline(&line, &room, f) != -1) /* @getline/getdelim/__getdelim? all */
		split(line);
	free(line);
	return fclose(f); /* @fclose all */
}

static void count_stdin(void)
{
	char line[1024];

	while (fgets(line, sizeof line, stdin)) /* @fgets all */
		split(line);
	if (ferror(stdin)) /* @ferror any */
		err(1, "stdin");
}

/* Names of files, one a line. A list that is not there crashes. */
static char **read_list(const char *path, size_t *count)
{
	FILE *f = fopen(path, "r"); /* @fopen none dereferenced */
	char **names = NULL, name[256];

	*count = 0;
	while (fgets(name, sizeof name, f) != NULL) { /* @fgets all */
		name[strcspn(name, "\n")] = '\0';
		names = xrealloc(names, (*count + 1) * sizeof *names);
		names[(*count)++] = xstrdup(name);
	}
	fclose(f); /* @fclose none ignored */
	return names;
}

int main(int argc, char **argv)
{
	size_t count;
	char **names;
	int status = 0;

	table = try_alloc(buckets, sizeof *table);
	if (table == NULL)
		err(1, "no table");
	if (argc == 1)
		count_stdin();
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '@') {
			names = read_list(argv[i] + 1, &count);
			for (size_t k = 0; k < count; k++)
				if (count_file(names[k]) < 0)
					status = 1;
		} else if (count_file(argv[i]) != 0) {
			warn("%s", argv[i]);
			status = 1;
		}
		if (words > buckets)
			grow();
	}
	printf("%zu words\n", words); /* @printf none ignored */
	if (fflush(stdout) == EOF) /* @fflush all */
		err(1, "stdout");
	return status;
}

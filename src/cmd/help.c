/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --help, from the table. Plain ASCII, 80 columns.
 */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, HELP_COLUMN = 28 };

static size_t column_of(const struct text *t) {
  size_t column = 0;

  for (size_t i = t->n; i > 0 && t->at[i - 1] != '\n'; i--)
    column++;
  return column;
}

/* Adds the N bytes at WORD behind a space, or on a new line at column INDENT if they do not fit. */
static void add_word(struct text *t, const char *word, size_t n, size_t indent) {
  size_t column = column_of(t);

  if (column < indent) {
    text_pad(t, indent);
  } else if (column > indent && column + 1 + n > WIDTH) {
    text_add(t, "\n");
    if (indent > 0) text_pad(t, indent);
  } else if (column > indent) {
    text_add(t, " ");
  }
  text_add_bytes(t, word, n);
}

static void add_wrapped(struct text *t, const char *words, size_t indent) {
  for (;;) {
    words += strspn(words, " ");
    size_t n = strcspn(words, " ");
    if (n == 0) return;
    add_word(t, words, n, indent);
    words += n;
  }
}

/* "-o, --output FILE" */
static void add_option_name(struct text *t, const struct cmd_option *o) {
  if (o->letter)
    text_addf(t, "-%c, ", o->letter);
  else
    text_add(t, "    ");
  text_addf(t, "--%s", o->name);
  if (o->argument) text_addf(t, " %s", o->argument);
}

static void add_options(struct text *t, const struct cmd_option *o) {
  text_add(t, "\nOptions:\n");
  for (; o->name; o++) {
    text_add(t, "  ");
    add_option_name(t, o);
    if (column_of(t) >= HELP_COLUMN - 1) text_add(t, "\n");
    text_pad(t, HELP_COLUMN);
    add_wrapped(t, o->help, HELP_COLUMN);
    text_add(t, "\n");
  }
}

/* "murphy profile [--format text|json|xml] ... [LIB ...]", as the man page has it. */
static void add_synopsis(struct text *t, const struct cmd_command *c) {
  size_t indent = column_of(t) + strlen("murphy ") + strlen(c->name) + 1;

  text_addf(t, "murphy %s", c->name);
  for (const struct cmd_option *o = c->options; o->name; o++) {
    struct text one = {0};
    text_addf(&one, "[--%s%s%s]%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "",
              o->repeat ? "..." : "");
    if (!one.failed) add_word(t, one.at, one.n, indent);
    text_done(&one);
  }
  if (c->operands[0]) add_word(t, c->operands, strlen(c->operands), indent);
  text_add(t, "\n");
}

void cmd_help_command(const struct cmd_command *command, struct text *to) {
  text_add(to, "Usage: ");
  add_synopsis(to, command);
  text_add(to, "\n");
  add_wrapped(to, command->about, 0);
  text_add(to, "\n");
  add_options(to, command->options);
  text_addf(to, "\nMore in the manual: man murphy%s%s\n", strcmp(command->name, "help") == 0 ? "" : "-",
            strcmp(command->name, "help") == 0 ? "" : command->name);
}

void cmd_help(struct text *to) {
  text_add(to, "Usage: murphy COMMAND [ARGUMENT ...]\n"
               "\n"
               "Finds out what programs do when the calls that they make fail.\n"
               "\n"
               "Commands:\n");
  for (const struct cmd_command *c = cmd_commands; c->name; c++) {
    text_addf(to, "  %s", c->name);
    text_pad(to, HELP_COLUMN);
    add_wrapped(to, c->summary, HELP_COLUMN);
    text_add(to, "\n");
  }
  add_options(to, cmd_global_options);
  text_add(to, "\nmurphy help COMMAND explains a command; so does its manual, man murphy-COMMAND.\n"
               "Exit status: 0 nothing wrong found, 1 findings, 2 bad usage or input, 3 the\n"
               "experiment could not be made, 130 interrupted.\n");
}

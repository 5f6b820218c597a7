/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads arguments by the table. Not getopt_long: that prints by itself, and has no way to say what was meant.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <string.h>

/* Where the reading of one command line stands. */
struct reader {
  const struct cmd_command *command; /* NULL before a command */
  const struct cmd_option *options;
  int argc, at;
  char *const *argv;
  struct cmd_args *args;
  struct err *e;
};

static const char *help_hint(const struct reader *r) { return r->command ? r->command->name : "--help"; }

static int bad_option(const struct reader *r, const char *name, size_t length) {
  const char *names[32];
  size_t n = 0;
  char word[64];

  for (const struct cmd_option *o = r->options; o->name && n < COUNT(names); o++)
    names[n++] = o->name;

  length = length < sizeof word - 1 ? length : sizeof word - 1;
  memcpy(word, name, length);
  word[length] = 0;

  const char *near = name_nearest(word, names, n);
  if (near) return err_set(r->e, -EINVAL, "unknown option --%s (did you mean --%s?)", word, near);
  return err_set(r->e, -EINVAL, "unknown option --%s (see murphy %s%s)", word, r->command ? "help " : "", help_hint(r));
}

/* Is VALUE one of the words of "text|json|xml"? */
static bool is_choice(const char *choices, const char *value) {
  size_t length = strlen(value);

  for (const char *at = choices;; at++) {
    size_t n = strcspn(at, "|");
    if (n == length && memcmp(at, value, n) == 0) return true;
    at += n;
    if (!*at) return false;
  }
}

static int take_option(struct reader *r, const struct cmd_option *option, const char *value) {
  if (value && strchr(option->argument, '|') && !is_choice(option->argument, value))
    return err_set(r->e, -EINVAL, "--%s cannot be '%s' (it is one of %s)", option->name, value, option->argument);
  if (vec_push(&r->args->options, (struct cmd_arg){.option = option, .value = value}) < 0)
    return err_set(r->e, -ENOMEM, "out of memory");
  return 0;
}

/* The value that must follow as an argument of its own, or NULL with a message. */
static const char *next_value(struct reader *r, const struct cmd_option *option) {
  if (r->at < r->argc) return r->argv[r->at++];
  err_set(r->e, -EINVAL, "--%s needs an argument (--%s %s)", option->name, option->name, option->argument);
  return NULL;
}

/* --name, --name=VALUE, --name VALUE */
static int read_long(struct reader *r, const char *word) {
  size_t length = strcspn(word, "=");
  const char *value = word[length] ? word + length + 1 : NULL;
  const struct cmd_option *o = r->options;

  while (o->name && (strlen(o->name) != length || memcmp(o->name, word, length) != 0))
    o++;
  if (!o->name) return bad_option(r, word, length);
  if (value && !o->argument) return err_set(r->e, -EINVAL, "--%s takes no argument (leave out '=%s')", o->name, value);
  if (!value && o->argument && !(value = next_value(r, o))) return -EINVAL;
  return take_option(r, o, value);
}

/* -a, -aj4, -j4, -j 4 */
static int read_letters(struct reader *r, const char *word) {
  while (*word) {
    char letter = *word++;
    const struct cmd_option *o = r->options;
    while (o->name && o->letter != letter)
      o++;
    if (!o->name)
      return err_set(r->e, -EINVAL, "unknown option -%c (see murphy %s%s)", letter, r->command ? "help " : "",
                     help_hint(r));

    const char *value = NULL;
    if (o->argument) {
      value = *word ? word : next_value(r, o);
      if (!value) return -EINVAL;
    }
    int ret = take_option(r, o, value);
    if (ret < 0 || o->argument) return ret;
  }
  return 0;
}

static int read_all(struct reader *r) {
  bool only_operands = false;

  while (r->at < r->argc) {
    const char *word = r->argv[r->at++];
    int ret = 0;
    if (only_operands || word[0] != '-' || !word[1]) {
      if (!r->command) { /* the command itself: not ours */
        r->at--;
        return 0;
      }
      if (vec_push(&r->args->operands, word) < 0) ret = err_set(r->e, -ENOMEM, "out of memory");
    } else if (strcmp(word, "--") == 0) {
      only_operands = r->args->dashes = true;
      r->args->n_before = r->args->operands.n;
    } else {
      ret = word[1] == '-' ? read_long(r, word + 2) : read_letters(r, word + 1);
    }
    if (ret < 0) return ret;
  }
  if (!only_operands) r->args->n_before = r->args->operands.n;
  return 0;
}

int cmd_parse(const struct cmd_command *command, int argc, char *const *argv, struct cmd_args *ret, int *ret_used,
              struct err *e) {
  struct cmd_args args = {.command = command};
  struct reader r = {
      .command = command,
      .options = command ? command->options : cmd_global_options,
      .argc = argc,
      .argv = argv,
      .args = &args,
      .e = e,
  };

  int status = read_all(&r);
  if (status < 0) {
    cmd_args_done(&args);
    return status;
  }
  *ret = args;
  if (ret_used) *ret_used = r.at;
  return 0;
}

void cmd_args_done(struct cmd_args *args) {
  vec_done(&args->options);
  vec_done(&args->operands);
}

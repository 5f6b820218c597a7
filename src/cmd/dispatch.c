/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From argv to a command and back to an exit status. The only place that prints a message.
 */
#include "cmd/cmd.h"
#include "config.h"

#include <errno.h>
#include <string.h>

/* Prints T and frees it. */
static int print_text(struct text *t, struct err *e) {
  int ret = cmd_print(t, e);
  text_done(t);
  return ret;
}

static int unknown_command(const char *name, struct err *e) {
  const char *names[32];
  size_t n = 0;

  for (const struct cmd_command *c = cmd_commands; c->name && n < COUNT(names); c++)
    names[n++] = c->name;

  const char *near = name_nearest(name, names, n);
  if (near) return err_set(e, -EINVAL, "unknown command '%s' (did you mean '%s'?)", name, near);
  return err_set(e, -EINVAL, "unknown command '%s' (see murphy --help)", name);
}

int cmd_help_run(const struct cmd_args *args, struct err *e) {
  struct text t = {0};

  if (args->operands.n > 1) return err_set(e, -EINVAL, "one command at a time (murphy help %s)", args->operands.at[0]);
  if (args->operands.n == 0) {
    cmd_help(&t);
  } else {
    const struct cmd_command *c = cmd_find(args->operands.at[0]);
    if (!c) return unknown_command(args->operands.at[0], e);
    cmd_help_command(c, &t);
  }
  return print_text(&t, e);
}

static int run_command(const struct cmd_command *command, int argc, char *const *argv, struct err *e) {
  struct cmd_args args = {0};
  struct text t = {0};

  int ret = cmd_parse(command, argc, argv, &args, NULL, e);
  if (ret < 0) return ret;
  for (size_t i = 0; i < args.options.n; i++) {
    if (args.options.at[i].option->id != 'h') continue;
    cmd_help_command(command, &t);
    cmd_args_done(&args);
    return print_text(&t, e);
  }
  ret = command->run(&args, e);
  cmd_args_done(&args);
  return ret;
}

/* What stands in place of a command: --help, --version, --completion bash. */
static int run_global(const struct cmd_arg *arg, struct err *e) {
  struct text t = {0};

  switch (arg->option->id) {
  case OPT_VERSION:
    text_addf(&t, "murphy %s\n", MURPHY_VERSION);
    break;
  case OPT_COMPLETION:
    if (strcmp(arg->value, "bash") != 0)
      return err_set(e, -EINVAL, "no completion for '%s' (there is one for bash)", arg->value);
    cmd_completion_bash(&t);
    break;
  default:
    cmd_help(&t);
  }
  return print_text(&t, e);
}

static int run_all(int argc, char *const *argv, struct err *e) {
  struct cmd_args global = {0};
  int used = 0;

  int ret = cmd_parse(NULL, argc, argv, &global, &used, e);
  if (ret < 0) return ret;
  if (global.options.n > 0) {
    ret = run_global(&global.options.at[0], e);
  } else if (used == argc) {
    ret = err_set(e, -EINVAL, "no command (see murphy --help)");
  } else {
    const struct cmd_command *c = cmd_find(argv[used]);
    ret = c ? run_command(c, argc - used - 1, argv + used + 1, e) : unknown_command(argv[used], e);
  }
  cmd_args_done(&global);
  return ret;
}

int cmd_main(int argc, char *const *argv) {
  struct err e = {0};

  int ret = run_all(argc > 0 ? argc - 1 : 0, argv + (argc > 0), &e);
  if (ret >= 0) return ret;
  cmd_complain(e.text[0] ? e.text : strerror(-ret));
  return ret == -ECANCELED ? EXIT_CANNOT : EXIT_BAD;
}

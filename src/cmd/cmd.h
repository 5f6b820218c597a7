/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: one table of commands and options, from which dispatch, --help, shell completion and (compared by a
 * test) the man pages come.
 *
 * A command returns its exit status, or a negative errno with a message: EXIT_CANNOT for -ECANCELED, else EXIT_BAD.
 * cmd_main alone prints messages, once.
 */
#pragma once

#include "base/base.h"

/* What `murphy` exits with. */
enum cmd_exit {
  EXIT_NOTHING = 0, /* nothing wrong found */
  EXIT_FINDINGS = 1,
  EXIT_BAD = 2,    /* bad usage or input */
  EXIT_CANNOT = 3, /* the experiment could not be made */
};

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* What a shell can offer for an argument. */
enum cmd_complete { COMPLETE_NOTHING, COMPLETE_FILE, COMPLETE_COMMAND };

struct cmd_option {
  int id;               /* for the command's switch; 'h' is --help everywhere */
  char letter;          /* 'o' for -o, or 0 */
  const char *name;     /* without dashes */
  const char *argument; /* what it takes, as --help calls it, or NULL; with a '|' in it: the only values allowed */
  enum cmd_complete complete;
  bool repeat; /* may be given several times; otherwise the last one counts */
  const char *help;
};

struct cmd_args;

struct cmd_command {
  const char *name;
  const char *operands;             /* as the synopsis shows them */
  enum cmd_complete complete;       /* of the operands */
  const char *summary;              /* one line, for the list of commands */
  const char *about;                /* a paragraph for --help */
  const struct cmd_option *options; /* ends with name NULL */
  int (*run)(const struct cmd_args *args, struct err *e);
};

extern const struct cmd_command cmd_commands[]; /* ends with name NULL */
extern const struct cmd_option cmd_global_options[];

/* NULL if there is none. */
const struct cmd_command *cmd_find(const char *name);

/* --- arguments ---------------------------------------------------------------------------------------------------- */

struct cmd_arg {
  const struct cmd_option *option;
  const char *value; /* NULL if the option takes none */
};

/* Options in the order given, apart from the operands. Values point into argv. */
struct cmd_args {
  const struct cmd_command *command;
  VEC(struct cmd_arg) options;
  VEC(const char *) operands;
  bool dashes;     /* there was a "--" */
  size_t n_before; /* operands before it; all if there was none */
};

/*
 * Reads ARGV (without the command's name) by OPTIONS: --name VALUE, --name=VALUE, -nVALUE, options and operands in any
 * order, "--" ends the options. COMMAND is NULL for what stands before a command: there, the first operand ends it, and
 * *ret_used says how many were read. Fails with a message that says what was meant; -EINVAL, -ENOMEM.
 */
int cmd_parse(const struct cmd_command *command, int argc, char *const *argv, struct cmd_args *ret, int *ret_used,
              struct err *e) MUST_USE;
void cmd_args_done(struct cmd_args *args);

/* Values of options that several commands have. */
typedef VEC(const char *) cmd_names;
/* "close,read" is two functions; the names live in ARENA. */
int cmd_value_functions(struct arena *arena, const char *list, cmd_names *to, struct err *e) MUST_USE;
int cmd_value_jobs(const char *value, unsigned *ret, struct err *e) MUST_USE;

/* --- what is printed ---------------------------------------------------------------------------------------------- */

void cmd_help(struct text *to);
void cmd_help_command(const struct cmd_command *command, struct text *to);
void cmd_completion_bash(struct text *to);

/* All N bytes to a descriptor. 0 or a negative errno. */
int cmd_write(int fd, const char *at, size_t n);
/* All of T to standard output; an error has a message. -ENOMEM if T failed to grow. */
int cmd_print(const struct text *t, struct err *e) MUST_USE;
/* All of T to standard error, for what is told beside the output of a command that runs. */
int cmd_report(const struct text *t, struct err *e) MUST_USE;
/* All of T to PATH: whole or not at all if it is a file; "-" is standard output; devices and pipes are written to. */
int cmd_save(const char *path, const struct text *t, struct err *e) MUST_USE;
/* How text on standard output looks: coloured, and how wide (0 if not known). OUTPUT: where it goes, if elsewhere. */
struct cmd_terminal {
  bool color;
  unsigned columns;
};
struct cmd_terminal cmd_terminal(const char *output);
/* "murphy: MESSAGE" on standard error, one line whatever the message holds. */
void cmd_complain(const char *message);
/* "murphy: note: TEXT" */
void cmd_note(const char *text);

/* --- progress ----------------------------------------------------------------------------------------------------- */

/* A line on standard error, if that is a terminal and the work takes longer than a second. */
struct cmd_progress {
  const char *what;
  uint64_t started, drawn; /* in milliseconds */
  bool terminal, shown;
};

void cmd_progress_start(struct cmd_progress *p, const char *what);
/* CONTEXT is a struct cmd_progress; fits profile_request.progress. */
void cmd_progress_step(void *context, size_t done, size_t total);
/* Erases the line. */
void cmd_progress_end(struct cmd_progress *p);

/* --- the commands ------------------------------------------------------------------------------------------------- */

int cmd_main(int argc, char *const *argv);
int cmd_profile_run(const struct cmd_args *args, struct err *e);
int cmd_check_run(const struct cmd_args *args, struct err *e);
int cmd_run_run(const struct cmd_args *args, struct err *e);
int cmd_test_run(const struct cmd_args *args, struct err *e);
int cmd_replay_run(const struct cmd_args *args, struct err *e);
int cmd_verify_run(const struct cmd_args *args, struct err *e);
int cmd_report_run(const struct cmd_args *args, struct err *e);
int cmd_hub_run(const struct cmd_args *args, struct err *e);
int cmd_help_run(const struct cmd_args *args, struct err *e);

enum cmd_profile_option {
  OPT_FOR = 1,
  OPT_KERNEL,
  OPT_MODULES,
  OPT_FORMAT,
  OPT_OUTPUT,
  OPT_FUNCTION,
  OPT_WHY,
  OPT_FILE,
  OPT_ALL,
  OPT_NO_CACHE,
  OPT_JOBS
};
enum cmd_check_option {
  OPT_CHECK_FORMAT = 1,
  OPT_CHECK_OUTPUT,
  OPT_CHECK_FUNCTION,
  OPT_VERDICT,
  OPT_CHECK_ALL,
  OPT_RECOVERY,
  OPT_SCENARIO,
  OPT_FAIL_ON,
  OPT_BASELINE,
  OPT_CHECK_PROFILE,
  OPT_CHECK_JOBS
};
enum cmd_run_option {
  OPT_RUN_FAIL = 1,
  OPT_RUN_LOG,
  OPT_RUN_REPLAY,
  OPT_RUN_REACH,
  OPT_RUN_FOLLOW,
  OPT_RUN_NO_FOLLOW,
  OPT_RUN_SEED,
  OPT_RUN_PROFILE,
  OPT_RUN_EXPLAIN,
  OPT_RUN_TRIGGERS,
  OPT_RUN_HUB
};
enum cmd_hub_option { OPT_HUB_POLICY = 1, OPT_HUB_EVERY, OPT_HUB_AFTER, OPT_HUB_LIMIT, OPT_HUB_LOG, OPT_HUB_MODE };
enum cmd_test_option {
  OPT_TEST_BUDGET = 1,
  OPT_TEST_CAMPAIGN,
  OPT_TEST_FROM,
  OPT_TEST_FUNCTION,
  OPT_TEST_ERRNO,
  OPT_TEST_INPUT,
  OPT_TEST_TIMEOUT,
  OPT_TEST_FOLLOW,
  OPT_TEST_FORMAT,
  OPT_TEST_JOBS,
  OPT_TEST_RESUME,
  OPT_TEST_ONLY_SITE,
  OPT_TEST_NO_SANDBOX,
  OPT_TEST_ORDER,
  OPT_TEST_NO_FOLLOW,
  OPT_TEST_DEPTH
};
enum cmd_replay_option { OPT_REPLAY_CAMPAIGN = 1, OPT_REPLAY_GDB };
enum cmd_verify_option { OPT_VERIFY_CAMPAIGN = 1, OPT_VERIFY_FORMAT };
enum cmd_report_option {
  OPT_REPORT_CAMPAIGN = 1,
  OPT_REPORT_JSON,
  OPT_REPORT_JUNIT,
  OPT_REPORT_SARIF,
  OPT_REPORT_HTML,
  OPT_REPORT_FORMAT,
  OPT_REPORT_OUTPUT
};
enum cmd_global_option { OPT_VERSION = 1, OPT_COMPLETION };

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of commands. What is written here is what murphy accepts, says in --help and completes in a shell; the man
 * pages must say the same (tests/check/table.py).
 */
#include "cmd/cmd.h"

#include <string.h>

#define HELP_OPTION                                                                                                    \
  { .id = 'h', .letter = 'h', .name = "help", .help = "Say this." }

const struct cmd_option cmd_global_options[] = {
    HELP_OPTION,
    {.id = OPT_VERSION, .name = "version", .help = "Say which version this is."},
    {.id = OPT_COMPLETION, .name = "completion", .argument = "bash", .help = "Print the completion for a shell."},
    {0},
};

static const struct cmd_option profile_options[] = {
    {.id = OPT_FOR,
     .name = "for",
     .argument = "PROG",
     .complete = COMPLETE_FILE,
     .help = "Profile all libraries that the program PROG needs, those that they need too."},
    {.id = OPT_KERNEL,
     .name = "kernel",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Profile the system calls of a Linux kernel instead: FILE is a vmlinuz or a vmlinux."},
    {.id = OPT_MODULES,
     .name = "modules",
     .argument = "DIR",
     .complete = COMPLETE_FILE,
     .help = "Where the kernel's modules are, if not where packages put them."},
    {.id = OPT_FORMAT,
     .name = "format",
     .argument = "text|json|xml|errors",
     .help =
         "What to print: text to read (the default), JSON for scripts, XML to keep, edit and load, or, of a kernel, "
         "the lines of data/kernel."},
    {.id = OPT_OUTPUT,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write to FILE, whole or not at all."},
    {.id = OPT_FUNCTION,
     .letter = 'f',
     .name = "function",
     .argument = "NAME",
     .repeat = true,
     .help = "Print this function only; several with commas or by repeating the option."},
    {.id = OPT_WHY,
     .name = "why",
     .argument = "FUNCTION",
     .help = "Show the instructions that prove each error of one function; of a kernel, the way of a system call's "
             "errors, or of one (write:ENOSPC)."},
    {.id = OPT_FILE,
     .name = "profile",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .repeat = true,
     .help = "Load a profile; its functions replace those found, or join them. Alone, it is printed."},
    {.id = OPT_ALL,
     .letter = 'a',
     .name = "all",
     .help =
         "Print functions without errors too; of a kernel, follow the ways that ordinary programs do not take too."},
    {.id = OPT_NO_CACHE, .name = "no-cache", .help = "Neither use nor fill the cache of profiles."},
    {.id = OPT_JOBS,
     .letter = 'j',
     .name = "jobs",
     .argument = "N",
     .help = "Use N threads; by default one for each processor."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option check_options[] = {
    {.id = OPT_CHECK_FORMAT,
     .name = "format",
     .argument = "text|json|sarif|baseline",
     .help = "What to print: text to read (the default), JSON for scripts, SARIF for code scanning, or the lines of a "
             "baseline."},
    {.id = OPT_CHECK_OUTPUT,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write to FILE, whole or not at all."},
    {.id = OPT_CHECK_FUNCTION,
     .letter = 'f',
     .name = "function",
     .argument = "NAME",
     .repeat = true,
     .help = "Look at calls of this function only; several with commas or by repeating the option."},
    {.id = OPT_VERDICT,
     .name = "verdict",
     .argument = "LIST",
     .repeat = true,
     .help = "Show sites with these verdicts: none, some, all, unknown; several with commas. The default is none and "
             "some, and for JSON all three."},
    {.id = OPT_CHECK_ALL,
     .letter = 'a',
     .name = "all",
     .help = "Show findings of little weight too, such as a close after reading."},
    {.id = OPT_RECOVERY,
     .name = "recovery",
     .help = "List, for each site, the blocks that run only if a check says failure; sites that check all errors are "
             "shown too, unless --verdict says otherwise."},
    {.id = OPT_SCENARIO,
     .name = "scenario",
     .argument = "none|some",
     .help = "Write the scenario of faults, as XML, for the sites with this verdict."},
    {.id = OPT_FAIL_ON,
     .name = "fail-on",
     .argument = "none|some",
     .help = "Exit with 1 if a finding would be shown: with the verdict none, or some or none."},
    {.id = OPT_BASELINE,
     .name = "baseline",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .repeat = true,
     .help = "Accept the sites of FILE, which --format baseline has written."},
    {.id = OPT_CHECK_PROFILE,
     .name = "profile",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .repeat = true,
     .help = "Load a profile; its functions go over those that are found in the libraries."},
    {.id = OPT_CHECK_JOBS,
     .letter = 'j',
     .name = "jobs",
     .argument = "N",
     .help = "Use N threads; by default one for each processor."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option run_options[] = {
    {.id = OPT_RUN_FAIL,
     .letter = 'f',
     .name = "fail",
     .argument = "RULE",
     .repeat = true,
     .help = "Make calls fail by a rule in one line: FUNCTION:FAULT [when EXPR], as in 'read:EIO when call==3'."},
    {.id = OPT_RUN_LOG,
     .name = "log",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write each injection to FILE, a JSON object a line, as it happens."},
    {.id = OPT_RUN_REPLAY,
     .name = "replay",
     .argument = "LOG",
     .complete = COMPLETE_FILE,
     .help = "Make exactly those calls fail that LOG says."},
    {.id = OPT_RUN_REACH,
     .name = "reach",
     .help = "Say at the end, on standard error, which calls were intercepted and which cannot be, and why."},
    {.id = OPT_RUN_FOLLOW, .name = "follow", .help = "Go into the programs that the command starts too."},
    {.id = OPT_RUN_NO_FOLLOW, .name = "no-follow", .help = "Stay with the command and what it forks (the default)."},
    {.id = OPT_RUN_SEED,
     .name = "seed",
     .argument = "N",
     .help = "What random decisions depend on; the same number gives the same ones. The default is 0."},
    {.id = OPT_RUN_PROFILE,
     .name = "profile",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .repeat = true,
     .help = "Load a profile; its functions go over those that are found in the libraries."},
    {.id = OPT_RUN_EXPLAIN, .name = "explain", .help = "Print what the rules became, and run nothing."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option test_options[] = {
    {.id = OPT_TEST_BUDGET,
     .letter = 'b',
     .name = "budget",
     .argument = "LIMIT",
     .help = "When to stop: after a time (90s, 5m) or a number of experiments (500runs); by default after 60s."},
    {.id = OPT_TEST_CAMPAIGN,
     .name = "campaign",
     .argument = "DIR",
     .complete = COMPLETE_FILE,
     .help = "Keep the campaign in DIR instead of .murphy."},
    {.id = OPT_TEST_RESUME, .name = "resume", .help = "Go on with the campaign that is there."},
    {.id = OPT_TEST_FROM,
     .name = "from",
     .argument = "MODULE",
     .repeat = true,
     .help = "Let calls from this program or library fail only; by default those from the program and from libraries "
             "outside of the system's folders."},
    {.id = OPT_TEST_FUNCTION,
     .letter = 'f',
     .name = "function",
     .argument = "NAME",
     .repeat = true,
     .help = "Let this function fail only; several with commas or by repeating the option."},
    {.id = OPT_TEST_ERRNO,
     .name = "errno",
     .argument = "NAME",
     .repeat = true,
     .help = "Try this error only; several with commas or by repeating the option."},
    {.id = OPT_TEST_ONLY_SITE,
     .name = "only-site",
     .argument = "SITE",
     .repeat = true,
     .help = "Let calls from here fail only: FILE:LINE, FUNCTION (that makes the call), or MODULE+0xOFFSET."},
    {.id = OPT_TEST_INPUT,
     .name = "input",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Give the command this standard input; by default there is nothing to read."},
    {.id = OPT_TEST_TIMEOUT,
     .name = "timeout",
     .argument = "TIME",
     .help = "How long the command may take without any fault (10s)."},
    {.id = OPT_TEST_FOLLOW, .name = "follow", .help = "Let calls fail in programs that the command starts, too."},
    {.id = OPT_TEST_FORMAT,
     .name = "format",
     .argument = "text|json",
     .help = "What to print: text to read (the default) or JSON for scripts."},
    {.id = OPT_TEST_JOBS,
     .letter = 'j',
     .name = "jobs",
     .argument = "N",
     .help = "Make N experiments at once; by default one for each processor."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option replay_options[] = {
    {.id = OPT_REPLAY_CAMPAIGN,
     .name = "campaign",
     .argument = "DIR",
     .complete = COMPLETE_FILE,
     .help = "The campaign's folder, if it is not .murphy."},
    {.id = OPT_REPLAY_GDB,
     .name = "gdb",
     .help = "Start the command in gdb, outside of the sandbox, and stop at the call that is about to fail."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option verify_options[] = {
    {.id = OPT_VERIFY_CAMPAIGN,
     .name = "campaign",
     .argument = "DIR",
     .complete = COMPLETE_FILE,
     .help = "The campaign's folder, if it is not .murphy."},
    {.id = OPT_VERIFY_FORMAT,
     .name = "format",
     .argument = "text|json",
     .help = "What to print: text to read (the default) or JSON for scripts."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option report_options[] = {
    {.id = OPT_REPORT_CAMPAIGN,
     .name = "campaign",
     .argument = "DIR",
     .complete = COMPLETE_FILE,
     .help = "The campaign's folder, if it is not .murphy."},
    {.id = OPT_REPORT_FORMAT,
     .name = "format",
     .argument = "text|json|junit|sarif|html",
     .help = "What to print; text to read is the default."},
    {.id = OPT_REPORT_JSON, .name = "json", .help = "JSON for scripts, as murphy test --format json prints it."},
    {.id = OPT_REPORT_JUNIT, .name = "junit", .help = "XML that CI systems show as the results of tests."},
    {.id = OPT_REPORT_SARIF, .name = "sarif", .help = "SARIF 2.1.0 for code scanning."},
    {.id = OPT_REPORT_HTML, .name = "html", .help = "A page to read, in one file."},
    {.id = OPT_REPORT_OUTPUT,
     .letter = 'o',
     .name = "output",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write to FILE, whole or not at all."},
    HELP_OPTION,
    {0},
};

static const struct cmd_option help_options[] = {
    HELP_OPTION,
    {0},
};

const struct cmd_command cmd_commands[] = {
    {
        .name = "test",
        .operands = "-- COMMAND [ARG ...]",
        .complete = COMPLETE_FILE,
        .summary = "Find the failures that a command does not survive.",
        .about =
            "Runs COMMAND again and again in a sandbox, each time with one library call that fails, and tells which "
            "failures crash it, hang it, or make it lose data without a word. Nothing outside of the sandbox is "
            "changed. Exits with 1 if there are findings.",
        .options = test_options,
        .run = cmd_test_run,
    },
    {
        .name = "check",
        .operands = "PROG ...",
        .complete = COMPLETE_FILE,
        .summary = "Find the calls of a program that do not handle failure.",
        .about = "Reads the machine code of a program or library and of the libraries it uses, and lists its calls of "
                 "library functions whose errors are not checked, or only in part, the worst first. Nothing is run, "
                 "and debug symbols are not needed; where there are any, source lines are shown.",
        .options = check_options,
        .run = cmd_check_run,
    },
    {
        .name = "profile",
        .operands = "[LIB ...]",
        .complete = COMPLETE_FILE,
        .summary = "Find which errors the functions of a library can return.",
        .about = "Reads the machine code of libraries and prints, for each function that they export, the error values "
                 "it can return and what errno and other places are set to with each. LIB is a path or a name such as "
                 "libc.so.6, which is found as the dynamic loader finds it. Nothing is run.",
        .options = profile_options,
        .run = cmd_profile_run,
    },
    {
        .name = "run",
        .operands = "[SCENARIO ...] -- COMMAND [ARG ...]",
        .complete = COMPLETE_FILE,
        .summary = "Run a command and make library calls in it fail.",
        .about = "Runs COMMAND, unmodified, and makes those calls of library functions fail that the scenarios and "
                 "rules say, in the way in which the library itself would. The command's exit status is passed on, "
                 "128 + N if signal N ended it.",
        .options = run_options,
        .run = cmd_run_run,
    },
    {
        .name = "replay",
        .operands = "FINDING [-- GDB-ARG ...]",
        .complete = COMPLETE_FILE,
        .summary = "Repeat one finding of murphy test.",
        .about =
            "Makes the same call fail in the same way, in a sandbox, and shows what the command does then. FINDING "
            "is its number, or the path of its folder. Exits with 1 if it comes again, with 0 if it does not.",
        .options = replay_options,
        .run = cmd_replay_run,
    },
    {
        .name = "verify",
        .operands = "",
        .summary = "Repeat all findings of murphy test.",
        .about = "Repeats every finding of a campaign and says which are gone, also when the program was built anew. "
                 "Exits with 1 while any is left.",
        .options = verify_options,
        .run = cmd_verify_run,
    },
    {
        .name = "report",
        .operands = "",
        .summary = "Show what murphy test has found.",
        .about = "Prints the findings of a campaign and what was tried, from its database alone, while it runs or "
                 "later.",
        .options = report_options,
        .run = cmd_report_run,
    },
    {
        .name = "help",
        .operands = "[COMMAND]",
        .complete = COMPLETE_COMMAND,
        .summary = "Explain a command.",
        .about = "Prints the help of COMMAND, or the list of commands.",
        .options = help_options,
        .run = cmd_help_run,
    },
    {0},
};

const struct cmd_command *cmd_find(const char *name) {
  for (const struct cmd_command *c = cmd_commands; c->name; c++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion for bash, from the table: a function with all words in it, so that a key press starts no process.
 */
#include "cmd/cmd.h"

#include <string.h>

static void add_commands(struct text *t) {
  for (const struct cmd_command *c = cmd_commands; c->name; c++)
    text_addf(t, "%s%s", c == cmd_commands ? "" : " ", c->name);
}

static void add_option_words(struct text *t, const struct cmd_option *options) {
  for (const struct cmd_option *o = options; o->name; o++) {
    text_addf(t, "%s--%s", o == options ? "" : " ", o->name);
    if (o->letter) text_addf(t, " -%c", o->letter);
  }
}

/* What fills COMPREPLY for one kind of argument. */
static void add_reply(struct text *t, enum cmd_complete complete, const char *choices) {
  if (choices) {
    text_add(t, "mapfile -t COMPREPLY < <(compgen -W '");
    for (const char *c = choices; *c; c++)
      text_add_bytes(t, *c == '|' ? " " : c, 1);
    text_add(t, "' -- \"$word\")");
  } else if (complete == COMPLETE_FILE) {
    text_add(t, "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\")");
  } else if (complete == COMPLETE_COMMAND) {
    text_add(t, "mapfile -t COMPREPLY < <(compgen -W '");
    add_commands(t);
    text_add(t, "' -- \"$word\")");
  } else {
    text_add(t, ":");
  }
}

/* Values are completed behind "--name", and behind "--name=", which bash splits into three words. */
static void add_option_values(struct text *t, const char *command, const struct cmd_option *options) {
  for (const struct cmd_option *o = options; o->name; o++) {
    if (!o->argument) continue;
    text_addf(t, "  '%s --%s'", command, o->name);
    if (o->letter) text_addf(t, " | '%s -%c'", command, o->letter);
    text_add(t, ")\n    ");
    /* Upper case names an argument, lower case is the word itself. */
    bool literal = strcspn(o->argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(o->argument);
    add_reply(t, o->complete, literal ? o->argument : NULL);
    text_add(t, "\n    return ;;\n");
  }
}

static void add_operands(struct text *t, const struct cmd_command *c) {
  text_addf(t, "  '%s -'*)\n    mapfile -t COMPREPLY < <(compgen -W '", c->name);
  add_option_words(t, c->options);
  text_addf(t, "' -- \"$word\") ;;\n  '%s '*)\n    ", c->name);
  add_reply(t, c->complete, NULL);
  text_add(t, " ;;\n");
}

void cmd_completion_bash(struct text *to) {
  text_add(to, "# SPDX-License-Identifier: Apache-2.0\n"
               "# Completion of murphy for bash; made by `murphy --completion bash`.\n"
               "_murphy() {\n"
               "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=\n"
               "  COMPREPLY=()\n"
               "  if [[ $word = = ]]; then\n"
               "    word=\n"
               "  elif [[ $before = = ]]; then\n"
               "    before=${COMP_WORDS[COMP_CWORD - 2]}\n"
               "  fi\n"
               "  [[ $COMP_CWORD -gt 1 ]] && command=${COMP_WORDS[1]}\n"
               "  case \"$command $before\" in\n");
  for (const struct cmd_command *c = cmd_commands; c->name; c++)
    add_option_values(to, c->name, c->options);
  for (const struct cmd_option *o = cmd_global_options; o->name; o++) {
    if (!o->argument) continue;
    text_addf(to, "  '--%s --%s')\n    ", o->name, o->name);
    add_reply(to, o->complete, o->argument);
    text_add(to, "\n    return ;;\n");
  }
  text_add(to, "  esac\n"
               "  case \"$command $word\" in\n");
  for (const struct cmd_command *c = cmd_commands; c->name; c++)
    add_operands(to, c);
  text_add(to, "  ' '*)\n    mapfile -t COMPREPLY < <(compgen -W '");
  add_commands(to);
  text_add(to, " ");
  add_option_words(to, cmd_global_options);
  text_add(to, "' -- \"$word\") ;;\n"
               "  esac\n"
               "}\n"
               "complete -F _murphy murphy\n");
}

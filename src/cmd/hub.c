/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy hub: decides for many processes which of their calls fail.
 */
#include "hub/hub.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job {
  struct hub_options hub;
  const char *log;
  int file;
  bool moded; /* --mode was given */
};

static int take_number(const struct cmd_arg *arg, uint64_t *ret, struct err *e) {
  int64_t n = 0;
  if (number_parse(arg->value, &n) < 0 || n < 0)
    return err_set(e, -EINVAL, "--%s cannot be '%s' (it is a number)", arg->option->name, arg->value);
  *ret = (uint64_t)n;
  return 0;
}

static int take_mode(const char *text, mode_t *ret, struct err *e) {
  size_t n = strlen(text);
  if (n == 0 || n > 5 || strspn(text, "01234567") != n || strtoul(text, NULL, 8) > 0777)
    return err_set(e, -EINVAL, "--mode cannot be '%.60s' (it is an octal number up to 0777, as 0666)", text);
  *ret = (mode_t)strtoul(text, NULL, 8);
  return 0;
}

static int take_option(struct job *job, const struct cmd_arg *arg, struct err *e) {
  struct hub_policy *p = &job->hub.policy;
  switch ((enum cmd_hub_option)arg->option->id) {
  case OPT_HUB_POLICY:
    return hub_policy_parse(arg->value, p, e);
  case OPT_HUB_EVERY:
    return take_number(arg, &p->every, e);
  case OPT_HUB_AFTER:
    return take_number(arg, &p->after, e);
  case OPT_HUB_LIMIT:
    return take_number(arg, &p->limit, e);
  case OPT_HUB_LOG:
    job->log = arg->value;
    return 0;
  case OPT_HUB_MODE:
    job->moded = true;
    return take_mode(arg->value, &job->hub.mode, e);
  }
  return 0;
}

static int read_options(struct job *job, const struct cmd_args *args, struct err *e) {
  int r = 0;
  if (args->operands.n != 1)
    return err_set(e, -EINVAL, "%s (as in murphy hub unix:/tmp/hub)",
                   args->operands.n ? "a hub listens at one address" : "no address to listen at");
  for (size_t i = 0; i < args->options.n && r >= 0; i++)
    r = take_option(job, &args->options.at[i], e);
  if (r >= 0) r = hub_address_parse(args->operands.at[0], &job->hub.address, e);
  if (r >= 0 && job->moded && job->hub.address.at.ss_family != AF_UNIX)
    r = err_set(e, -EINVAL, "--mode is for local sockets (whoever reaches %.60s can connect)", args->operands.at[0]);
  return r;
}

/* Where the log is on standard output, what is said is not. */
static int say(const struct job *job, const struct text *t, struct err *e) {
  return job->file == STDOUT_FILENO ? cmd_report(t, e) : cmd_print(t, e);
}

/* Scripts wait for this line. */
static int say_ready(void *context, const char *address, struct err *e) {
  struct text t = {0};
  text_addf(&t, "listening at %s\n", address);
  int r = say(context, &t, e);
  text_done(&t);
  return r;
}

static int write_log(void *context, const struct text *line, struct err *e) {
  const struct job *job = context;
  int r = cmd_write(job->file, line->at, line->n);
  return r < 0 ? err_set(e, r, "%s: %s", job->log, strerror(-r)) : 0;
}

static int open_log(struct job *job, struct err *e) {
  if (!job->log) return 0;
  job->hub.log = write_log;
  if (strcmp(job->log, "-") == 0) {
    job->file = STDOUT_FILENO;
    return 0;
  }
  job->file = open(job->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
  return job->file < 0 ? err_set(e, -errno, "%s: %s", job->log, strerror(errno)) : 0;
}

static int say_totals(const struct job *job, const struct hub_totals *t, struct err *e) {
  struct text text = {0};
  text_addf(&text, "%" PRIu64 " question%s of %" PRIu64 " process%s, %" PRIu64 " answered with yes\n", t->asked,
            t->asked == 1 ? "" : "s", t->processes, t->processes == 1 ? "" : "es", t->failed);
  int r = say(job, &text, e);
  text_done(&text);
  return r;
}

int cmd_hub_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.file = -1, .hub = {.policy.kind = HUB_ROUND_ROBIN, .mode = 0600}};
  struct hub_totals totals = {0};
  sigset_t ends;
  int r = read_options(&job, args, e);
  if (r >= 0) r = open_log(&job, e);
  if (r < 0) return r;
  (void)sigemptyset(&ends);
  (void)sigaddset(&ends, SIGINT);
  (void)sigaddset(&ends, SIGTERM);
  (void)sigaddset(&ends, SIGHUP);
  if (sigprocmask(SIG_BLOCK, &ends, NULL) < 0) return err_set(e, -errno, "sigprocmask: %s", strerror(errno));
  (void)signal(SIGPIPE, SIG_IGN);
  job.hub.ends = &ends;
  job.hub.ready = say_ready;
  job.hub.context = &job;
  r = hub_serve(&job.hub, &totals, e);
  if (r >= 0) r = say_totals(&job, &totals, e);
  if (job.file >= 0 && job.file != STDOUT_FILENO && close(job.file) < 0 && r >= 0)
    r = err_set(e, -errno, "%s: %s", job.log, strerror(errno));
  return r < 0 ? r : EXIT_NOTHING;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * murphy report: what a campaign has found so far, for people or for tools.
 */
#include "cmd/cmd.h"
#include "report/report.h"

#include <errno.h>
#include <string.h>

typedef void form(const struct report *r, struct text *to);

struct job {
  const char *campaign, *output;
  form *form;
};

static form *form_named(const char *name) {
  static const struct {
    const char *name;
    form *form;
  } forms[] = {{"text", report_text},
               {"json", report_json},
               {"junit", report_junit},
               {"sarif", report_sarif},
               {"html", report_html}};
  for (size_t i = 0; i < COUNT(forms); i++)
    if (strcmp(forms[i].name, name) == 0) return forms[i].form;
  return report_text;
}

static int read_options(struct job *job, const struct cmd_args *args, struct err *e) {
  for (size_t i = 0; i < args->options.n; i++) {
    const struct cmd_arg *arg = &args->options.at[i];
    switch ((enum cmd_report_option)arg->option->id) {
    case OPT_REPORT_CAMPAIGN:
      job->campaign = arg->value;
      break;
    case OPT_REPORT_OUTPUT:
      job->output = arg->value;
      break;
    case OPT_REPORT_FORMAT:
      job->form = form_named(arg->value);
      break;
    default: /* --json, --junit, --sarif, --html */
      job->form = form_named(arg->option->name);
    }
  }
  return args->operands.n
             ? err_set(e, -EINVAL, "'%s' is too much (--campaign says where the campaign is)", args->operands.at[0])
             : 0;
}

int cmd_report_run(const struct cmd_args *args, struct err *e) {
  struct job job = {.campaign = ".murphy", .output = "-", .form = report_text};
  struct store *store = NULL;
  struct report report = {0};
  struct text t = {0};
  int r = read_options(&job, args, e);
  if (r == 0) r = store_open(job.campaign, false, &store, e);
  if (r == 0) r = report_load(store, job.campaign, &report, e);
  if (r == 0) {
    report.columns = cmd_terminal(strcmp(job.output, "-") == 0 ? NULL : job.output).columns;
    job.form(&report, &t);
    r = cmd_save(job.output, &t, e);
    report_done(&report);
  }
  text_done(&t);
  store_close(store);
  return r;
}

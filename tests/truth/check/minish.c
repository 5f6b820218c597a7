/* SPDX-License-Identifier: Apache-2.0 */
/* A very small shell: lines, words, redirections, pipelines, jobs and a handful of commands of its own. */
/* flags: -D_GNU_SOURCE */
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define MAXARGS 64
#define MAXJOBS 16

enum jobstate { FREE, RUNNING, STOPPED };

struct job {
    pid_t pid;
    enum jobstate state;
    char *line;
};

struct cmd {
    char *argv[MAXARGS];
    int argc;
    char *in, *out;
    bool background, append;
};

typedef int (*builtin_fn)(struct cmd *);

static struct job jobs[MAXJOBS];
static int last_status;
static char *prompt;
static volatile sig_atomic_t got_chld;

static void on_chld(int sig)
{
    (void)sig;
    got_chld = 1;
}

static struct job *new_job(pid_t pid, const char *line)
{
    for (struct job *j = jobs; j < jobs + MAXJOBS; j++)
        if (j->state == FREE) {
            j->pid = pid;
            j->state = RUNNING;
            j->line = strdup(line); /* @strdup none used */
            return j;
        }
    return NULL;
}

static void reap(void)
{
    int st;
    pid_t p;

    while ((p = waitpid(-1, &st, WNOHANG | WUNTRACED)) > 0) { /* @waitpid all */
        for (int i = 0; i < MAXJOBS; i++) {
            if (jobs[i].pid != p)
                continue;
            if (WIFSTOPPED(st)) {
                jobs[i].state = STOPPED;
            } else {
                free(jobs[i].line);
                jobs[i].line = NULL;
                jobs[i].state = FREE;
            }
        }
    }
    got_chld = 0;
}

static int split(char *line, struct cmd *c)
{
    char *save = NULL;

    memset(c, 0, sizeof *c);
    for (char *w = strtok_r(line, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save)) { /* @strtok_r any */
        if (*w == '<')
            c->in = w + 1;
        else if (w[0] == '>' && w[1] == '>')
            c->out = w + 2, c->append = true;
        else if (*w == '>')
            c->out = w + 1;
        else if (!strcmp(w, "&"))
            c->background = true;
        else if (c->argc < MAXARGS - 1)
            c->argv[c->argc++] = w;
        else
            return -E2BIG;
    }
    return c->argc;
}

static int redirect(const struct cmd *c)
{
    int fd;

    if (c->in) {
        fd = open(c->in, O_RDONLY); /* @open all */
        if (fd < 0) {
            warn("%s", c->in);
            return -1;
        }
        if (dup2(fd, 0) != 0) /* @dup2 all */
            return -1;
        close(fd); /* @close none ignored */
    }
    if (c->out) {
        fd = open(c->out, O_WRONLY | O_CREAT | (c->append ? O_APPEND : O_TRUNC), 0666); /* @open none used */
        dup2(fd, 1); /* @dup2 none ignored */
        close(fd); /* @close none ignored */
    }
    return 0;
}

static int run_external(struct cmd *c, const char *line)
{
    int st = 0;
    pid_t pid;

    switch (pid = fork()) { /* @fork all */
    case -1:
        warn("fork");
        return 126;
    case 0:
        setpgid(0, 0); /* @setpgid none ignored */
        signal(SIGINT, SIG_DFL); /* @signal none ignored */
        if (redirect(c) < 0)
            _exit(125);
        execvp(c->argv[0], c->argv); /* @execvp? any */
        _exit(errno == ENOENT ? 127 : 126);
    default:
        break;
    }
    if (c->background)
        return new_job(pid, line) ? 0 : 1;
    tcsetpgrp(0, pid); /* @tcsetpgrp none ignored */
    waitpid(pid, &st, WUNTRACED); /* @waitpid none ignored */
    if (tcsetpgrp(0, getpgrp()) == -1 && errno != ENOTTY) /* @tcsetpgrp all */
        warn("tcsetpgrp");
    return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* Left side of a pipe in a child, right side in another. The parent trusts fork. */
static int run_pipe(struct cmd *left, struct cmd *right)
{
    int p[2], st = 0;
    pid_t a, b;

    if (pipe2(p, O_CLOEXEC)) { /* @pipe2 all */
        warn("pipe");
        return 1;
    }
    if (!(a = fork())) { /* @fork none used/ignored */
        dup2(p[1], STDOUT_FILENO); /* @dup2 none ignored */
        execvp(left->argv[0], left->argv); /* @execvp? any */
        _exit(127);
    }
    b = fork(); /* @fork none used */
    if (b == 0) {
        if (dup2(p[0], STDIN_FILENO) == -1) /* @dup2 all */
            _exit(1);
        execvp(right->argv[0], right->argv); /* @execvp? any */
        _exit(127);
    }
    close(p[0]); /* @close none ignored */
    close(p[1]); /* @close none ignored */
    while (waitpid(b, &st, 0) == -1) /* @waitpid all */
        if (errno != EINTR) {
            st = 1 << 8;
            break;
        }
    while (waitpid(a, NULL, 0) == -1 && errno == EINTR) /* @waitpid some missing=ECHILD */
        ;
    return WEXITSTATUS(st);
}

static int do_cd(struct cmd *c)
{
    const char *to = c->argc > 1 ? c->argv[1] : getenv("HOME"); /* @getenv none used/dereferenced */
    char old[PATH_MAX];

    getcwd(old, sizeof old); /* @getcwd none ignored */
    if (chdir(to)) { /* @chdir all */
        warn("cd: %s", to);
        return 1;
    }
    setenv("OLDPWD", old, 1); /* @setenv none ignored */
    return 0;
}

static int do_pwd(struct cmd *c)
{
    char *dir = getcwd(NULL, 0); /* @getcwd all */
    int rc = dir && puts(dir) != EOF ? 0 : 1; /* @puts all */

    (void)c;
    free(dir);
    return rc;
}

static int do_export(struct cmd *c)
{
    int bad = 0;

    for (int i = 1; i < c->argc; i++) {
        char *eq = strchr(c->argv[i], '=');

        if (!eq)
            continue;
        *eq = 0;
        bad |= setenv(c->argv[i], eq + 1, 1); /* @setenv none used/returned */
    }
    return -bad;
}

static int do_umask(struct cmd *c)
{
    umask((mode_t)strtoul(c->argv[1], NULL, 8)); /* @umask any; @strtoul none used */
    return 0;
}

static int do_ulimit(struct cmd *c)
{
    struct rlimit r;
    char *end;

    if (getrlimit(RLIMIT_NOFILE, &r) != 0) /* @getrlimit all */
        return 1;
    if (c->argc < 2)
        return printf("%llu\n", (unsigned long long)r.rlim_cur) < 0; /* @printf all */
    errno = 0;
    r.rlim_cur = strtoull(c->argv[1], &end, 10); /* @strtoull all */
    if (errno == ERANGE || *end)
        return 1;
    return setrlimit(RLIMIT_NOFILE, &r) ? errno : 0; /* @setrlimit all */
}

static int do_kill(struct cmd *c)
{
    int failures = 0;

    for (int i = 1; i < c->argc; i++)
        if (kill((pid_t)atoi(c->argv[i]), SIGTERM)) { /* @kill all; @atoi/strtol any */
            warn("kill %s", c->argv[i]);
            failures++;
        }
    return failures;
}

static int do_glob(struct cmd *c)
{
    glob_t g;

    switch (glob(c->argv[1], GLOB_MARK, NULL, &g)) { /* @glob all */
    case 0:
        break;
    case GLOB_NOMATCH:
        return 1;
    default:
        return 2;
    }
    for (size_t i = 0; i < g.gl_pathc; i++)
        puts(g.gl_pathv[i]); /* @puts none ignored */
    globfree(&g);
    return 0;
}

static int do_home(struct cmd *c)
{
    struct passwd *pw = getpwnam(c->argv[1]); /* @getpwnam none dereferenced */

    puts(pw->pw_dir); /* @puts none ignored */
    return 0;
}

static int do_whoami(struct cmd *c)
{
    struct passwd *pw;
    (void)c;

    if (!(pw = getpwuid(geteuid()))) /* @getpwuid all */
        return 1;
    puts(pw->pw_name); /* @puts none ignored */
    return 0;
}

static const struct {
    const char *name;
    builtin_fn fn;
} builtins[] = {
    { "cd", do_cd }, { "pwd", do_pwd }, { "export", do_export }, { "umask", do_umask }, { "ulimit", do_ulimit },
    { "kill", do_kill }, { "glob", do_glob }, { "home", do_home }, { "whoami", do_whoami },
};

static builtin_fn find_builtin(const char *name)
{
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(builtins[i].name, name))
            return builtins[i].fn;
    return NULL;
}

static void source_rc(void)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof path, "%s/.minishrc", getenv("HOME") ?: "/"); /* @snprintf none ignored; @getenv all */
    if ((f = fopen(path, "r")) < 0) /* @fopen none used/dereferenced */
        return;
    while (fgets(path, sizeof path, f)) /* @fgets all */
        if (path[0] == 'P') {
            free(prompt);
            prompt = strndup(path + 1, strcspn(path + 1, "\n")); /* @strndup all */
        }
    fclose(f); /* @fclose none ignored */
}

static int execute(char *line)
{
    struct cmd c, d;
    char *bar = strchr(line, '|');
    char *copy;
    builtin_fn fn;
    int rc;

    if (bar) {
        *bar = 0;
        if (split(line, &c) <= 0 || split(bar + 1, &d) <= 0)
            return 2;
        return run_pipe(&c, &d);
    }
    copy = strdup(line); /* @strdup all */
    if (copy == NULL)
        return 1;
    rc = split(line, &c);
    if (rc > 0) {
        fn = find_builtin(c.argv[0]);
        rc = fn ? fn(&c) : run_external(&c, copy);
    } else if (rc < 0) {
        errno = -rc;
        warn("line");
    }
    free(copy);
    return rc;
}

int main(void)
{
    struct sigaction sa = { .sa_handler = on_chld, .sa_flags = SA_RESTART };
    struct termios saved;
    char *line = NULL;
    size_t room = 0;
    bool tty = isatty(0); /* @isatty all */

    sigemptyset(&sa.sa_mask); /* @sigemptyset any */
    if (sigaction(SIGCHLD, &sa, NULL) < 0) /* @sigaction all */
        err(1, "sigaction");
    if (signal(SIGTTOU, SIG_IGN) == SIG_ERR) /* @signal all */
        err(1, "signal");
    if (tty && tcgetattr(0, &saved)) /* @tcgetattr all */
        tty = false;
    source_rc();
    for (;;) {
        if (got_chld)
            reap();
        if (tty) {
            fputs(prompt ? prompt : "$ ", stdout); /* @fputs none ignored */
            fflush(stdout); /* @fflush none ignored */
        }
        if (getline(&line, &room, stdin) == -1) /* @getline/getdelim all */
            break;
        last_status = execute(line);
        if (tty)
            tcsetattr(0, TCSADRAIN, &saved); /* @tcsetattr none ignored */
    }
    free(line);
    return last_status;
}

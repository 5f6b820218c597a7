/* SPDX-License-Identifier: Apache-2.0 */
/* smallsh: a small shell with pipes, redirection, background jobs and a few builtins. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define MAXARGS 64
#define MAXCMDS 16

typedef struct {
    char *argv[MAXARGS];
    int argc;
    char *in, *out;
    int append;
} Cmd;

typedef struct {
    Cmd cmd[MAXCMDS];
    int n;
    int background;
} Pipeline;

struct builtin {
    const char *name;
    int (*run)(int argc, char **argv);
};

static int last_status;
static int interactive;
static pid_t shell_pgid;
static struct termios saved_tty;
static pid_t jobs[32];
static int njobs;

static void complain(const char *what)
{
    int saved = errno;
    fprintf(stderr, "smallsh: %s: %s\n", what, strerror(saved));     /* @fprintf none ignored */
}

static int do_cd(int argc, char **argv)
{
    char cwd[4096];
    const char *to = argc > 1 ? argv[1] : getenv("HOME");       /* @getenv all */

    if (to == NULL)
        to = "/";
    if (chdir(to) < 0) {        /* @chdir all */
        complain(to);
        return 1;
    }
    getcwd(cwd, sizeof cwd);    /* @getcwd none ignored */
    if (setenv("PWD", cwd, 1) != 0 && errno == ENOMEM)      /* @setenv some missing=EINVAL */
        complain("PWD");
    return 0;
}

static int do_pwd(int argc, char **argv)
{
    char *cwd = getcwd(NULL, 0);        /* @getcwd none dereferenced/used */

    (void)argc;
    (void)argv;
    puts(cwd);                          /* @puts none ignored */
    free(cwd);
    return 0;
}

static int do_set(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    return setenv(argv[1], argv[2], 1) == 0 ? 0 : 1;    /* @setenv all */
}

static int do_umask(int argc, char **argv)
{
    char *end;
    unsigned long m;

    if (argc < 2)
        return 2;
    m = strtoul(argv[1], &end, 8);      /* @strtoul all */
    if (*end || m > 0777)
        return 1;
    umask((mode_t)m);
    return 0;
}

static int do_kill(int argc, char **argv)
{
    pid_t pid;

    if (argc < 2)
        return 2;
    pid = atoi(argv[1]);                /* @atoi/strtol any */
    if (kill(pid, SIGTERM) == -1 && errno == ESRCH) {   /* @kill some missing=EPERM */
        complain(argv[1]);
        return 1;
    }
    return 0;
}

static int do_mkdir(int argc, char **argv)
{
    int i, bad = 0;

    for (i = 1; i < argc; i++)
        bad |= mkdir(argv[i], 0777) && errno != EEXIST;     /* @mkdir all */
    return bad;
}

static const struct builtin builtins[] = {
    { "cd", do_cd },
    { "pwd", do_pwd },
    { "set", do_set },
    { "umask", do_umask },
    { "kill", do_kill },
    { "mkdir", do_mkdir },
    { NULL, NULL },
};

static int parse(char *s, Pipeline *p)
{
    Cmd *c;
    char **slot = NULL;

    memset(p, 0, sizeof *p);
    c = &p->cmd[p->n++];
    for (;;) {
        while (isspace((unsigned char)*s))
            *s++ = '\0';
        if (*s == '\0' || *s == '#')
            break;
        if (*s == '|') {
            *s++ = '\0';
            if (p->n == MAXCMDS)
                return -1;
            c = &p->cmd[p->n++];
        } else if (*s == '&') {
            *s++ = '\0';
            p->background = 1;
        } else if (*s == '<') {
            *s++ = '\0';
            slot = &c->in;
        } else if (*s == '>') {
            *s++ = '\0';
            if (*s == '>') {
                c->append = 1;
                *s++ = '\0';
            }
            slot = &c->out;
        } else {
            if (slot) {
                *slot = s;
                slot = NULL;
            } else {
                if (c->argc == MAXARGS - 1)
                    return -1;
                c->argv[c->argc++] = s;
            }
            while (*s && !isspace((unsigned char)*s) && !strchr("|&<>", *s))
                s++;
        }
    }
    return c->argc > 0 ? 0 : -1;
}

static void redirect(const Cmd *c, int in, int out)
{
    int fd;

    if (c->in != NULL) {
        fd = open(c->in, O_RDONLY);             /* @open all */
        if (fd < 0) {
            complain(c->in);
            _exit(1);
        }
        if (dup2(fd, STDIN_FILENO) != STDIN_FILENO)     /* @dup2 all */
            _exit(1);
    } else if (in >= 0) {
        dup2(in, STDIN_FILENO);                 /* @dup2 none ignored */
    }
    if (c->out != NULL) {
        fd = open(c->out, O_WRONLY | O_CREAT | (c->append ? O_APPEND : O_TRUNC), 0666);     /* @open none used */
        if (dup2(fd, STDOUT_FILENO) < 0)        /* @dup2 all */
            _exit(1);
    } else if (out >= 0 && dup2(out, STDOUT_FILENO) == -1) {    /* @dup2 all */
        complain("dup2");
        _exit(1);
    }
}

static void reset_signals(void)
{
    struct sigaction sa = { .sa_handler = SIG_DFL };
    sigset_t none;

    if (sigaction(SIGINT, &sa, NULL) != 0)      /* @sigaction all */
        _exit(126);
    sigaction(SIGTSTP, &sa, NULL);              /* @sigaction none ignored */
    sigemptyset(&none);                         /* @sigemptyset? any */
    if (sigprocmask(SIG_SETMASK, &none, NULL) != 0)     /* @sigprocmask all */
        _exit(126);
}

static int wait_for(pid_t pid)
{
    int status = 0;
    pid_t got;

    do {
        got = waitpid(pid, &status, WUNTRACED); /* @waitpid some missing=ECHILD */
    } while (got == -1 && errno == EINTR);
    if (WIFSIGNALED(status))
        return 128 + WTERMSIG(status);
    return WEXITSTATUS(status);
}

static void reap_jobs(void)
{
    int i, status;
    pid_t got;

    for (i = 0; i < njobs; i++) {
        got = waitpid(jobs[i], &status, WNOHANG);       /* @waitpid all */
        if (got == 0)
            continue;
        if (got > 0)
            printf("[%d] done, status %d\n", (int)got, status);     /* @printf none ignored */
        jobs[i--] = jobs[--njobs];
    }
}

static int run_pipeline(const Pipeline *p)
{
    pid_t pids[MAXCMDS];
    int fds[2], in = -1, out, i;

    for (i = 0; i < p->n; i++) {
        out = -1;
        if (i + 1 < p->n) {
            if (pipe(fds) != 0) {               /* @pipe all */
                complain("pipe");
                return 1;
            }
            out = fds[1];
        }
        pids[i] = fork();                       /* @fork none used */
        if (pids[i] == 0) {
            setpgid(0, i ? pids[0] : 0);        /* @setpgid none ignored */
            reset_signals();
            redirect(&p->cmd[i], in, out);
            execvp(p->cmd[i].argv[0], p->cmd[i].argv);  /* @execvp any */
            complain(p->cmd[i].argv[0]);
            _exit(errno == ENOENT ? 127 : 126);
        }
        if (setpgid(pids[i], pids[0]) < 0 && errno == EPERM)    /* @setpgid some missing=ESRCH,EINVAL */
            complain("setpgid");
        if (in >= 0)
            close(in);                          /* @close none ignored */
        if (out >= 0)
            close(out);                         /* @close none ignored */
        in = i + 1 < p->n ? fds[0] : -1;
    }
    if (p->background) {
        if (njobs < 32)
            jobs[njobs++] = pids[p->n - 1];
        return 0;
    }
    if (interactive && tcsetpgrp(0, pids[0]) < 0)       /* @tcsetpgrp all */
        complain("tcsetpgrp");
    for (i = 0; i < p->n; i++)
        last_status = wait_for(pids[i]);
    if (interactive) {
        tcsetpgrp(0, shell_pgid);               /* @tcsetpgrp none ignored */
        while (tcsetattr(0, TCSADRAIN, &saved_tty) < 0 && errno == EINTR)   /* @tcsetattr some missing=ENOTTY,EBADF */
            ;
    }
    return last_status;
}

static int dispatch(const Pipeline *p)
{
    const struct builtin *b;
    const Cmd *c = &p->cmd[0];

    if (p->n == 1 && !p->background)
        for (b = builtins; b->name != NULL; b++)
            if (strcmp(b->name, c->argv[0]) == 0)
                return b->run(c->argc, (char **)c->argv);
    return run_pipeline(p);
}

static void init_tty(void)
{
    interactive = isatty(STDIN_FILENO);         /* @isatty all */
    if (!interactive)
        return;
    shell_pgid = getpgrp();
    if (tcgetattr(STDIN_FILENO, &saved_tty) == -1) {    /* @tcgetattr all */
        complain("tcgetattr");
        interactive = 0;
    }
    if (signal(SIGINT, SIG_IGN) == SIG_ERR || signal(SIGTTOU, SIG_IGN) == SIG_ERR)  /* @signal all */
        exit(1);
    signal(SIGTSTP, SIG_IGN);                   /* @signal none ignored */
}

int main(void)
{
    char line[1024];
    Pipeline p;

    init_tty();
    for (;;) {
        reap_jobs();
        if (interactive) {
            fputs("$ ", stdout);                /* @fputs/fwrite none ignored */
            fflush(stdout);                     /* @fflush none ignored */
        }
        if (fgets(line, sizeof line, stdin) == NULL)    /* @fgets all */
            break;
        if (line[strspn(line, " \t\n")] == '\0')
            continue;
        if (strncmp(line, "exit", 4) == 0)
            break;
        if (parse(line, &p) < 0) {
            fprintf(stderr, "smallsh: syntax error\n");  /* @fprintf/fwrite/fputs none ignored */
            last_status = 2;
            continue;
        }
        last_status = dispatch(&p);
    }
    return last_status;
}

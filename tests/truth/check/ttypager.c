/* SPDX-License-Identifier: Apache-2.0 */
/* ttypager: show a file page by page on a terminal. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static int tty = -1;
static struct termios saved;
static bool raw_on;
static int rows = 24, cols = 80;
static volatile sig_atomic_t resized;

static struct {
    char **line;
    size_t n, cap;
} text;

static struct {
    int err;
    const char *where;
} last;

static bool remember(bool failed, const char *where)
{
    if (failed) {
        last.err = errno;
        last.where = where;
    }
    return failed;
}

static void winch(int sig)
{
    (void)sig;
    resized = 1;
}

static void restore(void)
{
    if (!raw_on)
        return;
    while (tcsetattr(tty, TCSAFLUSH, &saved) < 0 && errno == EINTR) /* @tcsetattr some missing=EIO */
        ;
    write(tty, "\033[?1049l", 8); /* @write none ignored */
    raw_on = false;
}

static void quit(int code)
{
    restore();
    if (code && last.where)
        fprintf(stderr, "ttypager: %s: %s\n", last.where, strerror(last.err)); /* @fprintf none ignored */
    exit(code);
}

static void open_tty(void)
{
    const char *name = ctermid(NULL);

    tty = open(name, O_RDWR | O_CLOEXEC | O_NOCTTY); /* @open any */
    if (tty < 0 && errno == ENXIO)
        tty = STDERR_FILENO;
    if (!isatty(STDERR_FILENO)) { /* @isatty all */
        fputs("ttypager: no terminal\n", stderr); /* @fputs/fwrite none ignored */
        exit(1);
    }
}

static void get_size(void)
{
    struct winsize ws;
    char *env;

    if (ioctl(tty, TIOCGWINSZ, &ws) == -1 || ws.ws_row == 0) { /* @ioctl all */
        env = getenv("LINES"); /* @getenv all */
        rows = env ? (int)strtol(env, NULL, 10) : 24; /* @strtol none used */
        return;
    }
    rows = ws.ws_row;
    cols = ws.ws_col;
}

static int raw_mode(void)
{
    struct termios t;

    if (tcgetattr(tty, &saved)) /* @tcgetattr all */
        return -1;
    t = saved;
    cfmakeraw(&t);
    t.c_cc[VMIN] = 1;
    t.c_cc[VTIME] = 0;
    if (cfsetispeed(&t, B38400) < 0 || cfsetospeed(&t, B38400) < 0) /* @cfsetispeed all; @cfsetospeed all */
        return -1;
    return tcsetattr(tty, TCSADRAIN, &t); /* @tcsetattr all */
}

static int out(const char *s, size_t n)
{
    while (n > 0) {
        ssize_t w = write(tty, s, n); /* @write all */

        if (remember(w < 0, "write"))
            return -1;
        s += w;
        n -= w;
    }
    return 0;
}

static int outs(const char *s)
{
    return out(s, strlen(s));
}

static bool add_line(const char *s, size_t n)
{
    char *copy;

    if (text.n == text.cap) {
        text.cap = text.cap ? text.cap * 2 : 128;
        text.line = realloc(text.line, text.cap * sizeof *text.line); /* @realloc all */
        if (!text.line)
            return false;
    }
    copy = strndup(s, n); /* @strndup all */
    text.line[text.n++] = copy;
    return copy != NULL;
}

static void load(FILE *f)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    for (;;) {
        errno = 0;
        n = getline(&line, &cap, f); /* @getline/__getdelim? all */
        if (n < 0)
            break;
        if (n && line[n - 1] == '\n')
            n--;
        if (!add_line(line, n)) {
            perror("ttypager");
            exit(1);
        }
    }
    if (errno == ENOMEM)
        perror("ttypager");
    free(line);
}

static FILE *open_input(const char *name)
{
    size_t len = strlen(name);
    char cmd[1024];

    if (len > 3 && strcmp(name + len - 3, ".gz") == 0) {
        if ((unsigned)snprintf(cmd, sizeof cmd, "gzip -dc '%s'", name) >= sizeof cmd) /* @snprintf all */
            return NULL;
        return popen(cmd, "r"); /* @popen all */
    }
    return fopen(name, "r"); /* @fopen all */
}

static int draw(size_t top)
{
    size_t i;
    int bad = 0;

    bad |= outs("\033[H\033[2J");
    for (i = 0; i < (size_t)rows - 1 && top + i < text.n; i++) {
        size_t len = strlen(text.line[top + i]);

        bad |= out(text.line[top + i], len > (size_t)cols ? (size_t)cols : len);
        bad |= outs("\r\n");
    }
    bad |= outs("\033[7m--more--\033[m");
    return bad;
}

static int key(void)
{
    unsigned char c;
    int n;

    for (;;) {
        n = read(tty, &c, 1); /* @read all */
        if (n == 1)
            return c;
        if (n == -1 && errno == EINTR && !resized)
            continue;
        return resized ? 0 : -1;
    }
}

static bool more_typed(void)
{
    struct pollfd p = { .fd = tty, .events = POLLIN };

    return poll(&p, 1, 0) > 0; /* @poll all */
}

static int escape_key(void)
{
    char seq[2];
    size_t got;

    if (!more_typed())
        return 'q';
    got = read(tty, seq, 2); /* @read none used */
    if (got < 2)
        return 'q';
    switch (seq[1]) {
    case 'A': return 'k';
    case 'B': return 'j';
    case '5': return 'b';
    case '6': return ' ';
    }
    return 0;
}

static void shell_out(void)
{
    char *sh = getenv("SHELL"); /* @getenv none used/dereferenced */
    pid_t pid;
    int st;

    restore();
    pid = fork(); /* @fork none used */
    if (pid == 0) {
        execlp(sh, sh, (char *)NULL); /* @execlp any */
        _exit(127);
    }
    waitpid(pid, &st, 0); /* @waitpid none ignored */
    if (raw_mode() == -1)
        quit(1);
    raw_on = true;
}

static void edit(size_t top, const char *name)
{
    char cmd[2048];
    int st;

    snprintf(cmd, sizeof cmd, "${EDITOR:-vi} +%zu '%s'", top + 1, name); /* @snprintf none ignored */
    restore();
    st = system(cmd); /* @system all */
    if (st == -1 || (WIFEXITED(st) && WEXITSTATUS(st) == 127))
        remember(true, "editor");
    if (raw_mode() != 0)
        quit(1);
    raw_on = true;
}

static void beep(void)
{
    if (ioctl(tty, TIOCSTI, "\a") < 0) { /* @ioctl some missing=ENOTTY */
        switch (errno) {
        case EPERM:
        case EIO:
            outs("\a");
            break;
        default:
            break;
        }
    }
    while (tcdrain(tty) < 0 && errno == EINTR) /* @tcdrain some missing=EIO */
        ;
}

int main(int argc, char **argv)
{
    struct sigaction sa = { .sa_handler = winch };
    size_t top = 0;
    bool piped;
    FILE *f;
    int k;

    if (argc != 2) {
        fprintf(stderr, "usage: %s file\n", argv[0]); /* @fprintf none ignored */
        return 2;
    }
    if (!setlocale(LC_ALL, "")) /* @setlocale all */
        setlocale(LC_ALL, "C"); /* @setlocale none ignored */
    f = open_input(argv[1]);
    if (remember(f == NULL, argv[1]))
        quit(1);
    load(f);
    piped = strstr(argv[1], ".gz") != NULL; /* @strstr? any */
    if (piped) {
        if (pclose(f) != 0) /* @pclose all */
            fputs("ttypager: gzip failed\n", stderr); /* @fputs/fwrite none ignored */
    } else {
        fclose(f); /* @fclose none ignored */
    }
    if (!isatty(STDOUT_FILENO)) { /* @isatty all */
        for (top = 0; top < text.n; top++)
            puts(text.line[top]); /* @puts none ignored */
        return fflush(stdout) == 0 ? 0 : 1; /* @fflush all */
    }
    open_tty();
    if (sigaction(SIGWINCH, &sa, NULL) < 0) /* @sigaction all */
        perror("sigaction");
    atexit(restore); /* @atexit? any */
    get_size();
    if (remember(raw_mode() < 0, "raw mode"))
        quit(1);
    raw_on = true;
    outs("\033[?1049h");

    for (;;) {
        if (resized) {
            resized = 0;
            get_size();
        }
        if (draw(top) < 0)
            quit(1);
        k = key();
        if (k == 27)
            k = escape_key();
        switch (k) {
        case -1:
        case 'q': quit(0); break;
        case ' ': top += rows - 1; break;
        case 'j': top++; break;
        case 'k': top -= top > 0; break;
        case 'b': top = top > (size_t)rows ? top - rows : 0; break;
        case '!': shell_out(); break;
        case 'v': edit(top, argv[1]); break;
        case 0: break;
        default: beep();
        }
        if (top >= text.n)
            top = text.n ? text.n - 1 : 0;
    }
}

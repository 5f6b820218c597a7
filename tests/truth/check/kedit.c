/* SPDX-License-Identifier: Apache-2.0 */
/* A small screen editor: raw terminal, lines in an array, errors by longjmp, saving with a backup. */
/* flags: -D_DEFAULT_SOURCE -D_GNU_SOURCE */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

struct row
{
    char *text;
    size_t len;
};

static struct editor
{
    struct row *rows;
    size_t nrows, room;
    int screenrows, screencols, dirty;
    char *filename;
    char status[80];
    time_t status_time;
    struct termios orig;
} E;

static jmp_buf panic;
static volatile sig_atomic_t winch;

static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(E.status, sizeof E.status, fmt, ap); /* @vsnprintf none ignored */
    va_end(ap);
    E.status_time = time(NULL); /* @time any */
}

/* Memory: gives up by a long jump. */
static void *need(void *p)
{
    if (!p)
        longjmp(panic, ENOMEM);
    return p;
}

static void disable_raw(void)
{
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &E.orig); /* @tcsetattr none ignored */
}

static int enable_raw(int fd)
{
    struct termios raw;

    if (!isatty(fd)) /* @isatty all */
        goto fatal;
    if (atexit(disable_raw) != 0)
        goto fatal;
    if (tcgetattr(fd, &E.orig) == -1) /* @tcgetattr all */
        goto fatal;
    raw = E.orig;
    cfmakeraw(&raw);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 1;
    if (tcsetattr(fd, TCSAFLUSH, &raw) < 0) /* @tcsetattr all */
        goto fatal;
    return 0;

fatal:
    errno = ENOTTY;
    return -1;
}

__attribute__((noinline)) static int read_key(int fd)
{
    int n;
    char c, seq[3];

    while ((n = read(fd, &c, 1)) == 0) /* @read all */
        ;
    if (n == -1)
        longjmp(panic, errno);
    if (c != 27)
        return c;
    if (read(fd, seq, 1) == 0) /* @read none used/ignored */
        return 27;
    if (read(fd, seq + 1, 1) != 1) /* @read all */
        return 27;
    return seq[0] == '[' ? 1000 + seq[1] : 27;
}

static int window_size(int ifd, int *rows, int *cols)
{
    struct winsize ws;

    if (ioctl(ifd, TIOCGWINSZ, &ws) == -1 || ws.ws_col == 0) { /* @ioctl all */
        *rows = 24;
        *cols = 80;
        return -1;
    }
    *rows = ws.ws_row;
    *cols = ws.ws_col;
    return 0;
}

static void insert_row(size_t at, const char *s, size_t len)
{
    char *copy;

    if (E.nrows == E.room) {
        E.room = E.room ? E.room * 2 : 64;
        E.rows = realloc(E.rows, E.room * sizeof *E.rows); /* @realloc none dereferenced/used */
    }
    memmove(E.rows + at + 1, E.rows + at, (E.nrows - at) * sizeof *E.rows);
    copy = need(malloc(len + 1)); /* @malloc all */
    memcpy(copy, s, len);
    copy[len] = '\0';
    E.rows[at].text = copy;
    E.rows[at].len = len;
    E.nrows++;
}

static char *rows_to_string(size_t *len)
{
    size_t total = 0;
    char *buf, *p;

    for (size_t i = 0; i < E.nrows; i++)
        total += E.rows[i].len + 1;
    *len = total;
    p = buf = malloc(total + 1); /* @malloc all */
    for (size_t i = 0; buf && i < E.nrows; i++) {
        memcpy(p, E.rows[i].text, E.rows[i].len);
        p += E.rows[i].len;
        *p++ = '\n';
    }
    return buf;
}

static int load(char *filename)
{
    FILE *fp;
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;

    free(E.filename);
    E.filename = strdup(filename); /* @strdup none used/dereferenced */
    fp = fopen(filename, "r"); /* @fopen all */
    if (!fp) {
        if (errno != ENOENT) {
            perror("Opening file");
            exit(1);
        }
        return 1;
    }
    while ((len = getline(&line, &cap, fp)) != -1) { /* @getline/getdelim/__getdelim? all */
        if (len && line[len - 1] == '\n')
            line[--len] = '\0';
        insert_row(E.nrows, line, (size_t)len);
    }
    free(line);
    if (ferror(fp)) /* @ferror any */
        say("read error: %s", strerror(errno));
    fclose(fp); /* @fclose none ignored */
    E.dirty = 0;
    return 0;
}

static void keep_backup(const char *name)
{
    char to[4096];

    snprintf(to, sizeof to, "%s~", name); /* @snprintf none ignored */
    /* A file that is not there yet needs no backup. But what of the rest? */
    if (rename(name, to) == -1 && errno == EXDEV) /* @rename some missing=EACCES */
        say("backup on another disk");
    E.dirty |= 2;
}

/* Somebody else has it: said. Not to be had for another reason: not said. */
static int take_name(const char *name)
{
    char lock[4096];
    int fd;

    snprintf(lock, sizeof lock, "%s.lck", name); /* @snprintf none ignored */
    fd = open(lock, O_CREAT | O_EXCL | O_WRONLY, 0600); /* @open some missing=EACCES */
    if (fd == -1 && errno == EEXIST) {
        say("%s is being edited elsewhere", name);
        return 0;
    }
    dprintf(fd, "%ld\n", (long)getpid()); /* @dprintf none ignored */
    close(fd); /* @close none ignored */
    return 1;
}

static int save(void)
{
    size_t len;
    char *buf = rows_to_string(&len);
    struct stat st;
    int fd;

    if (!buf) {
        say("Can't save: out of memory");
        return 1;
    }
    if (stat(E.filename, &st) == 0) /* @stat all */
        keep_backup(E.filename);
    fd = open(E.filename, O_RDWR | O_CREAT, 0644); /* @open all */
    if (fd == -1)
        goto writeerr;
    if (ftruncate(fd, (off_t)len) == -1) /* @ftruncate all */
        goto writeerr;
    if (write(fd, buf, len) != (ssize_t)len) /* @write all */
        goto writeerr;
    if (fsync(fd) == -1 && errno != EINVAL && errno != EROFS) /* @fsync all */
        goto writeerr;
    if (close(fd) == -1) { /* @close all */
        fd = -1;
        goto writeerr;
    }
    free(buf);
    E.dirty = 0;
    say("%zu bytes written on disk", len);
    return 0;

writeerr:
    free(buf);
    if (fd != -1)
        close(fd); /* @close none ignored */
    say("Can't save! I/O error: %s", strerror(errno));
    return 1;
}

static void refresh(void)
{
    char *ab = NULL;
    size_t len = 0;
    FILE *m = open_memstream(&ab, &len); /* @open_memstream all */

    if (!m)
        return;
    fputs("\x1b[?25l\x1b[H", m); /* @fputs/fwrite none ignored */
    for (int y = 0; y < E.screenrows && (size_t)y < E.nrows; y++)
        fprintf(m, "%.*s\x1b[0K\r\n", E.screencols, E.rows[y].text); /* @fprintf none ignored */
    fprintf(m, "%s", E.status); /* @fprintf/fputs none ignored */
    if (fclose(m) == EOF) { /* @fclose all */
        free(ab);
        return;
    }
    write(STDOUT_FILENO, ab, len); /* @write none ignored */
    free(ab);
}

/* Runs the buffer through a program. */
static int filter(const char *command)
{
    FILE *p;
    int status;

    if ((p = popen(command, "w")) == NULL) { /* @popen all */
        say("%s: %s", command, strerror(errno));
        return -1;
    }
    for (size_t i = 0; i < E.nrows; i++)
        if (fwrite(E.rows[i].text, 1, E.rows[i].len, p) != E.rows[i].len || putc('\n', p) == EOF) /* @fwrite all; @putc all */
            break;
    status = pclose(p); /* @pclose all */
    if (status == -1)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The home of the settings; without one, the program falls on its nose. */
static int settings(int *tabs)
{
    char path[512];
    FILE *f;

    strcpy(path, getenv("HOME")); /* @getenv none dereferenced */
    strncat(path, "/.keditrc", sizeof path - strlen(path) - 1);
    f = fopen(path, "r"); /* @fopen all */
    if (f == NULL)
        return 0;
    if (fscanf(f, "tabs %d", tabs) != 1) /* @fscanf all */
        *tabs = 8;
    fclose(f); /* @fclose none ignored */
    return 1;
}

static void on_winch(int sig)
{
    winch = sig;
}

int main(int argc, char **argv)
{
    int tabs = 8, code;

    if (argc != 2) {
        fprintf(stderr, "Usage: %s file\n", argv[0]); /* @fprintf none ignored */
        exit(1);
    }
    if ((code = setjmp(panic)) != 0) {
        disable_raw();
        fprintf(stderr, "kedit: %s\n", strerror(code)); /* @fprintf none ignored */
        return 1;
    }
    settings(&tabs);
    load(argv[1]);
    if (!take_name(argv[1]))
        E.dirty = 8;
    if (enable_raw(STDIN_FILENO) == -1)
        return 1;
    window_size(STDOUT_FILENO, &E.screenrows, &E.screencols);
    signal(SIGWINCH, on_winch); /* @signal none ignored */
    for (;;) {
        refresh();
        if (winch && window_size(STDOUT_FILENO, &E.screenrows, &E.screencols) == 0)
            winch = 0;
        switch (read_key(STDIN_FILENO)) {
        case 'q':
            return E.dirty;
        case 's':
            if (save())
                refresh();
            break;
        case '|':
            if (filter("fmt") < 0)
                E.dirty |= 4;
            break;
        case '\r':
            insert_row(0, "", (size_t)tabs / 8);
            E.dirty = 1;
            break;
        }
    }
}

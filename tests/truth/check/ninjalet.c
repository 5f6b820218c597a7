/* SPDX-License-Identifier: Apache-2.0 */
/* A build tool: rules in arrays, children and their output, time stamps, a log of what was built. */
#define _GNU_SOURCE
#include <assert.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x) ((x) == -1 ? err(1, "%s", #x) : (void)0)

struct Edge {
    char* command;
    char* output;
    char** inputs;
    size_t ninputs;
    int64_t mtime;
};

struct Subprocess {
    pid_t pid;
    int fd;
    char* buf;
    size_t len;
    int status;
};

static struct Edge* edges;
static size_t nedges, cap_edges;
static FILE* build_log;
static char* scratch[4];

static void* xrealloc(void* p, size_t n) {
    void* q = realloc(p, n); /* @realloc/malloc all */
    if (!q && n)
        errx(1, "out of memory allocating %zu bytes", n);
    return q;
}

static char* xstrdup(const char* s) {
    char* p = strdup(s); /* @strdup all */
    if (p == NULL)
        err(1, "strdup");
    return p;
}

/* Returns 0 if the file isn't there, and -1 on an error. */
static int64_t TimeStamp(const char* path) {
    struct stat st;
    if (stat(path, &st) < 0) { /* @stat all */
        if (errno == ENOENT || errno == ENOTDIR)
            return 0;
        warn("stat(%s)", path);
        return -1;
    }
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static bool MakeDirs(char* path) {
    for (char* p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        int r = mkdir(path, 0777); /* @mkdir all */
        int e = errno;
        *p = '/';
        if (r < 0 && e != EEXIST) {
            errno = e;
            warn("mkdir(%s)", path);
            return false;
        }
    }
    return true;
}

static struct Edge* AddEdge(const char* command, const char* output) {
    if (nedges == cap_edges) {
        cap_edges = cap_edges * 2 + 8;
        edges = xrealloc(edges, cap_edges * sizeof *edges);
    }
    struct Edge* e = &edges[nedges++];
    memset(e, 0, sizeof *e);
    e->command = xstrdup(command);
    e->output = xstrdup(output);
    return e;
}

/* Expands the pattern. Nothing to be found is no mistake, and neither, for this function, is anything else. */
static void AddInputs(struct Edge* e, const char* pattern) {
    glob_t g = { 0 };
    if (glob(pattern, 0, NULL, &g) == GLOB_NOSPACE) /* @glob some */
        errx(1, "glob");
    for (size_t i = 0; i < g.gl_pathc; i++) {
        e->inputs = xrealloc(e->inputs, (e->ninputs + 1) * sizeof *e->inputs);
        e->inputs[e->ninputs++] = xstrdup(g.gl_pathv[i]);
    }
    globfree(&g);
}

static int ParseManifest(const char* path) {
    FILE* f = fopen(path, "r"); /* @fopen all */
    char line[1024], out[256], pat[256];
    int lineno = 0;

    if (!f)
        return -errno;
    while (fgets(line, sizeof line, f) != NULL) { /* @fgets all */
        lineno++;
        char* colon = strchr(line, ':');
        if (!colon)
            continue;
        if (sscanf(line, "%255[^:]: %255s", out, pat) != 2) { /* @sscanf all */
            warnx("%s:%d: syntax", path, lineno);
            fclose(f); /* @fclose? none ignored */
            return -EINVAL;
        }
        AddInputs(AddEdge(colon + 1, out), pat);
    }
    fclose(f); /* @fclose? none ignored */
    return 0;
}

static int SetCloseOnExec(int fd) {
    int flags = fcntl(fd, F_GETFD); /* @fcntl none used */
    return fcntl(fd, F_SETFD, flags | FD_CLOEXEC); /* @fcntl all */
}

static bool Start(struct Subprocess* s, const char* command) {
    int p[2];

    CHECK(pipe(p)); /* @pipe all */
    if (SetCloseOnExec(p[0]) < 0)
        warn("fcntl");
    s->fd = p[0];
    s->pid = fork(); /* @fork all */
    if (s->pid < 0) {
        warn("fork");
        return false;
    }
    if (s->pid == 0) {
        int devnull = open("/dev/null", O_RDONLY); /* @open all */
        if (devnull < 0)
            _exit(126);
        if (dup2(devnull, 0) < 0 || dup2(p[1], 1) < 0 || dup2(p[1], 2) < 0) /* @dup2 all */
            _exit(126);
        execl("/bin/sh", "/bin/sh", "-c", command, (char*)NULL); /* @execl any */
        _exit(127);
    }
    close(p[1]); /* @close none ignored */
    return true;
}

static void Drain(struct Subprocess* s) {
    char buf[4096];
    struct pollfd pfd = { .fd = s->fd, .events = POLLIN };

    for (;;) {
        int r = poll(&pfd, 1, -1); /* @poll all */
        if (r == -1) {
            if (errno == EINTR)
                continue;
            err(1, "poll");
        }
        ssize_t n = read(s->fd, buf, sizeof buf); /* @read all */
        if (n <= 0)
            break;
        s->buf = xrealloc(s->buf, s->len + (size_t)n);
        memcpy(s->buf + s->len, buf, (size_t)n);
        s->len += (size_t)n;
    }
}

static int Finish(struct Subprocess* s) {
    int status = 0;

    if (waitpid(s->pid, &status, 0) < 0) /* @waitpid all */
        err(1, "waitpid(%d)", (int)s->pid);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        raise(SIGINT); /* @raise none ignored */
    return 1;
}

/* Status unknown is taken for a child that went well. */
static int FinishQuietly(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0); /* @waitpid none ignored */
    return WEXITSTATUS(status);
}

static void OpenLog(const char* path) {
    build_log = fopen(path, "ab"); /* @fopen all */
    if (!build_log)
        err(1, "%s", path);
    if (setvbuf(build_log, NULL, _IOLBF, BUFSIZ) != 0) /* @setvbuf all */
        warnx("setvbuf");
    if (fseek(build_log, 0, SEEK_END)) /* @fseek all */
        err(1, "fseek");
    if (ftell(build_log) == 0) /* @ftell none used/ignored */
        fprintf(build_log, "# log v%d\n", 5); /* @fprintf none ignored */
}

static bool LogEdge(const struct Edge* e, long ms) {
    if (fprintf(build_log, "%ld\t%s\n", ms, e->output) < 0) /* @fprintf all */
        return false;
    return fflush(build_log) == 0; /* @fflush all */
}

static int Clean(const char* path, const struct stat* st, int type, struct FTW* ftw) {
    (void)st;
    (void)ftw;
    if (type == FTW_DP)
        return rmdir(path) < 0 && errno != ENOTEMPTY; /* @rmdir all */
    return unlink(path); /* @unlink? any */
}

static long Ms(void) {
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0) /* @clock_gettime all */
        return 0;
    return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Gone before: fine. Not to be removed: the command will tell, or not. */
static void RemoveStale(const char* path) {
    if (unlink(path) < 0 && errno == EISDIR) /* @unlink some missing=EACCES */
        errx(1, "%s is a directory", path);
}

static int Build(struct Edge* e) {
    struct Subprocess s = { .fd = -1 };
    int64_t out = TimeStamp(e->output);
    bool dirty = out <= 0;
    long start = Ms();

    for (size_t i = 0; i < e->ninputs && !dirty; i++)
        dirty = TimeStamp(e->inputs[i]) > out;
    if (!dirty)
        return 0;
    RemoveStale(e->output);
    if (!MakeDirs(e->output) || !Start(&s, e->command))
        return -1;
    Drain(&s);
    int code = Finish(&s);
    if (s.len && fwrite(s.buf, s.len, 1, stdout) < 1) /* @fwrite all */
        warn("stdout");
    close(s.fd); /* @close none ignored */
    free(s.buf);
    if (code == 0 && !LogEdge(e, Ms() - start))
        err(1, "log");
    return code;
}

/* Kept in an array, all looked at in one go further down. */
static void AllocScratch(size_t n) {
    for (int i = 0; i < 4; i++)
        scratch[i] = malloc(n << i); /* @malloc all */
}

static int ScratchReady(void) {
    for (int i = 0; i < 4; i++)
        if (!scratch[i])
            return 0;
    return 1;
}

int main(int argc, char** argv) {
    int rc, failed = 0;
    char cwd[PATH_MAX];

    if (argc > 2 && chdir(argv[2]) < 0) /* @chdir all */
        err(1, "chdir to '%s'", argv[2]);
    if (!getcwd(cwd, sizeof cwd)) /* @getcwd all */
        err(1, "getcwd");
    if (argc > 3)
        return nftw(argv[3], Clean, 16, FTW_DEPTH | FTW_PHYS) ? 1 : 0; /* @nftw all */
    AllocScratch((size_t)argc * 100);
    if (!ScratchReady())
        errx(1, "no scratch");
    strncpy(scratch[0], cwd, 100);
    if ((rc = ParseManifest(argc > 1 ? argv[1] : "build.let")) < 0)
        errx(1, "manifest: %s", strerror(-rc));
    OpenLog(".let_log");
    for (size_t i = 0; i < nedges; i++)
        failed += Build(&edges[i]) != 0;
    failed += FinishQuietly(-1);
    if (fclose(build_log) != 0) /* @fclose all */
        err(1, "log");
    return failed > 0;
}

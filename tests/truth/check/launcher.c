/* SPDX-License-Identifier: Apache-2.0 */
/* Starts programs, connects them by pipes, waits for them. */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct task {
	pid_t pid;
	int in, out;
	char **argv;
};

static int start(struct task *t)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0) /* @pipe2 all */
		return -1;
	if (pipe2(from, O_CLOEXEC) < 0) { /* @pipe2 all */
		close(to[0]); /* @close none ignored */
		close(to[1]); /* @close none ignored */
		return -1;
	}
	switch (t->pid = fork()) { /* @fork all */
	case -1:
		return -1;
	case 0:
		if (dup2(to[0], 0) == -1 || dup2(from[1], 1) == -1) /* @dup2 all */
			_exit(126);
		execvp(t->argv[0], t->argv); /* @execvp any */
		_exit(errno == ENOENT ? 127 : 126);
	default:
		break;
	}
	t->in = to[1];
	t->out = from[0];
	if (fcntl(t->out, F_SETFL, O_NONBLOCK) == -1) /* @fcntl all */
		warn("blocking reads");
	return 0;
}

/* Exit status as a shell tells it. */
static int finish(struct task *t)
{
	int status;

	while (waitpid(t->pid, &status, 0) < 0) /* @waitpid all */
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* As above, for those who need no error: the status may be anything. */
static int finish_quick(pid_t pid)
{
	int status = 0;

	waitpid(pid, &status, 0); /* @waitpid none ignored */
	return WEXITSTATUS(status);
}

static pid_t start_patiently(char **argv)
{
	pid_t pid;

	while ((pid = fork()) < 0 && errno == EAGAIN) /* @fork some missing=ENOMEM */
		sleep(1);
	if (pid == 0) {
		setpgid(0, 0); /* @setpgid none ignored */
		execv(argv[0], argv); /* @execv any */
		_exit(127);
	}
	return pid;
}

static int spawn(char **argv)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int rc;

	if (posix_spawn_file_actions_init(&actions)) /* @posix_spawn_file_actions_init any */
		return -1;
	posix_spawn_file_actions_addclose(&actions, 3); /* @posix_spawn_file_actions_addclose none ignored */
	rc = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ); /* @posix_spawnp some missing=ENOMEM */
	posix_spawn_file_actions_destroy(&actions); /* @posix_spawn_file_actions_destroy any */
	if (rc == ENOENT)
		return 127;
	return finish_quick(pid);
}

static int limit(rlim_t seconds)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_CPU, &r) != 0) /* @getrlimit all */
		return -1;
	r.rlim_cur = seconds;
	return setrlimit(RLIMIT_CPU, &r); /* @setrlimit all */
}

static void capture(const char *command, char *out, int max)
{
	FILE *p = popen(command, "r"); /* @popen none dereferenced */

	if (!fgets(out, max, p)) /* @fgets all */
		out[0] = '\0';
	if (pclose(p) == -1) /* @pclose all */
		warn("%s", command);
}

static int shell(const char *command)
{
	int rc = system(command); /* @system all */

	if (rc == -1)
		return -1;
	return WEXITSTATUS(rc);
}

int main(int argc, char **argv)
{
	struct task t = { .argv = argv + 1 };
	char line[128];
	pid_t pid;

	if (argc < 2)
		errx(2, "usage: launcher PROGRAM [ARGUMENT...]");
	if (limit(60) < 0)
		warn("no limit");
	if (start(&t) < 0)
		err(1, "%s", argv[1]);
	capture("uname -r", line, sizeof line);
	if (write(t.in, line, strlen(line)) < 0 && errno == EPIPE) /* @write some missing=EIO */
		warnx("%s does not read", argv[1]);
	close(t.in); /* @close none ignored */
	pid = start_patiently(argv + 1);
	if (kill(pid, SIGTERM)) /* @kill all */
		warn("kill");
	if (shell("true") != 0)
		warnx("no shell");
	if (nice(5) < 0) /* @nice all */
		warn("nice");
	return finish(&t) | finish_quick(pid) | spawn(argv + 1);
}

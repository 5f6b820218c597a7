/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The custom triggers of LFI's table VIII, for Apache httpd 2.4 with the prefork MPM.
 *
 * AprSocket (A): is the file or socket that is the first argument of a function of APR a socket? MethodIs (D): what is the method of
 * the request that this process works on? It is in the scoreboard, which a server with ExtendedStatus keeps. MutexHeld
 * (E): does this thread hold a mutex? It must see pthread_mutex_lock and pthread_mutex_unlock.
 */
#include <murphy/trigger.h>

#include <apr_portable.h>
#include <httpd.h>
#include <pthread.h>
#include <scoreboard.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int apr_socket(struct murphy_trigger *t, const struct murphy_call *call) {
  apr_os_file_t fd = -1;
  struct stat s;
  (void)t;
  if (call->function[4] != 'f') return 1; /* apr_socket_... */
  return apr_os_file_get(&fd, (apr_file_t *)call->args[0]) == 0 && fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode);
}

MURPHY_TRIGGER(AprSocket, .eval = apr_socket);

extern scoreboard *ap_scoreboard_image __attribute__((weak));

/* The slot of this process; -1 if it must be looked for, as in a child that was just forked. */
static int slot = -1;

static void forget(void) { slot = -1; }

struct method {
  const char *text;
  size_t length;
};

static int method_init(struct murphy_trigger *t) {
  struct method *m = t->state;
  m->text = murphy_trigger_text(t, "method", "POST");
  m->length = strlen(m->text);
  return pthread_atfork(NULL, NULL, forget);
}

static int own_slot(const scoreboard *board) {
  pid_t self = getpid();
  for (int i = 0; i < board->global->server_limit; i++)
    if (board->parent[i].pid == self) return i;
  return -1;
}

static int method_is(struct murphy_trigger *t, const struct murphy_call *call) {
  (void)call;
  if (!&ap_scoreboard_image || !ap_scoreboard_image) return 0;
  if (slot < 0) slot = own_slot(ap_scoreboard_image);
  if (slot < 0) return 0;
  const struct method *m = t->state;
  return strncmp(ap_scoreboard_image->servers[slot][0].request, m->text, m->length) == 0;
}

MURPHY_TRIGGER(MethodIs, .init = method_init, .eval = method_is, .state_size = sizeof(struct method));

static __thread int held;

static int mutex_held(struct murphy_trigger *t, const struct murphy_call *call) {
  (void)t;
  if (call->function[0] != 'p') return held > 0;
  held += strcmp(call->function, "pthread_mutex_lock") == 0 ? 1 : -1;
  return 0;
}

MURPHY_TRIGGER(MutexHeld, .eval = mutex_held);

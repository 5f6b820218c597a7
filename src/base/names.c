/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of errno values and signals, as Linux on x86-64 numbers them.
 *
 * Tables of constants only. Where two names share a number, the table has the one that the manual pages use in their
 * lists of errors, and the other is an alias.
 */
#include "base/base.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define N(name) [name] = #name

/* 41 and 58 were never given out: they would be EWOULDBLOCK and EDEADLOCK. */
/* clang-format off */
static const char *const errno_names[] = {
    N(EPERM), N(ENOENT), N(ESRCH), N(EINTR), N(EIO), N(ENXIO), N(E2BIG), N(ENOEXEC), N(EBADF), N(ECHILD), N(EAGAIN),
    N(ENOMEM), N(EACCES), N(EFAULT), N(ENOTBLK), N(EBUSY), N(EEXIST), N(EXDEV), N(ENODEV), N(ENOTDIR), N(EISDIR),
    N(EINVAL), N(ENFILE), N(EMFILE), N(ENOTTY), N(ETXTBSY), N(EFBIG), N(ENOSPC), N(ESPIPE), N(EROFS), N(EMLINK),
    N(EPIPE), N(EDOM), N(ERANGE), N(EDEADLK), N(ENAMETOOLONG), N(ENOLCK), N(ENOSYS), N(ENOTEMPTY), N(ELOOP),
    N(ENOMSG), N(EIDRM), N(ECHRNG), N(EL2NSYNC), N(EL3HLT), N(EL3RST), N(ELNRNG), N(EUNATCH), N(ENOCSI), N(EL2HLT),
    N(EBADE), N(EBADR), N(EXFULL), N(ENOANO), N(EBADRQC), N(EBADSLT), N(EBFONT), N(ENOSTR), N(ENODATA), N(ETIME),
    N(ENOSR), N(ENONET), N(ENOPKG), N(EREMOTE), N(ENOLINK), N(EADV), N(ESRMNT), N(ECOMM), N(EPROTO), N(EMULTIHOP),
    N(EDOTDOT), N(EBADMSG), N(EOVERFLOW), N(ENOTUNIQ), N(EBADFD), N(EREMCHG), N(ELIBACC), N(ELIBBAD), N(ELIBSCN),
    N(ELIBMAX), N(ELIBEXEC), N(EILSEQ), N(ERESTART), N(ESTRPIPE), N(EUSERS), N(ENOTSOCK), N(EDESTADDRREQ),
    N(EMSGSIZE), N(EPROTOTYPE), N(ENOPROTOOPT), N(EPROTONOSUPPORT), N(ESOCKTNOSUPPORT), N(EOPNOTSUPP),
    N(EPFNOSUPPORT), N(EAFNOSUPPORT), N(EADDRINUSE), N(EADDRNOTAVAIL), N(ENETDOWN), N(ENETUNREACH), N(ENETRESET),
    N(ECONNABORTED), N(ECONNRESET), N(ENOBUFS), N(EISCONN), N(ENOTCONN), N(ESHUTDOWN), N(ETOOMANYREFS), N(ETIMEDOUT),
    N(ECONNREFUSED), N(EHOSTDOWN), N(EHOSTUNREACH), N(EALREADY), N(EINPROGRESS), N(ESTALE), N(EUCLEAN), N(ENOTNAM),
    N(ENAVAIL), N(EISNAM), N(EREMOTEIO), N(EDQUOT), N(ENOMEDIUM), N(EMEDIUMTYPE), N(ECANCELED), N(ENOKEY),
    N(EKEYEXPIRED), N(EKEYREVOKED), N(EKEYREJECTED), N(EOWNERDEAD), N(ENOTRECOVERABLE), N(ERFKILL), N(EHWPOISON)
};
/* clang-format on */

_Static_assert(COUNT(errno_names) == ERRNO_MAX + 1, "the last errno");

static const struct {
  const char *name;
  int number;
} errno_aliases[] = {{"EWOULDBLOCK", EWOULDBLOCK}, {"EDEADLOCK", EDEADLOCK}, {"ENOTSUP", ENOTSUP}};

/* The real-time signals as kill -l says them; the C library keeps 32 and 33 for itself. */
/* clang-format off */
static const char *const signal_names[] = {
    N(SIGHUP), N(SIGINT), N(SIGQUIT), N(SIGILL), N(SIGTRAP), N(SIGABRT), N(SIGBUS), N(SIGFPE), N(SIGKILL), N(SIGUSR1),
    N(SIGSEGV), N(SIGUSR2), N(SIGPIPE), N(SIGALRM), N(SIGTERM), N(SIGSTKFLT), N(SIGCHLD), N(SIGCONT), N(SIGSTOP),
    N(SIGTSTP), N(SIGTTIN), N(SIGTTOU), N(SIGURG), N(SIGXCPU), N(SIGXFSZ), N(SIGVTALRM), N(SIGPROF), N(SIGWINCH),
    N(SIGIO), N(SIGPWR), N(SIGSYS), [34] = "SIGRTMIN", [35] = "SIGRTMIN+1", [36] = "SIGRTMIN+2", [37] = "SIGRTMIN+3",
    [38] = "SIGRTMIN+4", [39] = "SIGRTMIN+5", [40] = "SIGRTMIN+6", [41] = "SIGRTMIN+7", [42] = "SIGRTMIN+8",
    [43] = "SIGRTMIN+9", [44] = "SIGRTMIN+10", [45] = "SIGRTMIN+11", [46] = "SIGRTMIN+12", [47] = "SIGRTMIN+13",
    [48] = "SIGRTMIN+14", [49] = "SIGRTMIN+15", [50] = "SIGRTMAX-14", [51] = "SIGRTMAX-13", [52] = "SIGRTMAX-12",
    [53] = "SIGRTMAX-11", [54] = "SIGRTMAX-10", [55] = "SIGRTMAX-9", [56] = "SIGRTMAX-8", [57] = "SIGRTMAX-7",
    [58] = "SIGRTMAX-6", [59] = "SIGRTMAX-5", [60] = "SIGRTMAX-4", [61] = "SIGRTMAX-3", [62] = "SIGRTMAX-2",
    [63] = "SIGRTMAX-1", [64] = "SIGRTMAX"
};
/* clang-format on */

const char *errno_name(int value) {
  return value > 0 && (size_t)value < COUNT(errno_names) ? errno_names[value] : NULL;
}

int errno_number(const char *name) {
  if (name[0] != 'E') return 0;
  for (size_t i = 1; i < COUNT(errno_names); i++)
    if (errno_names[i] && errno_names[i][1] == name[1] && strcmp(errno_names[i], name) == 0) return (int)i;
  for (size_t i = 0; i < COUNT(errno_aliases); i++)
    if (strcmp(errno_aliases[i].name, name) == 0) return errno_aliases[i].number;
  return 0;
}

const char *signal_name(int number) {
  return number > 0 && (size_t)number < COUNT(signal_names) ? signal_names[number] : NULL;
}

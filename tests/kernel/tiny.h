/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel's sources have in their headers: numbers of errors, pointers that are errors, and the few lines of
 * assembler that leave entries in the tables of the image. The layout of those entries is that of Linux on x86-64.
 */
#pragma once

enum {
  EPERM = 1,
  ENOENT = 2,
  ESRCH = 3,
  EINTR = 4,
  EIO = 5,
  ENXIO = 6,
  E2BIG = 7,
  EBADF = 9,
  ECHILD = 10,
  EAGAIN = 11,
  ENOMEM = 12,
  EACCES = 13,
  EFAULT = 14,
  EBUSY = 16,
  EEXIST = 17,
  EXDEV = 18,
  ENODEV = 19,
  ENOTDIR = 20,
  EISDIR = 21,
  EINVAL = 22,
  ENFILE = 23,
  EMFILE = 24,
  ENOTTY = 25,
  ETXTBSY = 26,
  EFBIG = 27,
  ENOSPC = 28,
  ESPIPE = 29,
  EROFS = 30,
  EMLINK = 31,
  EPIPE = 32,
  EDOM = 33,
  ERANGE = 34,
  EDEADLK = 35,
  ENOLCK = 37,
  ENOSYS = 38,
  ELOOP = 40,
  ENODATA = 61,
  EPROTO = 71,
  EOVERFLOW = 75,
  EUSERS = 87,
  ENOTSOCK = 88,
  EMSGSIZE = 90,
  EOPNOTSUPP = 95,
  EADDRINUSE = 98,
  ENETDOWN = 100,
  ENOBUFS = 105,
  ENOTCONN = 107,
  ETIMEDOUT = 110,
  EALREADY = 114,
  ESTALE = 116,
  ECANCELED = 125,
  /* The kernel's own: they do not reach programs under these names. */
  ERESTARTSYS = 512,
  ERESTARTNOINTR = 513,
  ENOIOCTLCMD = 515,
  ENOTSUPP = 524
};

#define NULL ((void *)0)
#define noinline __attribute__((noinline))
/* As if it stood in another file: the compiler knows only its type. */
#define elsewhere __attribute__((noipa))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

typedef unsigned long size_t;
typedef _Bool bool;

struct pt_regs {
  unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};

/* --- pointers that are errors ------------------------------------------------------------------------------------- */

#define MAX_ERRNO 4095
#define IS_ERR_VALUE(x) unlikely((unsigned long)(void *)(x) >= (unsigned long)-MAX_ERRNO)

static inline void *ERR_PTR(long error) { return (void *)error; }
static inline long PTR_ERR(const void *p) { return (long)p; }
static inline bool IS_ERR(const void *p) { return IS_ERR_VALUE((unsigned long)p); }
static inline bool IS_ERR_OR_NULL(const void *p) { return unlikely(!p) || IS_ERR_VALUE((unsigned long)p); }
static inline int PTR_ERR_OR_ZERO(const void *p) { return IS_ERR(p) ? (int)PTR_ERR(p) : 0; }

/* --- system calls ------------------------------------------------------------------------------------------------- */

/* A system call; its address goes to sys_call_table, in the order of the source. */
#define CALL(name)                                                                                                     \
  long __x64_sys_##name(const struct pt_regs *regs);                                                                   \
  asm(".pushsection .calls, \"a\"\n.quad __x64_sys_" #name "\n.popsection");                                           \
  long __x64_sys_##name(const struct pt_regs *regs)

/* --- static keys -------------------------------------------------------------------------------------------------- */

struct static_key {
  int enabled;
  unsigned long entries;
};

/* Off: a nop that is made a jump when the key is switched on. */
static inline __attribute__((always_inline)) bool static_branch_unlikely(struct static_key *key) {
  asm goto("1: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
           ".pushsection __jump_table, \"aw\"\n"
           ".balign 8\n"
           ".long 1b - ., %l[on] - .\n"
           ".quad %c0 - .\n"
           ".popsection\n"
           :
           : "i"(key)
           :
           : on);
  return 0;
on:
  return 1;
}

/* --- traps -------------------------------------------------------------------------------------------------------- */

#define BUGFLAG_WARNING 1

#define TRAP(flags)                                                                                                    \
  asm volatile("1: ud2\n"                                                                                              \
               ".pushsection __bug_table, \"aw\"\n"                                                                    \
               "2: .long 1b - 2b, %c0 - 2b\n"                                                                          \
               ".word %c1, %c2\n"                                                                                      \
               ".org 2b + 12\n"                                                                                        \
               ".popsection\n"                                                                                         \
               :                                                                                                       \
               : "i"(__FILE__), "i"(__LINE__), "i"(flags))

#define WARN_ON(condition)                                                                                             \
  (unlikely(!!(condition)) ? ({                                                                                        \
    TRAP(BUGFLAG_WARNING);                                                                                             \
    1;                                                                                                                 \
  })                                                                                                                   \
                           : 0)

/* --- memory of programs ------------------------------------------------------------------------------------------- */

#define EX_TYPE_DEFAULT 1
#define EX_TYPE_UACCESS 3
#define EX_TYPE_EFAULT_AX (17 | 0 << 8 | -EFAULT << 16) /* EX_TYPE_IMM_REG, rax, -EFAULT */

#define FAULT(from, to, type)                                                                                          \
  ".pushsection __ex_table, \"a\"\n"                                                                                   \
  ".balign 4\n"                                                                                                        \
  ".long (" from ") - ., (" to ") - ., " type "\n"                                                                     \
  ".popsection\n"

/* The fault goes to a label of C, as where the compiler has asm goto with outputs. */
#define unsafe_get_user(x, p, label)                                                                                   \
  asm goto("1: movl %1, %k0\n" FAULT("1b", "%l[" #label "]", "3") : "=r"(x) : "m"(*(p)) : : label)

/* The fault sets a register and goes on behind the access. */
static inline int raw_get_user(unsigned *to, const unsigned *p) {
  int error = 0;
  unsigned x = 0;
  asm volatile("1: movl %2, %1\n"
               "2:\n" FAULT("1b", "2b", "%c3")
               : "+a"(error), "=r"(x)
               : "m"(*p), "i"(EX_TYPE_EFAULT_AX));
  *to = x;
  return error;
}

/* Out of line: the pointer in rax and the value in rdx, the result in rax. */
static inline int get_user(unsigned *to, const unsigned *p) {
  int error;
  unsigned long x;
  register unsigned long sp asm("rsp");
  asm volatile("call __get_user_4" : "=a"(error), "=d"(x), "+r"(sp) : "0"(p));
  *to = (unsigned)x;
  return error;
}

/* The pointer in rcx and the value in rax, the result in rcx. */
static inline int put_user(unsigned x, unsigned *p) {
  int error;
  register unsigned long sp asm("rsp");
  asm volatile("call __put_user_4" : "=c"(error), "+r"(sp) : "0"(p), "a"(x) : "ebx");
  return error;
}

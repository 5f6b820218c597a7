/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel of a few system calls, each written the way that kernels are written, and what it can return.
 *
 * It is compiled and linked as Linux is (build.sh), and never run: a vmlinux whose errors are known. What is expected
 * stands in the comments, for expect.py:
 *
 *   expect NAME: ERRNO...         what the system call returns, with the ways of tiny.ways
 *   expect NAME all: ERRNO...     the same with --all, where that differs
 *   why NAME:ERRNO: WORD...        words that --why has, in this order
 *   unknown NAME                  it says itself that there may be more
 *   todo NAME: REASON             it is known that this is not found
 */
#include "tiny.h"

const char linux_banner[] = "Linux version 6.1.0-tiny (nobody@nowhere) (gcc) #1 SMP\n";

/* What the compiler calls with -mindirect-branch and -mfunction-return, -pg -mfentry; what asm calls. */
asm(".text\n"
    ".macro thunk reg\n"
    ".globl __x86_indirect_thunk_\\reg\n"
    ".type __x86_indirect_thunk_\\reg, @function\n"
    "__x86_indirect_thunk_\\reg:\n"
    "  call 1f\n"
    "2: pause\n"
    "  jmp 2b\n"
    "1: mov %\\reg, (%rsp)\n"
    "  ret\n"
    ".size __x86_indirect_thunk_\\reg, . - __x86_indirect_thunk_\\reg\n"
    ".endm\n"
    ".irp reg, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
    "thunk \\reg\n"
    ".endr\n"
    ".globl __x86_return_thunk\n"
    ".type __x86_return_thunk, @function\n"
    "__x86_return_thunk: ret; int3\n"
    ".size __x86_return_thunk, . - __x86_return_thunk\n"
    ".globl __fentry__\n"
    ".type __fentry__, @function\n"
    "__fentry__: jmp __x86_return_thunk\n"
    ".size __fentry__, . - __fentry__\n"
    ".globl __get_user_4\n"
    ".type __get_user_4, @function\n"
    "__get_user_4:\n"
    "1: movl (%rax), %edx\n"
    "  xor %eax, %eax\n"
    "  jmp __x86_return_thunk\n"
    "2: xor %edx, %edx\n"
    "  mov $-14, %rax\n"
    "  jmp __x86_return_thunk\n"
    ".size __get_user_4, . - __get_user_4\n" FAULT("1b", "2b",
                                                   "3") ".globl __put_user_4\n"
                                                        ".type __put_user_4, @function\n"
                                                        "__put_user_4:\n"
                                                        "1: movl %eax, (%rcx)\n"
                                                        "  xor %ecx, %ecx\n"
                                                        "  jmp __x86_return_thunk\n"
                                                        "2: mov $-14, %ecx\n"
                                                        "  jmp __x86_return_thunk\n"
                                                        ".size __put_user_4, . - __put_user_4\n" FAULT("1b", "2b",
                                                                                                       "3"));

/* --- constants ---------------------------------------------------------------------------------------------------- */

/* expect constant: EINVAL */
CALL(constant) { return regs->di ? -EINVAL : 0; }

/* expect succeeds: */
CALL(succeeds) { return (long)(regs->di & 4095); }

elsewhere int narrow(int x) { return x > 3 ? -EBUSY : x; }
elsewhere long wide(long x) {
  if (x > 5) return -EXDEV;
  return x < 0 ? -E2BIG : x;
}

/* expect widths: EBUSY EXDEV E2BIG */
CALL(widths) {
  int error = narrow((int)regs->di);
  if (error < 0) return error;
  return wide((long)regs->si);
}

/* A sum of errors and counts, as read and write return it. */
elsewhere long transfer(size_t n) { return n > 100 ? -EIO : (long)n; }

/* expect partial: EIO ENOMEM */
CALL(partial) {
  long done = 0, n, error = -ENOMEM;
  if (!regs->di) goto out;
  do {
    n = transfer(regs->di);
    if (n < 0) break;
    done += n;
  } while (done < 1000);
  error = done ? done : n;
out:
  return error;
}

/* expect elvis: ENODEV EPERM
   What a called function does not say is EPERM. */
elsewhere int maybe(int x) { return x == 1 ? -ENODEV : x == 2; }
CALL(elvis) { return maybe((int)regs->di) ?: -EPERM; }

/* --- pointers that are errors ------------------------------------------------------------------------------------- */

struct inode;
struct file;

struct file_operations {
  const char *owner;
  long (*read)(struct file *file, char *to, size_t n);
  long (*write)(struct file *file, const char *from, size_t n);
  int (*flush)(struct file *file);
};

struct inode_operations {
  int (*permission)(struct inode *inode, int mask);
  int (*create)(struct inode *inode, const char *name);
};

struct inode {
  unsigned mode;
  const struct inode_operations *i_op;
};

struct file {
  unsigned mode;
  struct inode *f_inode;
  const struct file_operations *f_op;
  void *private_data;
};

static struct file files[16];

elsewhere struct file *fget(unsigned fd) { return fd < 16 ? &files[fd] : NULL; }

elsewhere struct file *open_file(const char *name) {
  if (!name) return ERR_PTR(-ENOENT);
  if (*name == '/') return NULL;
  return *name == '.' ? ERR_PTR(-EISDIR) : &files[0];
}

/* expect err_ptr: ENOENT EISDIR ENOMEM */
CALL(err_ptr) {
  struct file *file = open_file((const char *)regs->di);
  if (IS_ERR(file)) return PTR_ERR(file);
  if (!file) return -ENOMEM;
  return file->mode & 4095;
}

/* expect err_ptr_int: ENOENT EISDIR */
CALL(err_ptr_int) { return PTR_ERR_OR_ZERO(open_file((const char *)regs->di)); }

/* What is behind ERR_CAST and its like: an error passes through another type of pointer. */
elsewhere struct inode *open_inode(const char *name) {
  struct file *file = open_file(name);
  if (IS_ERR_OR_NULL(file)) return file ? (struct inode *)file : ERR_PTR(-ESTALE);
  return file->f_inode;
}

/* expect err_cast: ENOENT EISDIR ESTALE */
CALL(err_cast) {
  struct inode *inode = open_inode((const char *)regs->di);
  return IS_ERR(inode) ? PTR_ERR(inode) : 0;
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

elsewhere int try_lock(int x) { return x == 1 ? -EAGAIN : x == 2 ? -EDEADLK : 0; }

/* expect retries: EDEADLK */
CALL(retries) {
  int error;
  do
    error = try_lock((int)regs->di);
  while (error == -EAGAIN);
  return error;
}

elsewhere int driver_control(unsigned command) {
  if (command == 1) return -ENOIOCTLCMD;
  return command == 2 ? -EMLINK : 0;
}

/* expect translates: ENOTTY EMLINK */
CALL(translates) {
  int error = driver_control((unsigned)regs->si);
  if (error == -ENOIOCTLCMD) error = -ENOTTY;
  return error;
}

/* expect swallows: ELOOP
   What is called fails, and nobody hears of it. */
CALL(swallows) {
  if (driver_control((unsigned)regs->si) < 0) return -ELOOP;
  return 0;
}

elsewhere int waits(int x) { return x ? -ERESTARTSYS : 0; }

/* expect restarts: EINTR */
CALL(restarts) { return waits((int)regs->di); }

/* expect restarts_unseen: */
CALL(restarts_unseen) { return regs->di ? -ERESTARTNOINTR : 0; }

/* expect inner_code: ERANGE */
CALL(inner_code) { return regs->di ? -ENOTSUPP : regs->si ? -ERANGE : 0; }

static int logged;
elsewhere int report(int error) {
  logged = error;
  return error;
}

/* expect given: EDOM ECHILD */
CALL(given) {
  if (regs->di) return report(-EDOM);
  return report(regs->si ? -ECHILD : 0);
}

/* expect given_positive: EDOM
   As libraries have it that came from elsewhere: the number, not its negative. */
elsewhere int fail(int number) {
  logged = number;
  return -number;
}
CALL(given_positive) { return regs->di ? fail(EDOM) : 0; }

/* expect given_mask: ENFILE
   All ones is EPERM only if it comes back as it was. */
elsewhere long mask_of(long mask, int shift) {
  logged = shift;
  return mask & 0xfff;
}
CALL(given_mask) {
  long mask = regs->di ? mask_of(-1, 1) : 0;
  return mask > 1 ? mask : -ENFILE;
}

/* What a function returns may depend on a constant that it is given. */
elsewhere int either(int x, int mode) {
  if (mode == 1) return x > 4 ? -ETXTBSY : 0;
  if (mode == 2 && x < 4) return -ESPIPE;
  return x == 7 ? -EROFS : 0;
}

/* expect mode_one: ETXTBSY */
CALL(mode_one) { return either((int)regs->di, 1); }

/* expect mode_two: ESPIPE EROFS */
CALL(mode_two) { return either((int)regs->di, 2); }

/* expect mode_any: ETXTBSY ESPIPE EROFS */
CALL(mode_any) { return either((int)regs->di, (int)regs->si); }

/* Two that call each other. */
elsewhere int odd(unsigned n);
elsewhere int even(unsigned n) { return n == 99 ? -ENOLCK : n ? odd(n - 1) : 0; }
elsewhere int odd(unsigned n) { return n == 77 ? -EALREADY : n ? even(n - 1) : 1; }

/* expect circle: ENOLCK EALREADY */
CALL(circle) {
  int r = even((unsigned)regs->di);
  return r < 0 ? r : 0;
}

/* A copy of a function for one value of an argument is still that function. */
static noinline int check_mode(int mode, int strict) {
  logged = mode;
  return strict && mode > 7 ? -EINVAL : mode < 0 ? -ERANGE : 0;
}

/* expect copied: EINVAL ERANGE */
CALL(copied) { return check_mode((int)regs->di, 1); }

/* An address, or an error: none is at the start of a page. */
elsewhere unsigned long find_area(unsigned long n) {
  return n > 1ul << 40 ? -ENOMEM : n < 4096 ? -EINVAL : n & ~4095ul;
}

/* expect area: ENOMEM EINVAL EAGAIN */
CALL(area) {
  unsigned long at = find_area(regs->di);
  if (at & 4095) return (long)at;
  return at > 1ul << 20 ? -EAGAIN : (long)at;
}

__attribute__((noreturn)) elsewhere void do_exit(long code) {
  logged = (int)code;
  for (;;)
    asm volatile("hlt");
}

/* expect exit: */
CALL(exit) { do_exit((long)regs->di); }
elsewhere int behind_exit(int x) { return x ? -EPROTO : 0; }

/* --- an error behind a pointer ------------------------------------------------------------------------------------ */

struct buffer {
  int size;
};
static struct buffer buffers[4];

elsewhere struct buffer *get_buffer(unsigned n, int *error) {
  if (n > 4) {
    *error = -ENOBUFS;
    return NULL;
  }
  if (buffers[n].size) {
    *error = -EMSGSIZE;
    return NULL;
  }
  return &buffers[n];
}

elsewhere struct buffer *get_large_buffer(unsigned n, int *error) {
  struct buffer *b = get_buffer(n + 1, error);
  if (b) b->size = 1;
  return b;
}

/* expect out: ENOBUFS EMSGSIZE */
CALL(out) {
  int error = 0;
  struct buffer *b = get_buffer((unsigned)regs->di, &error);
  return b ? b->size & 1 : error;
}

/* expect out_handed_on: ENOBUFS EMSGSIZE
   why out_handed_on:ENOBUFS: get_large_buffer get_buffer */
CALL(out_handed_on) {
  int error = 0;
  struct buffer *b = get_large_buffer((unsigned)regs->di, &error);
  return b ? b->size & 1 : error;
}

/* expect out_member: EMSGSIZE
   todo out_member: only what is stored at the start of what an argument points to is followed */
struct request {
  unsigned flags;
  int error;
  long done;
};
elsewhere void do_request(struct request *request, unsigned n) {
  if (n > 4)
    request->error = -EMSGSIZE;
  else
    request->done = n;
}
CALL(out_member) {
  struct request request = {.flags = (unsigned)regs->si};
  do_request(&request, (unsigned)regs->di);
  return request.error ?: request.done & 1;
}

/* --- what the kernel does to its own code ------------------------------------------------------------------------- */

static struct static_key accounting;

/* expect switched: EUSERS
   Only behind a jump that is not there yet. */
CALL(switched) {
  if (static_branch_unlikely(&accounting)) return -EUSERS;
  return 0;
}

/* expect fault_label: EFAULT */
CALL(fault_label) {
  unsigned x;
  unsafe_get_user(x, (const unsigned *)regs->di, failed);
  return x & 1;
failed:
  return -EFAULT;
}

/* expect fault_register: EFAULT */
CALL(fault_register) {
  unsigned x;
  int error = raw_get_user(&x, (const unsigned *)regs->di);
  return error ? error : (long)(x & 1);
}

/* expect fault_get: EFAULT EINVAL */
CALL(fault_get) {
  unsigned x;
  int error = get_user(&x, (const unsigned *)regs->di);
  if (error) return error;
  return x > 7 ? -EINVAL : 0;
}

/* expect fault_put: EFAULT */
CALL(fault_put) { return put_user(7, (unsigned *)regs->di); }

/* expect warns: EINVAL */
CALL(warns) {
  if (WARN_ON(regs->di > 4)) return -EINVAL;
  return 0;
}

/* expect stops: EOVERFLOW
   Behind the trap stands what would return ENXIO. */
CALL(stops) {
  if (regs->di > 4) {
    TRAP(0);
    return -ENXIO;
  }
  return regs->si ? -EOVERFLOW : 0;
}

/* As clang returns. */
asm(".text\n.globl hasty\n.type hasty, @function\n"
    "hasty: mov $-71, %eax\ntest %edi, %edi\nje __x86_return_thunk\nxor %eax, %eax\njmp __x86_return_thunk\n"
    ".size hasty, . - hasty\n");
int hasty(int x);

/* expect hasty: EPROTO */
CALL(hasty) { return hasty((int)regs->di); }

/* A static call is a jump that is written over. */
elsewhere int preempt(int x) { return x ? -ECANCELED : 0; }
asm(".text\n.globl __SCT__preempt\n.type __SCT__preempt, @function\n"
    "__SCT__preempt: jmp preempt\nint3\nint3\nint3\n.size __SCT__preempt, . - __SCT__preempt\n");
int __SCT__preempt(int x);

/* expect static_call: ECANCELED */
CALL(static_call) { return __SCT__preempt((int)regs->di); }

#include "tables.c"

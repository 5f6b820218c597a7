/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte formats that murphy and the target share: the plan, the shim's table, the area with events and counts.
 *
 * Freestanding: fixed-width fields, no pointers in files, no libc. A plan is mapped, never parsed; wire_plan_check
 * looks at every index in it once, before anything uses it. Numbers are little-endian, as the machine's. Each format
 * has its own version; a reader refuses one that it does not know.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of plan, shim and area; raised with every change of a layout or a meaning in them (tests/unit/wire_test.c looks). */
#define WIRE_VERSION                                                                                                   \
  6 /* 6: a list of orders; 5: wire_point has `local`; 4: WIRE_HOOK_END, troubles, `pending`; WIRE_HOOK_PIN and _MAP */

/* --- plan --------------------------------------------------------------------------------------------------------- */

#define WIRE_PLAN_MAGIC 0x4e414c504850524dull /* "MRPHPLAN" */

/* Where an array is: bytes from the start of the plan, aligned to 8, and how many elements. */
struct wire_span {
  uint32_t at, n;
};

enum wire_plan_flag {
  WIRE_FOLLOW = 1, /* into programs that the target starts */
  WIRE_COUNT = 2,  /* count the calls of each function in the area, for the reach report */
  WIRE_POINTS = 4, /* record each call stack that reaches a function in the area's table of points */
};

/*
 * The start of a plan. Strings are offsets into `text` (a span of bytes whose last is 0); offset 0 is the empty string.
 */
struct wire_plan {
  uint64_t magic;
  uint32_t version;
  uint32_t header;  /* sizeof(struct wire_plan) of who wrote it */
  uint64_t size;    /* of the whole plan */
  uint64_t sum;     /* wire_sum() over all behind this field */
  uint32_t flags;   /* of enum wire_plan_flag */
  uint32_t slots;   /* number of 64-bit state slots that the conditions use; 0 at the start of each process image */
  uint64_t seed;    /* of everything random */
  uint32_t area;    /* text: path of the area's file */
  uint32_t preload; /* text: what LD_PRELOAD must hold in programs that are followed into */
  struct wire_span text;      /* char */
  struct wire_span functions; /* struct wire_function */
  struct wire_span rules;     /* struct wire_rule */
  struct wire_span code;      /* uint32_t: instructions, enum wire_op */
  struct wire_span numbers;   /* int64_t: constants of the code */
  struct wire_span faults;    /* struct wire_fault */
  struct wire_span sides;     /* struct wire_side */
  struct wire_span modules;   /* struct wire_module */
  struct wire_span places;    /* struct wire_place: sets of code addresses */
  struct wire_span patterns;  /* struct wire_pattern: frames of a stack */
  struct wire_span rows;      /* struct wire_row: unwind tables of all modules */
  struct wire_span triggers;  /* struct wire_trigger: what is asked outside of the plan */
  struct wire_span settings;  /* struct wire_setting: their arguments */
  struct wire_span tables;    /* uint16_t: automata of regular expressions */
  struct wire_span variables; /* struct wire_variable */
  struct wire_span locations; /* struct wire_location */
  struct wire_span memories;  /* uint32_t, text: files with the stacks that were seen; 0: in memory */
  uint32_t thread_slots;      /* number of 64-bit slots of each thread; the first WIRE_THREAD_OWN are the runtime's */
  uint32_t pad;
};

/* Slots of a thread that the runtime itself uses. */
enum wire_thread_slot {
  WIRE_THREAD_TID,    /* whose the slots are */
  WIRE_THREAD_NUMBER, /* of the thread, from 1 */
  WIRE_THREAD_LOCKS,  /* how many locks it holds */
  WIRE_THREAD_BEFORE, /* how many bytes it had written when the call began that it is in, plus 2 */
  WIRE_THREAD_OWN
};

enum wire_function_flag {
  WIRE_ALWAYS_IN = 1,   /* the runtime needs it for itself (exec, dlopen, dlsym); rules may be empty */
  WIRE_ONLY_COUNTS = 2, /* the conditions of all its rules depend on the call's number alone */
  WIRE_LATER = 4, /* nothing that is loaded at the start defines it: the shim hides it until a library is opened */
};

/* An intercepted function. Function i has entry i in the shim's table. */
struct wire_function {
  uint32_t name;
  uint32_t version; /* text: symbol version that this entry is for; 0 for all of them */
  uint32_t rule;    /* its rules are rules[rule .. rule + n_rules), in order; the first that holds injects */
  uint32_t n_rules;
  uint16_t flags;    /* of enum wire_function_flag */
  uint8_t n_args;    /* integer arguments worth logging, at most 6 */
  int8_t descriptor; /* which argument is a descriptor, from 0; -1 if none */
  int8_t size;       /* which argument is a size in bytes; -1 if none */
  int8_t stream;     /* which argument is a FILE *; -1 if none, or WIRE_STDIN, WIRE_STDOUT */
  uint16_t hook;     /* of enum wire_hook: what the runtime does itself around the call */
  uint32_t written;  /* text: the name that programmers know it by, if that is another one; else 0 */
};

enum { WIRE_STDIN = -2, WIRE_STDOUT = -3 };

enum wire_hook {
  WIRE_HOOK_NONE,
  WIRE_HOOK_EXECVE, /* (path, argv, envp), and fexecve (fd, argv, envp) */
  WIRE_HOOK_EXECVEAT,
  WIRE_HOOK_EXECV,   /* (path, argv): the environment is the process's */
  WIRE_HOOK_EXECVPE, /* as EXECVE */
  WIRE_HOOK_SPAWN,   /* posix_spawn, posix_spawnp: argument 5 is envp */
  WIRE_HOOK_DLOPEN,  /* the list of modules changes */
  WIRE_HOOK_DLCLOSE,
  WIRE_HOOK_DLSYM, /* (handle, name): an address of an intercepted function becomes its stub's */
  WIRE_HOOK_DLVSYM,
  WIRE_HOOK_MAIN,   /* __libc_start_main */
  WIRE_HOOK_EXECVP, /* as EXECV, but looks for the program in PATH */
  WIRE_HOOK_EXECL,  /* (path, argument..., NULL) */
  WIRE_HOOK_EXECLP,
  WIRE_HOOK_EXECLE, /* (path, argument..., NULL, envp) */
  WIRE_HOOK_SYSTEM, /* system, popen: libc starts a shell with the process's environment */
  WIRE_HOOK_DLADDR, /* (address, ...): what is asked about a stub is asked about the real function */
  WIRE_HOOK_FORK,   /* (): the child gets its number before anything else */
  WIRE_HOOK_LOOK,   /* (path, struct stat *): tells which numbers a file has */
  WIRE_HOOK_SELF,   /* returns the number of this process, or of one that may be its parent */
  WIRE_HOOK_LOCK,   /* a lock is held if it returns 0 */
  WIRE_HOOK_UNLOCK,
  WIRE_HOOK_OUTPUT,     /* as many bytes as it returns were written to descriptor `descriptor` */
  WIRE_HOOK_MESSAGES,   /* (descriptor, struct mmsghdr *, ...): what of as many as it returns says was written */
  WIRE_HOOK_CLOSE_ALL,  /* (first): all descriptors from that one on will be others */
  WIRE_HOOK_CLOSE_SOME, /* (first, last, flags): those up to the last one, unless the flags say later */
  WIRE_HOOK_CLOSE,      /* the descriptor will be another one; or that of the stream */
  WIRE_HOOK_DUP,        /* what it returns is another number of the same open file */
  WIRE_HOOK_FCNTL,      /* (descriptor, request): the same for some requests */
  WIRE_HOOK_STREAM,     /* what the thread writes meanwhile goes to the descriptor, or to that of the stream */
  WIRE_HOOK_LOOK_FILE,  /* (fd, struct stat *) */
  WIRE_HOOK_LOOK_AT,    /* (fd, path, struct stat *, flags) */
  WIRE_HOOK_LOOK_X,     /* (fd, path, flags, mask, struct statx *) */
  WIRE_HOOK_LOOK_OLD,   /* as LOOK, LOOK_FILE and LOOK_AT, with a version before the other arguments */
  WIRE_HOOK_LOOK_FILE_OLD,
  WIRE_HOOK_LOOK_AT_OLD,
  WIRE_HOOK_TELL,       /* tells such numbers in another way */
  WIRE_HOOK_MOVE,       /* takes names from files, or gives them others */
  WIRE_HOOK_WHOM,       /* the first argument is the number of a process, or with a minus of a group */
  WIRE_HOOK_WHOM_2,     /* ... the second */
  WIRE_HOOK_WHOMS,      /* ... both */
  WIRE_HOOK_ADVISE,     /* (address, size, advice): madvise, which can keep memory from a fork's child */
  WIRE_HOOK_ENTRY,      /* (DIR *): returns struct dirent *, which tells the inode of a file */
  WIRE_HOOK_ENTRY_INTO, /* (DIR *, struct dirent *, struct dirent **) */
  WIRE_HOOK_ENTRIES,    /* (fd, buffer, size): returns how many bytes of struct dirent */
  WIRE_HOOK_SCAN,       /* (path, struct dirent ***, ...): returns how many of them */
  WIRE_HOOK_SCAN_AT,    /* (fd, path, struct dirent ***, ...) */
  WIRE_HOOK_RAW,        /* (number, ...): a system call */
  WIRE_HOOK_THREAD,     /* (pthread_t, ...): libc asks the kernel about the thread, by the number that it has for it */
  WIRE_HOOK_CONTROL,    /* (option, ...): prctl, which can forbid system calls, or set what no child has */
  WIRE_HOOK_LEAVE,      /* goes into other namespaces, or sets what no child has */
  WIRE_HOOK_SPENT,      /* tells how much time of processors was used */
  WIRE_HOOK_SPENT_BY,   /* (clock, ...): the same of some clocks */
  WIRE_HOOK_PIN,        /* locks memory */
  WIRE_HOOK_MAP,        /* (address, size, protection, flags, ...): maps memory, and may lock it */
  WIRE_HOOK_END,        /* ends the process without a destructor being run */
  WIRE_HOOK_COUNT,
};

/* Does a call of such a function start a program, in this process or another? */
static inline bool wire_hook_starts(uint32_t kind) {
  switch ((enum wire_hook)kind) {
  case WIRE_HOOK_EXECVE:
  case WIRE_HOOK_EXECVEAT:
  case WIRE_HOOK_EXECV:
  case WIRE_HOOK_EXECVPE:
  case WIRE_HOOK_EXECVP:
  case WIRE_HOOK_EXECL:
  case WIRE_HOOK_EXECLP:
  case WIRE_HOOK_EXECLE:
  case WIRE_HOOK_SPAWN:
  case WIRE_HOOK_SYSTEM:
    return true;
  default:
    return false;
  }
}

/* Is it of use only to processes that are forked before main, or later? They stand together. */
static inline bool wire_hook_is_trunks(enum wire_hook hook) {
  return hook == WIRE_HOOK_LOOK || hook == WIRE_HOOK_SELF || (hook >= WIRE_HOOK_LOOK_FILE && hook <= WIRE_HOOK_MAP);
}

enum wire_rule_flag {
  WIRE_UNUSED = 1,   /* evaluated for what it does to state; never injects */
  WIRE_THEN = 2,     /* the real call is made, then reported as failed */
  WIRE_ONE_SHOT = 4, /* after it has injected it can never hold again, and need not be evaluated */
};

struct wire_rule {
  uint32_t code;     /* first instruction; WIRE_NO_CODE: always true */
  uint32_t fault;    /* its faults are faults[fault .. fault + n_faults); one is drawn if there are several */
  uint32_t n_faults; /* of fault wire_draw(plan->seed ^ index of the rule, injections so far) % n_faults */
  uint32_t flags;    /* of enum wire_rule_flag */
  uint32_t trigger;  /* text: what the log says fired: trigger ids of XML, the condition of a rule */
  uint32_t slot;     /* state slot with the count of its injections; draws of faults depend on it */
  /*
   * The condition cannot hold for calls before number `first` or behind number `last`, and nothing it does to state
   * matters there: it need not be evaluated. 1 and UINT64_MAX if nothing is known. With WIRE_UNUSED always these.
   */
  uint64_t first, last;
};
#define WIRE_NO_CODE 0xffffffffu

enum wire_return { WIRE_RAX, WIRE_XMM0, WIRE_KEEP /* with WIRE_THEN: what the real call returned */ };

/* What becomes of the call. */
enum wire_act {
  WIRE_ACT_RETURN, /* it is not made (with WIRE_THEN it is, first): retval, error and sides */
  WIRE_ACT_SHORT,  /* it is made with at most `retval` bytes; of streams, error and sides come behind it */
  WIRE_ACT_DELAY,  /* it is made, after `retval` nanoseconds */
  WIRE_ACT_EINTR,  /* as RETURN, but before it returns a signal is handled, if there is a handler for one */
  WIRE_ACT_KILL,   /* the process dies of SIGKILL */
  WIRE_ACT_THROW,  /* it is not made: std::bad_alloc is thrown */
  WIRE_ACT_COUNT,
};

/* How a function is told how many bytes it is about. */
enum wire_length {
  WIRE_LENGTH_BYTES,   /* an argument */
  WIRE_LENGTH_ITEMS,   /* an argument; the one before it is the size of each */
  WIRE_LENGTH_VECTOR,  /* an argument points to struct iovec, the one behind it says how many */
  WIRE_LENGTH_MESSAGE, /* an argument points to struct msghdr */
  WIRE_LENGTH_COUNT,
};

struct wire_fault {
  int64_t retval; /* the whole register; a double's bits for WIRE_XMM0; an amount, as enum wire_act says */
  int32_t error;  /* errno is set to this; 0 leaves it alone */
  uint16_t ret;   /* of enum wire_return */
  uint16_t n_sides;
  uint32_t side;     /* sides[side .. side + n_sides) */
  uint8_t act;       /* of enum wire_act */
  uint8_t length;    /* of enum wire_length, for WIRE_ACT_SHORT */
  uint16_t argument; /* which argument that is */
};

enum wire_side_kind {
  WIRE_SIDE_ARG,    /* stored behind argument `argument`, `offset` bytes on, unless the pointer is NULL */
  WIRE_SIDE_GLOBAL, /* at symbol `name`, or at `offset` in module `module` if name is 0 */
  WIRE_SIDE_TLS, /* the thread's variable at `offset` of the module's TLS block; or where the function `name` points */
  WIRE_SIDE_STREAM,   /* bits of a FILE's flags that are set: argument `argument`, or the variable `name` (stdout) */
  WIRE_SIDE_MISNAMED, /* the real function is called, with a name that there is not as argument `argument` */
};

/* Beside the bits of a stream: what is still in its buffer is forgotten. */
#define WIRE_STREAM_EMPTIED 0x100000000ll
/* ... and the real function is called behind that: it ends the stream, whatever it reports. */
#define WIRE_STREAM_ENDED 0x200000000ll

struct wire_side {
  uint8_t kind;      /* of enum wire_side_kind */
  uint8_t width;     /* bytes stored: 1, 2, 4, 8 */
  uint16_t argument; /* from 0 */
  uint32_t module, name;
  uint32_t flags; /* of enum wire_side_flag */
  uint64_t offset;
  int64_t value;
};
enum wire_side_flag { WIRE_SIDE_ASKED = 1 /* the scenario says it, and not the profile alone */ };

enum wire_module_flag {
  WIRE_PROGRAM = 1,  /* the program itself, whatever its name */
  WIRE_IN_SCOPE = 2, /* calls from it count as the user's own */
  WIRE_AS_SAID = 4,  /* its name is what the user has written, with folders or without */
  WIRE_LANGUAGE = 8, /* with WIRE_IN_SCOPE: a library of a language, whose calls are the user's if the user is behind */
};

/*
 * A program or library by the name that the loader knows it by; matched by whole path, else by last component. With
 * WIRE_AS_SAID, by as many components as both have.
 */
struct wire_module {
  uint32_t name;
  uint32_t flags; /* of enum wire_module_flag */
  uint32_t row;   /* its unwind rows are rows[row .. row + n_rows), sorted by address */
  uint32_t n_rows;
  uint8_t build_id[20];
  uint32_t n_build_id; /* bytes; rows and offsets of a module whose build id differs are not used. 0: not known */
};

/*
 * A range of code: from `start` up to `end` in the module, in bytes from where its addresses start (ELF addresses). A
 * set is a run of places; the one with WIRE_LAST ends it.
 */
enum wire_place_flag { WIRE_LAST = 1, WIRE_ANYWHERE = 2 /* in the module: start and end do not matter */ };
struct wire_place {
  uint32_t module;
  uint32_t flags;
  uint64_t start, end;
};

/*
 * A frame of a call stack that is looked for: its return address, minus 1, is in a set of places. A pattern is a run of
 * frames, innermost first, the one with WIRE_LAST ends it; other frames may lie between them unless WIRE_NEXT says that
 * it must be the caller of the one before (of the call itself, for the first). What was inlined has no return address
 * of its own: where the one before is inlined into this one, both are the same frame. WIRE_WITHIN says that there are
 * such places.
 */
#define WIRE_PATTERN_MAX 64 /* frames in a pattern */
#define WIRE_AGAIN 8        /* from this bit of the flags on: how many frames right before it say the same */
enum wire_pattern_flag { WIRE_NEXT = 2, WIRE_WITHIN = 4 };
struct wire_pattern {
  uint32_t place;
  uint32_t flags;  /* WIRE_LAST, WIRE_NEXT, WIRE_WITHIN; and WIRE_AGAIN */
  uint32_t within; /* a set of places; 0 without WIRE_WITHIN */
};

/*
 * How to unwind from an address: where the canonical frame address (what rsp is after the return) comes from. The
 * return address is 8 below it; rbp, if it was saved, is `rbp` bytes from it (0: not saved, still in the register).
 */
enum wire_cfa {
  WIRE_CFA_END,    /* the outermost frame, or what a row cannot say */
  WIRE_CFA_RSP,    /* rsp + offset */
  WIRE_CFA_RBP,    /* rbp + offset */
  WIRE_CFA_AT_RSP, /* what is stored at rsp + offset, plus `add` */
  WIRE_CFA_AT_RBP, /* what is stored at rbp + offset, plus `add`; with `rbp` 0, the old rbp is where rbp points */
  WIRE_CFA_PLT,    /* a stub of 16 bytes: rsp + 8, from its byte `offset` on rsp + 16 */
  WIRE_CFA_SIGNAL, /* return from a signal handler: rsp, rip and rbp are in the kernel's ucontext at rsp */
  WIRE_CFA_NONE,   /* nothing is known of this code: rbp may be a frame pointer, or not */
  WIRE_CFA_COUNT,
};
struct wire_row {
  uint32_t start; /* ELF address; a module of more than 4 GiB has no rows */
  uint8_t cfa;    /* of enum wire_cfa */
  uint8_t add;
  int16_t rbp;
  int32_t offset;
};

/* An argument of a trigger in XML: <low>1024</low>; of <frame><line>3</line></frame> the name is "frame.line". */
struct wire_setting {
  uint32_t name, value; /* text */
};

enum wire_trigger_kind {
  WIRE_TRIGGER_PLUGIN, /* a class of somebody's own, in a shared object that the shim needs */
  WIRE_TRIGGER_HUB,    /* a process that decides for all */
  WIRE_TRIGGER_COUNT,
};

/* A trigger whose answer no code of the plan can give. */
#define WIRE_ADDRESS 112
struct wire_trigger {
  uint32_t kind;  /* of enum wire_trigger_kind */
  uint32_t id;    /* text: as the scenario calls it */
  uint32_t class; /* text */
  uint32_t file;  /* text: path of the plugin; or the hub's address as people write it */
  uint32_t setting, n_settings;
  uint32_t patience;             /* of a hub: milliseconds after which the call goes on */
  uint32_t n_address;            /* bytes of `address` */
  uint8_t address[WIRE_ADDRESS]; /* of a hub: its struct sockaddr_in, sockaddr_in6 or sockaddr_un */
};

/*
 * Conditions: a stack machine over 64-bit numbers. An instruction is op | operand << 8. Jumps go forward only, so every
 * condition ends; the stack is at most WIRE_STACK deep, and wire_plan_check proves that. A condition ends with
 * WIRE_OP_END: it holds if the one value left is not 0.
 */
#define WIRE_STACK 16
#define WIRE_MAX_ARGS 22
enum wire_op {
  WIRE_OP_END,
  WIRE_OP_NUMBER,  /* operand: index in numbers */
  WIRE_OP_ARG,     /* operand: which argument, from 0, below WIRE_MAX_ARGS; 0..5 in registers, others on the stack */
  WIRE_OP_CALL,    /* number of this call of the function in this process image, from 1 */
  WIRE_OP_NEXT,    /* operand: slot. Adds 1 to it, pushes the sum: counts evaluations */
  WIRE_OP_ONCE,    /* operand: slot. 1 the first time it is evaluated, 0 ever after */
  WIRE_OP_RANDOM,  /* operand: slot. Pops a seed, then a threshold t; adds 1 to the slot, which gives k, from 0 on: 1 if
                     wire_draw(seed, k) >> 1 is below t */
  WIRE_OP_CALLER,  /* operand: place. Is the return address, minus 1, in the set? */
  WIRE_OP_STACK,   /* operand: pattern. Is it on the stack? */
  WIRE_OP_FD_KIND, /* pops a descriptor: enum wire_fd, 0 if it is none */
  WIRE_OP_FD_BLOCKS, /* pops a descriptor: 1 if it blocks, 0 if O_NONBLOCK is set, -1 if it is none */
  WIRE_OP_FD_PATH,   /* operand: text, a glob; pops a descriptor: is its path matched? */
  WIRE_OP_POINT,     /* pushes the hash of the call's stack, as the table of points has it */
  WIRE_OP_PROCESS,   /* number of the process, from 1 for the first that was started */
  WIRE_OP_ORDER,     /* 1 if the area's order is for this rule and this call is the one it wants */
  WIRE_OP_EQ,
  WIRE_OP_NE,
  WIRE_OP_LT,
  WIRE_OP_LE,
  WIRE_OP_GT,
  WIRE_OP_GE, /* signed */
  WIRE_OP_ADD,
  WIRE_OP_SUB,
  WIRE_OP_MUL,
  WIRE_OP_DIV,
  WIRE_OP_MOD, /* division by 0 gives 0 */
  WIRE_OP_AND,
  WIRE_OP_OR,
  WIRE_OP_XOR,
  WIRE_OP_SHL,
  WIRE_OP_SHR,
  WIRE_OP_NOT /* bits */,
  WIRE_OP_NEG,
  WIRE_OP_IS_ZERO,
  WIRE_OP_IF_ZERO, /* operand: how far. If the top is 0 jump and keep it, else pop it: && */
  WIRE_OP_IF_SET,  /* operand: how far. If the top is not 0 jump and keep it, else pop it: || */
  WIRE_OP_SERIES,  /* operand: index of the numbers from, to, step. Pops v: is it from, from + step, … up to to? */
  WIRE_OP_LENGTH,  /* operand: enum wire_length | argument << 4. How many bytes the call is about; -1: not known */
  WIRE_OP_KNOWN,   /* 0 in place of the top, if what it was made of was not known */
  WIRE_OP_MATCH,   /* operand: index of three numbers: enum wire_text, enum wire_match, and what it is matched with:
                     text, or an index in tables. Pops a pointer, a descriptor or anything: 1 if it matches */
  WIRE_OP_LOAD,    /* operand: width, | 16 if it has a sign. Pops an address: what is there, if it can be read */
  WIRE_OP_STATIC,  /* operand: index of two numbers, a module and an ELF address: the address */
  WIRE_OP_TLS,     /* operand: index of two numbers, a module and an offset in its block: where the thread has it */
  WIRE_OP_LOCAL,   /* operand: variable. Its value, or where it is if its width is 0, in its innermost frame */
  WIRE_OP_THREAD,  /* number of the thread, from 1 */
  WIRE_OP_TIME,    /* nanoseconds since the process image was started, a few milliseconds fine */
  WIRE_OP_MARK,    /* operand: slot of the thread. Sets it to the top, which stays */
  WIRE_OP_MARKED,  /* operand: slot of the thread: what is in it */
  WIRE_OP_SINCE,   /* operand: slot of the thread: what is in it, which is one more then unless it is 0 */
  WIRE_OP_STREAM,  /* operand: 0, -WIRE_STDIN, -WIRE_STDOUT. Pops a FILE, or anything: its descriptor; -1: none */
  WIRE_OP_WRITTEN, /* pops a descriptor: how many bytes were written to it */
  WIRE_OP_FRESH,   /* operand: memory. 1 if the call's stack is not in it; then it is */
  WIRE_OP_ASK,     /* operand: trigger. 1 or 0, as it says */
  WIRE_OP_COUNT,
};

enum wire_fd {
  WIRE_FD_NONE,
  WIRE_FD_FILE,
  WIRE_FD_DIR,
  WIRE_FD_PIPE,
  WIRE_FD_SOCKET,
  WIRE_FD_TTY,
  WIRE_FD_CHAR,
  WIRE_FD_BLOCK,
  WIRE_FD_OTHER
};

/* The file of a memory: a word that says what it is, zero while it is new, and hashes of stacks. */
#define WIRE_SEEN_MAGIC 0x4e4545534850524dull /* "MRPHSEEN" */
#define WIRE_SEEN_ENTRIES 65536u
#define WIRE_SEEN_SIZE ((WIRE_SEEN_ENTRIES + 1) * sizeof(uint64_t))

/* What a text is that is matched, and how. */
enum wire_text {
  WIRE_TEXT_AT,      /* the string at the pointer */
  WIRE_TEXT_FD,      /* the path of the descriptor */
  WIRE_TEXT_THREAD,  /* the thread's name */
  WIRE_TEXT_PROGRAM, /* the last part of the program's path, or of argv[0] */
  WIRE_TEXT_COUNT,
};
enum wire_match {
  WIRE_MATCH_SAME,
  WIRE_MATCH_GLOB,
  WIRE_MATCH_REGEX,
  WIRE_MATCH_COUNT,
  WIRE_MATCH_NOT = 16, /* with one of these: is it known, and does it not match? */
};

/*
 * An automaton, in words: number of states, number of classes; the class of each of the 256 bytes; then for each state,
 * the first being where it starts, enum wire_state and the next state for each class.
 */
enum wire_state { WIRE_STATE_MATCHES = 1, WIRE_STATE_SETTLED = 2 /* whatever comes */ };
#define WIRE_TABLE_HEAD (2 + 256)

/* A variable of a function, in the innermost frame of its code. */
struct wire_variable {
  uint32_t place; /* the function's code */
  uint32_t location, n_locations;
  uint8_t width; /* of what is read; 0: its address is wanted */
  uint8_t sign;
  uint16_t pad;
  int64_t offset;            /* of what is read, in it */
  uint32_t entry, n_entries; /* locations: what its callers hand over, for WIRE_IS_ENTRY */
};

/*
 * Where it is while the function is at START up to END, ELF addresses of MODULE; or, of an entry, what register ENTRY
 * gets at the call there, in the frame of the caller. Registers have the psABI's numbers: rbx 3, rbp 6, rsp 7.
 */
enum wire_location_kind {
  WIRE_AT_CFA,      /* at the frame's CFA + offset */
  WIRE_AT_REGISTER, /* at what is in `reg` + offset */
  WIRE_AT_STATIC,   /* at offset, an ELF address of the module */
  WIRE_AT_THREAD,   /* at offset of the thread's own block of the module */
  WIRE_IS_CFA,      /* the CFA + offset itself is the value */
  WIRE_IS_REGISTER, /* what is in `reg` + offset is */
  WIRE_IS_STATIC,   /* offset, an ELF address of the module, is */
  WIRE_IS_NUMBER,   /* offset itself is */
  WIRE_IS_ENTRY,    /* what was in `reg` when the function was called + offset is */
  WIRE_LOCATION_COUNT,
};
struct wire_location {
  uint32_t module;
  uint8_t kind;  /* of enum wire_location_kind */
  uint8_t reg;   /* below 16 */
  uint8_t piece; /* the value is that of the variable from this byte on */
  uint8_t entry; /* below 16 */
  uint64_t start, end;
  int64_t offset;
};

/* Draw number K of the sequence that SEED means. Sequences of different seeds look independent. */
static inline uint64_t wire_draw(uint64_t seed, uint64_t k) {
  uint64_t x = (seed ^ 0x6d75727068790001u) * 0xd6e8feb86659fd93u + k * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* What an operator of two numbers gives, for the compiler that folds constants and for the target alike. */
static inline int64_t wire_compute(enum wire_op op, int64_t x, int64_t y) {
  uint64_t a = (uint64_t)x, b = (uint64_t)y;
  switch (op) {
  case WIRE_OP_EQ:
    return x == y;
  case WIRE_OP_NE:
    return x != y;
  case WIRE_OP_LT:
    return x < y;
  case WIRE_OP_LE:
    return x <= y;
  case WIRE_OP_GT:
    return x > y;
  case WIRE_OP_GE:
    return x >= y;
  case WIRE_OP_ADD:
    return (int64_t)(a + b);
  case WIRE_OP_SUB:
    return (int64_t)(a - b);
  case WIRE_OP_MUL:
    return (int64_t)(a * b);
  case WIRE_OP_DIV: /* by -1 apart: the processor traps on the smallest number */
    return y == 0 ? 0 : y == -1 ? (int64_t)(0 - a) : x / y;
  case WIRE_OP_MOD:
    return y == 0 || y == -1 ? 0 : x % y;
  case WIRE_OP_AND:
    return (int64_t)(a & b);
  case WIRE_OP_OR:
    return (int64_t)(a | b);
  case WIRE_OP_XOR:
    return (int64_t)(a ^ b);
  case WIRE_OP_SHL:
    return (int64_t)(a << (b & 63));
  case WIRE_OP_SHR: /* keeps the sign */
    return x >> (b & 63);
  default:
    return 0;
  }
}

/* Is V one of FROM, FROM + STEP, … up to TO? The three numbers are behind each other; STEP is above 0. */
static inline bool wire_in_series(const int64_t series[3], int64_t v) {
  return v >= series[0] && v <= series[1] && (uint64_t)(v - series[0]) % (uint64_t)series[2] == 0;
}

/*
 * The class of characters that is named at P, as [:digit:] in a set: pairs of the first and the last byte of each of
 * its ranges, as a string; *RET_LENGTH is how long the name is. NULL if P is at none.
 */
const char *wire_class(const char *p, size_t *ret_length);

uint64_t wire_sum(const void *p, size_t n);

/* NULL if the SIZE bytes at PLAN are a plan of this version whose every index can be used; else what is wrong. */
const char *wire_plan_check(const void *plan, size_t size);

/* --- shim --------------------------------------------------------------------------------------------------------- */

#define WIRE_SHIM_MAGIC 0x4d4948534850524dull /* "MRPHSHIM" */

/*
 * One intercepted function in the shim. The exported symbol is `stub`: endbr64, then a jump to where `target` points.
 * At first that is `gate`, which loads the entry's number and jumps to the runtime; once no rule can fire any more the
 * runtime points it to the real function. `count` is for a function whose rules look at the call's number alone: it
 * takes 1 from the thread's allowance, and goes to the real function as long as there was one and nobody wants it back,
 * else to the gate.
 */
struct wire_entry {
  uint64_t target, real, stub, gate, count;
  uint64_t value; /* where the value of its symbol stands: 0 there hides it */
};

/* What a thread may use up of a function's calls without asking; the runtime's, known to the shim's `count` code. */
struct wire_allowance {
  int64_t left;    /* only the thread itself writes it; below 0: none */
  uint64_t recall; /* not 0: some other thread wants the rest */
  uint64_t state;  /* the runtime's own */
  uint64_t tally;  /* the runtime's own */
};

/*
 * In the shim's data right behind its dynamic section, exported as `murphy_shim`; all functions of the runtime are
 * reached through it.
 */
struct wire_shim {
  uint64_t magic;
  uint32_t version, n;
  uint64_t enter;           /* the runtime's murphy_rt_enter; the function's number is in r11 */
  uint64_t start;           /* the runtime's murphy_rt_start; the shim's initialiser */
  uint64_t thread;          /* from the thread pointer: where the thread's struct wire_allowance[n] are */
  uint64_t plan, plan_size; /* the plan lies in the shim's read-only data */
  uint64_t entries;         /* struct wire_entry[n] */
};
#define WIRE_COUNTED 0x80000000u /* in r11 with the function's number: the thread's allowance was taken from */

/* --- area --------------------------------------------------------------------------------------------------------- */

#define WIRE_AREA_MAGIC 0x414552414850524dull /* "MRPHAREA" */
#define WIRE_FRAMES 48
#define WIRE_ARGS 6
#define WIRE_HEIRS 256

/* A place in the target's code: module is an index in the area's `loaded`, from 1; 0 if it is in none. */
struct wire_frame {
  uint32_t module;
  uint32_t pad;
  uint64_t at; /* ELF address in the module, or the address itself */
};

/*
 * An injection. Complete once `ready` is its number plus 1; `ready` is stored last. Before that it says who writes it:
 * WIRE_WRITING and the process's id. murphy passes over an event whose writer is gone, and puts WIRE_PASSED and the
 * number plus 1 there; who finds that has nothing to write any more.
 */
#define WIRE_WRITING (1ull << 63)
#define WIRE_PASSED (1ull << 62)
struct wire_event {
  uint64_t ready;
  uint64_t time; /* nanoseconds, CLOCK_MONOTONIC_COARSE: a few milliseconds fine */
  uint32_t pid, tid;
  uint32_t process;               /* number of the process image */
  uint32_t function, rule, fault; /* indices in the plan */
  uint64_t call;
  int64_t retval;
  int32_t error; /* errno that was set; 0 if it was left alone */
  uint32_t n_frames;
  uint64_t args[WIRE_ARGS];
  struct wire_frame frames[WIRE_FRAMES]; /* the call's return address first */
  uint64_t
      missed; /* bit i: the fault's side effect i found no place to be stored at; 63 stands for all from there on */
  uint32_t signal; /* that the program gets before the call returns; 0: none */
  uint32_t order;  /* of the area, by which it failed, from 1; 0: by none */
};

/*
 * A module that some frame of an event or a point is in, by the name that the loader gave it. The same for all
 * processes, wherever they have it in memory.
 */
struct wire_loaded {
  uint32_t ready;      /* 1 when complete */
  uint32_t process;    /* which was the first to tell */
  uint64_t start, end; /* ELF addresses */
  char path[240];
};

enum wire_handlers {
  WIRE_HANDLER = 1,
  WIRE_HANDLER_STOPS = 2 /* one without SA_RESTART: system calls end with EINTR */
};

/*
 * A function and a call stack that reached it from a module in scope; arguments and facts are those of the first call.
 * Complete once `ready` is 1.
 */
/* Had the stream bytes that were not yet written? */
enum wire_pending {
  WIRE_PENDING_UNKNOWN,
  WIRE_PENDING, /* at each call */
  WIRE_PENDING_NOT
};

struct wire_point {
  uint64_t hash; /* of the stack and the function's name, equal in all runs and plans, and of the process's lineage */
  uint64_t count;
  uint32_t ready;
  uint32_t function;
  uint32_t n_frames;
  uint32_t process; /* which saw it first */
  uint64_t args[WIRE_ARGS];
  uint8_t fd;          /* of enum wire_fd: of the descriptor that it was given, or of the stream's; 0 if it has none */
  uint8_t nonblocking; /* 1 if the descriptor is */
  uint8_t writable;    /* 1 if the descriptor can be written to */
  uint8_t handlers;    /* of enum wire_handlers: what handlers of signals there are */
  uint32_t last;       /* which of all recorded calls was the last one here */
  uint32_t first;      /* ... and the first one */
  uint8_t pending;     /* of enum wire_pending */
  uint8_t local;       /* 1 if the descriptor is a socket of this machine alone */
  struct wire_frame frames[WIRE_FRAMES];
};

/*
 * An injection of an experiment, for plans that are the same for many of them: the call of the rule's function whose
 * stack has this hash, when it comes for the nth time in the whole run. murphy writes all but `seen`, `around` and
 * `about` before the target starts.
 */
struct wire_order {
  uint64_t hash, nth;
  uint32_t rule, pad;
  uint64_t seen;       /* how many such calls there were, in all processes */
  uint32_t persistent; /* not 0: from the nth on, all of them, and those from the same function that tries again */
  uint32_t fault;      /* which of the rule's faults, from 0 */
  uint64_t around;     /* the frames behind the first one of the stack, once it was seen; 0 before */
  uint64_t about;      /* its arguments then, in short: who tries again asks for the same */
};
#define WIRE_ORDERS 64 /* at most, in one experiment */

/*
 * A thread that asks plugins, and which one it is in right now, so that what happens there is not taken for something
 * that the program did. It keeps its entry, since to take one costs more than the question; when all near its place are
 * taken, one that is in no plugin loses its own.
 */
struct wire_asking {
  uint64_t owner;   /* pid << 32 | tid; 0: free */
  uint32_t trigger; /* that it is in: index in the plan, plus 1; 0: none */
  uint32_t process; /* number of its process */
  uint32_t ended;   /* the process exits in good order, or becomes another program: not because of this */
  uint32_t pad[11]; /* a cache line for each */
};

/* Something that makes a trigger useless, for the user to know. Complete once `ready` is 1. */
#define WIRE_TROUBLES 16
enum wire_trouble_kind {
  WIRE_TROUBLE_MISSING, /* the class is not in the plugin that was loaded */
  WIRE_TROUBLE_VERSION, /* it is of another version */
  WIRE_TROUBLE_REFUSED, /* the plugin does not like its arguments; `text` says why, if it did */
  WIRE_TROUBLE_GONE,    /* no connection to the hub */
  WIRE_TROUBLE_LATE,    /* the hub did not answer in time */
  WIRE_TROUBLE_WRONG,   /* what answered is no hub, or one of another version */
  WIRE_TROUBLE_EXIT,    /* the plugin has called exit */
  WIRE_TROUBLE_CRASH,   /* it has crashed, and a handler of the program has ended the process for this */
  WIRE_TROUBLE_HANDLER, /* a handler of the program has ended the process in the middle of it, not known what for */
  WIRE_TROUBLE_ENDED,   /* the plugin or such a handler has */
  WIRE_TROUBLE_FULL,    /* more threads ask hubs than there are connections for */
  WIRE_TROUBLE_COUNT,
};
struct wire_trouble {
  uint32_t ready, kind, trigger, pid;
  uint32_t error; /* why, as an errno; 0 if that is not known */
  char text[108];
};

/*
 * The fork server: the first process of a run stops before main, and each experiment is a fork of it. It is wanted if
 * the area says so; then this descriptor is a socket that keeps the bounds of messages. The server says hello, and from
 * then on answers each request, which comes with the three standard descriptors for the child beside it.
 */
#define WIRE_SERVER_VERSION 6 /* 6: wire_fork_request has `let_go`; 5: from SOCKETS on in enum wire_refusal */
#define WIRE_SERVER_MAGIC 0x5652455348505268ull
#define WIRE_SERVER_FD 250
struct wire_server {
  uint32_t version; /* WIRE_SERVER_VERSION if it is wanted; 0 if not */
  uint32_t pad;
};

/* Why a process cannot be forked as it is. */
enum wire_refusal {
  WIRE_FORK_GOOD,
  WIRE_FORK_CALLS,    /* calls that may be made to fail were made already */
  WIRE_FORK_THREADS,  /* there are other threads */
  WIRE_FORK_CHILDREN, /* ... or other processes */
  WIRE_FORK_FILES,    /* descriptors that a fork would share */
  WIRE_FORK_MAPPINGS, /* memory that a fork would share */
  WIRE_FORK_TIMERS,   /* what a fork would not have */
  WIRE_FORK_UNKNOWN,  /* the kernel or libc could not be asked */
  WIRE_FORK_LOCKS,    /* files are locked */
  WIRE_FORK_WORLD,    /* the files that it has changed cannot be given to a child, or not opened again */
  WIRE_FORK_SIGNALS,  /* signals wait to be delivered */
  WIRE_FORK_NAMED,    /* there are IPC objects, or connections that were closed, which a child would share */
  WIRE_FORK_KNOWN,    /* it has changed files, and knows device and inode of some, which are others in a copy */
  WIRE_FORK_READING,  /* it has changed files, and is in the middle of reading a folder */
  WIRE_FORK_FILTERED, /* system calls may be forbidden, those of the runtime too */
  WIRE_FORK_APART,    /* it has gone into other namespaces, or has settings that no child can have */
  WIRE_FORK_SPENT,    /* it was told how much time of processors it has used, which a child has not */
  /* As FILES, where it is known what they are: */
  WIRE_FORK_SOCKETS,
  WIRE_FORK_PIPES,
  WIRE_FORK_NAMELESS, /* files that were removed, or never had a name */
  WIRE_FORK_EPOLL,
  WIRE_FORK_RINGS,  /* io_uring */
  WIRE_FORK_EVENTS, /* others that the kernel tells something by */
  WIRE_REFUSALS,
};

struct wire_hello {
  uint64_t magic;
  uint32_t version;
  uint32_t refusal; /* of enum wire_refusal; not 0: there is no server, the program goes on */
};

struct wire_fork_request {
  uint64_t number; /* of the request; the answer repeats it */
  uint64_t trunk;  /* not 0: the child is to branch */
  uint64_t kept;   /* not 0: the server is kept on one processor since its hello, which the child must not be */
  uint64_t let_go; /* not 0: no child is wanted; the server keeps the standard streams of the last one no longer */
};

struct wire_fork_answer {
  uint64_t number;
  int64_t pid; /* of the child, whose parent is the server's; or a negative errno */
};

/*
 * Branch mode: a child of the server, the trunk, runs without faults; where a call is one that an order in the area's
 * `branches` is about, it asks the keeper for a world of its own for a child, forks it, and waits until that has ended.
 * The orders are sorted by hash, then by rule. No descriptor stays open for that: for each child the
 * trunk connects to a socket of this name in the abstract name space, which belongs to the sandbox's network.
 */
#define WIRE_BRANCH_NAME "\0murphy"
struct wire_branch {
  uint64_t hash, nth;
  uint32_t rule, fault, persistent;
  uint32_t refusal; /* of enum wire_refusal: why there was no child though the call came */
  uint32_t made;    /* not 0: a child has taken the fault */
  uint32_t pad;
  uint64_t seen; /* of the first order of a hash and rule: how many such calls there were */
};

enum wire_branch_what {
  WIRE_BRANCH_ASK,   /* trunk: a child for `order`; `value` is of enum wire_branch_state */
  WIRE_BRANCH_READY, /* keeper: its files are there, its standard descriptors and a list of numbers, if there is
                        one, come along; `value`: it must say hello */
  WIRE_BRANCH_NOT,   /* keeper: that cannot be; `value` is of enum wire_refusal */
  WIRE_BRANCH_BORN,  /* trunk: its number is `value`, or a negative errno */
  WIRE_BRANCH_DONE,  /* keeper: it has ended, go on */
  WIRE_BRANCH_HELLO, /* trunk or child, on a connection of its own: it begins, once it has heard that it may */
  WIRE_BRANCH_GO,    /* keeper: what it starts will have the right numbers */
};
enum wire_branch_state {
  WIRE_BRANCH_LOOKED = 1,  /* the program knows its files by their numbers */
  WIRE_BRANCH_READING = 2, /* it is in the middle of reading a folder */
};
struct wire_branch_message {
  uint32_t what, order;
  int64_t value;
};

/* The hash of a text, one character after another, from WIRE_HASH on. */
#define WIRE_HASH 0xcbf29ce484222325ull
static inline uint64_t wire_hash(uint64_t hash, char c) { return (hash ^ (unsigned char)c) * 0x100000001b3ull; }

/*
 * What a child sees of the files that were changed before it was made are copies, which have other numbers than the
 * originals. With WIRE_BRANCH_READY comes a fourth descriptor, of a file of these. An inode of 0 in both: what is on no
 * list, and on the one device in the child, is on the other one in the trunk, with the same inode.
 */
struct wire_identity {
  uint64_t device, inode;
  int64_t changed_s, changed_ns; /* ctime */
};
struct wire_number {
  struct wire_identity was, is; /* in the trunk, in the child */
  uint64_t path;                /* wire_hash of it, if it is no folder; else 0 */
};
#define WIRE_NUMBERS 4096 /* at most */

/*
 * The shared file, mapped by murphy and by every process of the target. Arrays follow at the offsets given. Everything
 * that both sides write is written with atomic operations. murphy does not trust what it reads here: the target may
 * have changed it.
 */
struct wire_area {
  uint64_t magic;
  uint32_t version, header;
  uint64_t size;
  struct wire_span events;                 /* ring: event number k is at k % n */
  struct wire_span loaded, points, counts; /* points.n is a power of two; counts: uint64_t[functions] */
  uint64_t next_event;                     /* how many were begun */
  uint64_t read;                           /* how many murphy has read */
  uint64_t lost;                           /* injections that found no place; told in the log */
  uint32_t next_process, next_loaded;
  uint32_t lost_points; /* stacks that found no place */
  uint32_t attached;    /* process images whose runtime accepted the plan */
  uint32_t refused;     /* ... or did not: wrong version, damaged */
  uint32_t stop;        /* set by murphy: inject nothing any more */
  uint32_t n_orders;    /* that are armed. A trunk has those that all its branches have; a branch adds its own */
  uint32_t hold;        /* not 0: a call waits, before anything of its failure happens, until a debugger is there */
  uint32_t held;        /* the process that does */
  struct wire_server server;
  struct wire_span branches;  /* struct wire_branch; how many there is room for */
  uint32_t n_branches;        /* how many there are */
  uint32_t shown_pid;         /* what a trunk says its number is */
  uint64_t lost_loaded;       /* frames of events and points whose module found no place in `loaded` */
  uint64_t unreached;         /* programs that were not followed: they could not read the shim, or have another libc */
  uint32_t processes;         /* process images that have taken a number */
  uint32_t recorded;          /* calls of points */
  uint64_t heirs[WIRE_HEIRS]; /* at pid % WIRE_HEIRS, pid << 32 | the number of the program that starts in it */
  struct wire_span asking;    /* struct wire_asking */
  struct wire_trouble troubles[WIRE_TROUBLES];
  uint32_t next_trouble; /* how many were begun */
  uint32_t unanswered;   /* questions that a hub did not answer in time; the calls went on */
  /*
   * Lineages: which child of which process it is, as a number that is the same in each run; 0 is the first process.
   * At pid % WIRE_HEIRS, pid << 32 | the lineage of the program that starts in it; and what those have in common that
   * libc has started for it; and by pid and program, how many of these have begun.
   */
  uint64_t lineages[WIRE_HEIRS], spawned[WIRE_HEIRS], begun[WIRE_HEIRS];
  struct wire_order orders[WIRE_ORDERS];
};

/* --- hub ---------------------------------------------------------------------------------------------------------- */

/*
 * What a process and a hub say to each other over a stream: the process first WIRE_HUB_HELLO, then questions, each of
 * which is answered before the next one is asked on this connection. Numbers as in the plan; the two may be on
 * different machines of the same kind.
 */
#define WIRE_HUB_MAGIC 0x42554850u /* "PHUB" */
#define WIRE_HUB_VERSION 2         /* 2: identity */
#define WIRE_HUB_FRAMES 16
#define WIRE_HUB_NAME 32

enum wire_hub_kind { WIRE_HUB_HELLO = 1, WIRE_HUB_ASK, WIRE_HUB_ANSWER };

struct wire_hub_head {
  uint32_t magic, size; /* size: of the whole message */
  uint16_t version, kind;
  uint32_t number; /* of the question on this connection; the answer has the same */
};

struct wire_hub_hello {
  struct wire_hub_head head;
  uint32_t pid, process;
  char host[WIRE_HUB_NAME], name[WIRE_HUB_NAME]; /* of the machine and of the process; ended by 0 */
  uint64_t identity; /* no other process has it: in namespaces, all that is above may be equal for several */
};

struct wire_hub_frame {
  uint64_t offset;            /* ELF address in the module; the address itself if that is "" */
  char module[WIRE_HUB_NAME]; /* last part of its path */
};

struct wire_hub_ask {
  struct wire_hub_head head;
  uint32_t tid, n_args;
  char trigger[WIRE_HUB_NAME], function[64];
  uint64_t call, stack; /* number of the call; hash of the stack, equal in all runs and processes */
  uint64_t args[WIRE_ARGS];
  uint32_t n_frames, pad;
  struct wire_hub_frame frames[WIRE_HUB_FRAMES];
};

struct wire_hub_answer {
  struct wire_hub_head head;
  uint32_t inject, pad;
};

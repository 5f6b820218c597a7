/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call stack of a stopped process, by libdwfl, which reads its memory and the unwind tables of what it has mapped.
 */
#include "image/image.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>

struct walk {
  pid_t pid;
  bool returned; /* the first frame is where a call goes on, less 1 */
  bool astray;   /* the first frame is at no code */
  struct image_process_frame *frames;
  size_t n, max;
};

static Dwfl *open_process(pid_t pid, struct err *e) {
  static char *none = NULL;
  static const Dwfl_Callbacks callbacks = {
      .find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = dwfl_standard_find_debuginfo, .debuginfo_path = &none};
  Dwfl *dwfl = dwfl_begin(&callbacks);
  if (dwfl && dwfl_linux_proc_report(dwfl, pid) == 0 && dwfl_report_end(dwfl, NULL, NULL) == 0 &&
      dwfl_linux_proc_attach(dwfl, pid, true) == 0)
    return dwfl;
  (void)err_set(e, -ESRCH, "process %d: %s", (int)pid, dwfl_errmsg(-1));
  dwfl_end(dwfl);
  return NULL;
}

/* Can what is there be executed? What cannot be asked for is left to libdwfl. */
static bool is_code(pid_t pid, uint64_t address) {
  char name[64], line[PATH_MAX + 128];
  (void)snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
  FILE *f = fopen(name, "re");
  if (!f) return true;
  bool found = false;
  while (!found && fgets(line, sizeof line, f)) {
    uint64_t from, to;
    char x;
    found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c", &from, &to, &x) == 3 && x == 'x' && from <= address &&
            address < to;
  }
  (void)fclose(f);
  return found;
}

/* For what is outside of all modules, dwfl_addrmodule has the nearest below. */
static Dwfl_Module *find_module(Dwfl_Frame *state, Dwarf_Addr at) {
  Dwarf_Addr start = 0, end = 0;
  Dwfl_Module *m = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(state)), at);
  if (m) (void)dwfl_module_info(m, NULL, &start, &end, NULL, NULL, NULL, NULL);
  return start <= at && at < end ? m : NULL;
}

/* What is no code is where the program went astray, if it is the first frame, and otherwise none: the stack ends. */
static int add_frame(Dwfl_Frame *state, void *context) {
  struct walk *w = context;
  Dwarf_Addr pc;
  bool activation = false;
  if (w->n == w->max || !dwfl_frame_pc(state, &pc, &activation)) return DWARF_CB_ABORT;
  if (w->returned) pc++;
  if (w->returned) activation = w->returned = false;
  bool code = is_code(w->pid, pc - !activation);
  w->astray = !code && w->n == 0;
  if (!code && w->n) return DWARF_CB_ABORT;
  struct image_process_frame *f = &w->frames[w->n++];
  *f = (struct image_process_frame){.address = pc, .at = pc, .exact = activation};
  Dwfl_Module *m = find_module(state, pc - !activation);
  if (m) {
    const char *path = NULL;
    GElf_Addr bias = 0;
    if (dwfl_module_getelf(m, &bias)) f->at = pc - bias; /* only then is its path known */
    (void)dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, &path, NULL);
    (void)snprintf(f->path, sizeof f->path, "%s", path ? path : "");
  }
  return w->astray ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/*
 * Who called what is no code, through a null pointer, say: the return address is still the last on the stack. It goes
 * on as if the call had not been made; libdwfl asks the thread for its registers, so it has others for so long. One
 * less than the return address is in the call itself, and what follows may be another function.
 */
static void walk_from_caller(Dwfl *dwfl, pid_t tid, struct walk *w) {
  struct user_regs_struct was, caller;
  if (ptrace(PTRACE_GETREGS, tid, NULL, &was)) return;
  errno = 0;
  long back = ptrace(PTRACE_PEEKDATA, tid, (void *)was.rsp, NULL);
  if (errno || !is_code(w->pid, (uint64_t)back - 1)) return;
  caller = was;
  caller.rip = (uint64_t)back - 1;
  caller.rsp += sizeof back;
  if (ptrace(PTRACE_SETREGS, tid, NULL, &caller)) return;
  w->returned = true;
  (void)dwfl_getthread_frames(dwfl, tid, add_frame, w);
  (void)ptrace(PTRACE_SETREGS, tid, NULL, &was); /* can fail only if it has been killed */
}

int image_process_stack(pid_t pid, pid_t tid, struct image_process_frame *ret, size_t max, size_t *ret_n,
                        struct err *e) {
  Dwfl *dwfl = open_process(pid, e);
  if (!dwfl) return -ESRCH;
  struct walk w = {.pid = pid, .frames = ret, .max = max};
  (void)dwfl_getthread_frames(dwfl, tid, add_frame, &w); /* what was found before it failed is the stack's inner end */
  if (w.astray) walk_from_caller(dwfl, tid, &w);
  dwfl_end(dwfl);
  if (w.n == 0) return err_set(e, -ENODATA, "process %d: no stack", (int)pid);
  *ret_n = w.n;
  return 0;
}

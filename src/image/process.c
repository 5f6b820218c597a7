/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call stack of a stopped process, by libdwfl, which reads its memory and the unwind tables of what it has mapped.
 */
#include "image/image.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>

struct walk {
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

static int add_frame(Dwfl_Frame *state, void *context) {
  struct walk *w = context;
  Dwarf_Addr pc;
  bool activation = false;
  if (w->n == w->max || !dwfl_frame_pc(state, &pc, &activation)) return DWARF_CB_ABORT;
  struct image_process_frame *f = &w->frames[w->n];
  *f = (struct image_process_frame){.address = pc, .at = pc, .exact = activation};
  Dwfl_Module *m = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(state)), pc - !activation);
  if (m) {
    const char *path = NULL;
    GElf_Addr bias = 0;
    if (dwfl_module_getelf(m, &bias)) f->at = pc - bias; /* only then is its path known */
    (void)dwfl_module_info(m, NULL, NULL, NULL, NULL, NULL, &path, NULL);
    (void)snprintf(f->path, sizeof f->path, "%s", path ? path : "");
  }
  w->n++;
  return DWARF_CB_OK;
}

int image_process_stack(pid_t pid, pid_t tid, struct image_process_frame *ret, size_t max, size_t *ret_n,
                        struct err *e) {
  Dwfl *dwfl = open_process(pid, e);
  if (!dwfl) return -ESRCH;
  struct walk w = {.frames = ret, .max = max};
  (void)dwfl_getthread_frames(dwfl, tid, add_frame, &w); /* what was found before it failed is the stack's inner end */
  dwfl_end(dwfl);
  if (w.n == 0) return err_set(e, -ENODATA, "process %d: no stack", (int)pid);
  *ret_n = w.n;
  return 0;
}

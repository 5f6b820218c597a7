/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trunk of branch mode, and its children.
 *
 * At a call that an order is about, if the process can be copied, the trunk asks the keeper for a world: the files as
 * they are at this moment, for the child alone. The child is what the trunk would be in a run of its own: it has the
 * number that the trunk only says it has, its session, its open files at the same places in them, its folder. It takes
 * the fault; the trunk waits, and goes on as if nothing had happened.
 */
#include "branch.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "aim.h"
#include "apart.h"
#include "below.h"
#include "rt_condition.h"
#include "files.h"
#include "numbers.h"
#include "pinned.h"
#include "process.h"
#include "server.h"
#include "sound.h"
#include "stack.h"
#include "system.h"

#define PATH_ROOM 4096

uint32_t rt_trunk_pid;

static struct {
  struct wire_branch *orders;
  uint32_t n, shown;
  char folder[PATH_ROOM];
  struct wire_order kept[WIRE_ORDERS]; /* the trunk's own, while a child counts its calls in the same place */
} trunk;

static uint32_t own_number(void) { return (uint32_t)rt_system(SYS_getpid, 0, 0, 0, 0, 0, 0); }

static void close_one(int fd) {
  if (fd >= 0) (void)rt_system(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* The next message of the keeper's must be WHAT; *ret has it whatever it is. */
static bool hear(int socket, enum wire_branch_what what, struct wire_branch_message *ret, int files[RT_FILES]) {
  *ret = (struct wire_branch_message){.what = WIRE_BRANCH_NOT, .value = WIRE_FORK_WORLD};
  return rt_hear(socket, ret, sizeof *ret, files) == (long)sizeof *ret && ret->what == what;
}

/* The keeper, for one child; a negative errno if it cannot be reached. */
static int connect_to_keeper(void) {
  const struct {
    uint16_t family;
    char path[sizeof WIRE_BRANCH_NAME - 1];
  } name = {.family = AF_UNIX, .path = WIRE_BRANCH_NAME};
  long fd = rt_system(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0, 0, 0);
  if (fd < 0) return (int)fd;
  const long size = offsetof(__typeof__(name), path) + sizeof name.path;
  long r = rt_system(SYS_connect, fd, (long)&name, size, 0, 0, 0);
  if (r < 0) close_one((int)fd);
  return r < 0 ? (int)r : (int)fd;
}

/* Whatever this process starts must have the numbers that it would have without murphy, which the keeper sees to. */
static bool say_hello(void) {
  struct wire_branch_message m = {.what = WIRE_BRANCH_HELLO};
  int socket = connect_to_keeper(), none[RT_FILES];
  if (socket < 0) return false;
  bool good = rt_say(socket, &m, sizeof m) && hear(socket, WIRE_BRANCH_GO, &m, none);
  close_one(socket);
  return good;
}

/* libc writes its own number for the thread into locks: it must be the one that children have. */
void rt_trunk_start(long server) {
  trunk.n = rt_load(&rt.area->n_branches);
  trunk.orders = rt_area_array(branches, struct wire_branch);
  trunk.shown = rt.area->shown_pid;
  if (trunk.n > rt.area->branches.n) trunk.n = 0;
  rt_files_start(server);
  rt_numbers_start();
  rt_trunk_pid = own_number();
  *rt_process_tid() = trunk.shown;
  if (!say_hello()) trunk.n = 0;
}

bool rt_trunk_asks(uint32_t rule, uint32_t n_rules) {
  for (uint32_t i = 0; i < trunk.n; i++)
    if (trunk.orders[i].rule - rule < n_rules) return true;
  return false;
}

uint64_t rt_trunk_shown(uint64_t number) { return (uint32_t)number == rt_trunk_pid ? trunk.shown : number; }

uint64_t rt_trunk_meant(uint64_t number) {
  if (!rt_trunk()) return number;
  if ((uint32_t)number == trunk.shown) return rt_trunk_pid;
  return (uint32_t)number == -trunk.shown ? (uint64_t) - (int64_t)rt_trunk_pid : number;
}

/* --- one child ---------------------------------------------------------------------------------------------------- */

static void become(const struct rt_call *c, const struct wire_branch *b, uint32_t process) {
  uint32_t n = rt_orders() < WIRE_ORDERS ? rt_orders() : WIRE_ORDERS - 1; /* murphy leaves room for one */
  struct wire_order *o = &rt.area->orders[n];
  rt_trunk_pid = 0;
  (void)rt_system(SYS_setsid, 0, 0, 0, 0, 0, 0);
  rt_child_lists();
  rt_apart_put_back();
  rt_process_goes_on(process);
  *o = (struct wire_order){
      .hash = b->hash, .nth = b->nth, .rule = b->rule, .fault = b->fault, .persistent = b->persistent};
  o->seen = b->nth;
  if (b->persistent) {
    o->about = rt_order_asks(c);
    o->around = rt_point_around(c);
  }
  rt_store(&rt.area->n_orders, n + 1);
  rt_aim_branch();
}

/* The child's files, folder and number. If they cannot be had it ends before it was anything. */
static void enter_world(struct wire_branch *b, const int files[RT_FILES], bool hello) {
  enum wire_refusal why = WIRE_FORK_GOOD;
  if (own_number() != trunk.shown || (hello && !say_hello()))
    why = WIRE_FORK_UNKNOWN;
  else if (!rt_numbers_child(files))
    why = WIRE_FORK_WORLD;
  else if (!rt_numbers_unmapped())
    why = WIRE_FORK_MAPPINGS;
  else if (!rt_files_reopen(files) || rt_system(SYS_chdir, (long)trunk.folder, 0, 0, 0, 0, 0) < 0)
    why = WIRE_FORK_WORLD;
  else if (!rt_pinned_take())
    why = WIRE_FORK_APART;
  if (why == WIRE_FORK_GOOD) {
    rt_store(&b->made, 1);
    return;
  }
  rt_store(&b->refusal, (uint32_t)why);
  for (;;)
    (void)rt_system(SYS_exit_group, 0, 0, 0, 0, 0, 0);
}

static void close_all(int socket, const int files[RT_FILES]) {
  close_one(socket);
  for (int i = 0; i < RT_FILES; i++)
    close_one(files[i]);
}

/* Numbers for programs that the child's processes would have become. */
static void forget_heirs(void) {
  for (uint32_t i = 0; i < WIRE_HEIRS; i++)
    if (rt_load(&rt.area->heirs[i]) || rt_load(&rt.area->lineages[i]) || rt_load(&rt.area->spawned[i])) {
      rt_store(&rt.area->heirs[i], 0);
      rt_store(&rt.area->lineages[i], 0);
      rt_store(&rt.area->spawned[i], 0);
      rt_store(&rt.area->begun[i], 0);
    }
}

/* True in the child. */
static bool fork_over(const struct rt_call *c, int socket, struct wire_branch *b) {
  struct wire_branch_message m = {.what = WIRE_BRANCH_ASK,
                                  .order = (uint32_t)(b - trunk.orders),
                                  .value = rt_numbers_check() ? 0 : WIRE_BRANCH_LOOKED};
  if (rt_files_reading()) m.value |= WIRE_BRANCH_READING;
  int files[RT_FILES] = {-1, -1, -1, -1}, none[RT_FILES];
  uint32_t process = rt_process(), next = rt_load(&rt.area->next_process), n = rt_load(&rt.area->processes);
  uint32_t n_orders = rt_orders();
  for (uint32_t i = 0; i < n_orders; i++)
    trunk.kept[i] = rt.area->orders[i];
  bool good = rt_say(socket, &m, sizeof m) && hear(socket, WIRE_BRANCH_READY, &m, files);
  if (!good) rt_store(&b->refusal, (uint32_t)m.value);
  bool hello = m.value != 0;
  rt_apart_keep();
  m = (struct wire_branch_message){.what = WIRE_BRANCH_BORN, .value = good ? rt_fork_beside() : -1};
  if (m.value == 0) {
    enter_world(b, files, hello);
    close_all(socket, files);
    become(c, b, process);
    return true;
  }
  if (good && rt_say(socket, &m, sizeof m)) (void)hear(socket, WIRE_BRANCH_DONE, &m, none);
  close_all(socket, files);
  rt_store(&rt.area->next_process, next);
  rt_store(&rt.area->processes, n);
  rt_store(&rt.area->n_orders, n_orders);
  for (uint32_t i = 0; i < n_orders; i++)
    rt.area->orders[i] = trunk.kept[i];
  forget_heirs();
  return false;
}

static bool fork_for(const struct rt_call *c, struct wire_branch *b) {
  int socket = connect_to_keeper();
  if (socket >= 0) return fork_over(c, socket, b);
  rt_store(&b->refusal, WIRE_FORK_WORLD);
  return false;
}

/* --- where to branch ---------------------------------------------------------------------------------------------- */

static bool is_before(const struct wire_branch *b, uint64_t hash, uint32_t rule) {
  return b->hash < hash || (b->hash == hash && b->rule < rule);
}

/* The first order of this hash and rule; trunk.n if there is none. */
static uint32_t find(uint64_t hash, uint32_t rule) {
  uint32_t low = 0, high = trunk.n;
  while (low < high) {
    uint32_t mid = low + (high - low) / 2;
    if (is_before(&trunk.orders[mid], hash, rule))
      low = mid + 1;
    else
      high = mid;
  }
  const struct wire_branch *b = &trunk.orders[low];
  return low < trunk.n && b->hash == hash && b->rule == rule ? low : trunk.n;
}

/* Sessions and groups that the program has changed are not those that a child would have; nor is it for vfork's. */
static bool leads(void) {
  return rt_process() == 1 && own_number() == rt_trunk_pid &&
         (uint32_t)rt_system(SYS_getpgid, 0, 0, 0, 0, 0, 0) == rt_trunk_pid &&
         (uint32_t)rt_system(SYS_getsid, 0, 0, 0, 0, 0, 0) == rt_trunk_pid;
}

static enum wire_refusal judge(void) {
  uint64_t pending = 0;
  if (!leads()) return WIRE_FORK_CHILDREN;
  if (rt_system(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0) < 0 || pending) return WIRE_FORK_SIGNALS;
  if (rt_system(SYS_getcwd, (long)trunk.folder, sizeof trunk.folder, 0, 0, 0, 0) < 0) return WIRE_FORK_WORLD;
  const uint64_t *written;
  uint32_t n;
  enum wire_refusal r = rt_sound_process();
  if (r == WIRE_FORK_GOOD) r = rt_pinned_list();
  if (r == WIRE_FORK_GOOD) r = rt_files_list(&written, &n);
  return r == WIRE_FORK_GOOD ? rt_sound_memory(written, n) : r;
}

/* Is one of the orders from FIRST on, which are about this point, about this time that it is reached? */
static bool is_due(uint32_t first, uint64_t seen) {
  const struct wire_branch *b = &trunk.orders[first];
  for (uint32_t i = first; i < trunk.n && trunk.orders[i].hash == b->hash && trunk.orders[i].rule == b->rule; i++)
    if (trunk.orders[i].nth == seen) return true;
  return false;
}

static __attribute__((noinline)) bool branch_all(const struct rt_call *c, uint32_t first, uint64_t seen) {
  const uint64_t hash = trunk.orders[first].hash;
  const uint32_t rule = trunk.orders[first].rule;
  enum wire_refusal refusal = WIRE_REFUSALS; /* not asked yet */
  for (uint32_t i = first; i < trunk.n && trunk.orders[i].hash == hash && trunk.orders[i].rule == rule; i++) {
    struct wire_branch *b = &trunk.orders[i];
    if (b->nth != seen) continue;
    if (refusal == WIRE_REFUSALS) refusal = judge();
    if (refusal != WIRE_FORK_GOOD)
      rt_store(&b->refusal, (uint32_t)refusal);
    else if (fork_for(c, b))
      return true;
  }
  return false;
}

/* No system call may be made, not even to see to the stack. */
static void refuse_all(uint32_t first, uint64_t seen, enum wire_refusal why) {
  const struct wire_branch *b = &trunk.orders[first];
  for (uint32_t i = first; i < trunk.n && trunk.orders[i].hash == b->hash && trunk.orders[i].rule == b->rule; i++)
    if (trunk.orders[i].nth == seen) rt_store(&trunk.orders[i].refusal, (uint32_t)why);
}

/* Most calls are not those that an order is about, or come at another time: that is found out first. */
__attribute__((noinline)) bool rt_branch(const struct rt_call *c) {
  if (trunk.n == 0) return false;
  uint32_t first = find(rt_point_here(c), (uint32_t)c->rule);
  if (first == trunk.n || !is_due(first, rt_add(&trunk.orders[first].seen, 1) + 1)) return false;
  const uint64_t seen = rt_load(&trunk.orders[first].seen);
  enum wire_refusal refusal = rt_apart_judge();
  if (refusal != WIRE_FORK_GOOD) {
    refuse_all(first, seen, refusal);
    return false;
  }
  rt_stack_keep();
  bool child = branch_all(c, first, seen);
  rt_stack_put_back();
  return child;
}

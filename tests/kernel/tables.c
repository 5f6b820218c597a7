/* SPDX-License-Identifier: Apache-2.0 */
/* The system calls of the tiny kernel that go through tables of operations. A part of tiny.c: a kernel has one BTF. */

/* --- the file's operations ---------------------------------------------------------------------------------------- */

elsewhere long disk_read(struct file *file, char *to, size_t n) { return file->mode ? -EIO : to && n; }
elsewhere long disk_write(struct file *file, const char *from, size_t n) { return file->mode ? -ENOSPC : from && n; }
elsewhere int disk_flush(struct file *file) { return file->mode ? -EROFS : 0; }
const struct file_operations disk_operations = {"disk", disk_read, disk_write, disk_flush};

elsewhere long pipe_read(struct file *file, char *to, size_t n) { return file->mode ? -EAGAIN : to && n; }
elsewhere long pipe_write(struct file *file, const char *from, size_t n) { return file->mode ? -EPIPE : from && n; }
const struct file_operations pipe_operations = {.owner = "pipe", .read = pipe_read, .write = pipe_write};

/* No ordinary program has one of these open. */
elsewhere long radar_read(struct file *file, char *to, size_t n) { return file->mode ? -ENXIO : to && n; }
elsewhere int radar_flush(struct file *file) { return file->mode ? -ETIMEDOUT : 0; }
const struct file_operations radar_operations = {.owner = "radar", .read = radar_read, .flush = radar_flush};

/* Of the same shape, and something else. */
struct channel {
  unsigned mode;
};
struct channel_operations {
  const char *owner;
  long (*read)(struct channel *channel, char *to, size_t n);
  long (*write)(struct channel *channel, const char *from, size_t n);
  int (*flush)(struct channel *channel);
};
elsewhere long channel_read(struct channel *channel, char *to, size_t n) { return channel->mode ? -EPROTO : to && n; }
elsewhere int channel_flush(struct channel *channel) { return channel->mode ? -EPROTO : 0; }
const struct channel_operations disk_channel = {.owner = "channel", .read = channel_read, .flush = channel_flush};

/* expect read: EBADF EIO EAGAIN
   expect read all: EBADF EIO EAGAIN ENXIO
   why read:EIO: __x64_sys_read disk_operations disk_read */
CALL(read) {
  struct file *file = fget((unsigned)regs->di);
  if (!file) return -EBADF;
  return file->f_op->read(file, (char *)regs->si, regs->dx);
}

/* As vfs_write: an operation, or else another one. */
elsewhere long simple_write(struct file *file, size_t n) { return n > 4096 ? -EFBIG : file->mode & 1; }
elsewhere long vfs_write(struct file *file, const char *from, size_t n) {
  long done;
  if (!(file->mode & 2)) return -EBADF;
  if (unlikely((long)n < 0)) return -EOVERFLOW;
  if (file->f_op->write)
    done = file->f_op->write(file, from, n);
  else if (file->f_op->read)
    done = simple_write(file, n);
  else
    done = -EINVAL;
  if (done > 0) file->mode |= 4;
  return done;
}

/* expect write: EBADF EOVERFLOW ENOSPC EPIPE EFBIG EINVAL
   why write:ENOSPC: vfs_write disk_operations disk_write */
CALL(write) {
  struct file *file = fget((unsigned)regs->di);
  long done = -EBADF;
  if (file) done = vfs_write(file, (const char *)regs->si, regs->dx);
  return done;
}

/* By the type of an argument, and with a jump in place of a call. */
elsewhere int close_file(struct file *file, const char *who) {
  if (!who) return -ESRCH;
  return file->f_op->flush(file);
}

/* expect close: EBADF ESRCH EROFS
   expect close all: EBADF ESRCH EROFS ETIMEDOUT
   why close:EROFS: close_file disk_operations disk_flush */
CALL(close) {
  struct file *file = fget((unsigned)regs->di);
  return file ? close_file(file, (const char *)regs->si) : -EBADF;
}

/* expect read_channel: EPROTO */
elsewhere struct channel *channel_of(unsigned n) { return (struct channel *)&buffers[n]; }
elsewhere int use_channel(struct channel *channel, const struct channel_operations *ops) {
  return (int)ops->read(channel, NULL, 0);
}
CALL(read_channel) { return use_channel(channel_of(1), (const struct channel_operations *)regs->di); }

/* If none of the tables is an ordinary one, all count. */
struct gadget;
struct gadget_operations {
  int (*start)(struct gadget *gadget);
  int (*stop)(struct gadget *gadget, int how);
};
struct gadget {
  int state;
  const struct gadget_operations *ops;
};
elsewhere int red_start(struct gadget *gadget) { return gadget->state ? -EACCES : 0; }
elsewhere int blue_start(struct gadget *gadget) { return gadget->state ? -EEXIST : 0; }
const struct gadget_operations red_gadget = {.start = red_start};
const struct gadget_operations blue_gadget = {.start = blue_start};
elsewhere int start_gadget(struct gadget *gadget) { return gadget->ops->start(gadget); }

/* expect none_ordinary: EACCES EEXIST */
CALL(none_ordinary) { return start_gadget((struct gadget *)regs->di); }

/* The way through the more common table is told, though it is longer. */
struct store;
struct store_operations {
  int (*put)(struct store *store, int n);
  int (*drop)(struct store *store);
};
struct store {
  int state;
  const struct store_operations *ops;
};
elsewhere int disk_room(int n) { return n > 9 ? -ENOSPC : 0; }
elsewhere int disk_put(struct store *store, int n) {
  int error = disk_room(n);
  return error < 0 ? error : store->state & 1;
}
elsewhere int pipe_put(struct store *store, int n) { return n > store->state ? -ENOSPC : 0; }
const struct store_operations disk_store = {.put = disk_put};
const struct store_operations pipe_store = {.put = pipe_put};
elsewhere int put_store(struct store *store, int n) { return store->ops->put(store, n); }

/* expect put: ENOSPC
   why put:ENOSPC: put_store disk_store pipe_store disk_put disk_room */
CALL(put) { return put_store((struct store *)regs->di, (int)regs->si); }

/* What only one of several that do the same returns does not count. */
struct super;
struct super_operations {
  int (*freeze)(struct super *super);
  int (*statfs)(struct super *super, long *to);
};
struct super {
  int state;
  const struct super_operations *ops;
};
elsewhere int left_statfs(struct super *super, long *to) { return super->state ? -EIO : to ? -EBUSY : 0; }
elsewhere int right_statfs(struct super *super, long *to) { return super->state ? -EIO : to ? -ELOOP : 0; }
elsewhere int left_freeze(struct super *super) { return super->state ? -EPERM : 0; }
const struct super_operations left_super = {left_freeze, left_statfs};
const struct super_operations right_super = {.statfs = right_statfs};
elsewhere int vfs_statfs(struct super *super, long *to) { return super->ops->statfs(super, to); }
elsewhere int vfs_freeze(struct super *super) { return super->ops->freeze(super); }

/* expect statfs: EIO EBUSY ELOOP */
CALL(statfs) { return vfs_statfs((struct super *)regs->di, (long *)regs->si); }

/* expect freeze: EPERM
   Only one of them does it. */
CALL(freeze) { return vfs_freeze((struct super *)regs->di); }

/* --- two levels --------------------------------------------------------------------------------------------------- */

elsewhere int disk_permission(struct inode *inode, int mask) { return inode->mode & (unsigned)mask ? 0 : -EACCES; }
elsewhere int disk_create(struct inode *inode, const char *name) { return name ? -EFBIG : (int)inode->mode; }
const struct inode_operations disk_inode_operations = {disk_permission, disk_create};

/* expect access: EBADF EACCES
   why access:EACCES: disk_inode_operations disk_permission */
CALL(access) {
  struct file *file = fget((unsigned)regs->di);
  if (!file) return -EBADF;
  return file->f_inode->i_op->permission(file->f_inode, 4);
}

/* --- an object that only another call knows ----------------------------------------------------------------------- */

struct socket;
struct proto_ops {
  int family;
  int (*bind)(struct socket *sock, int port);
  int (*shutdown)(struct socket *sock);
};
struct socket {
  int state;
  struct file *file;
  const struct proto_ops *ops;
};
elsewhere int inet_bind(struct socket *sock, int port) { return sock->state == port ? -EADDRINUSE : 0; }
elsewhere int inet_shutdown(struct socket *sock) { return sock->state ? 0 : -ENOTCONN; }
const struct proto_ops inet_proto = {2, inet_bind, inet_shutdown};

elsewhere int sock_allowed(struct socket *sock, int port) { return port > 65535 ? -ENETDOWN : sock->state & 1; }

/* expect bind: ENOTSOCK ENETDOWN EADDRINUSE */
CALL(bind) {
  struct file *file = fget((unsigned)regs->di);
  struct socket *sock = file ? file->private_data : NULL;
  if (!sock) return -ENOTSOCK;
  int error = sock_allowed(sock, (int)regs->si);
  if (error < 0) return error;
  return sock->ops->bind(sock, (int)regs->si);
}

/* --- an object that gives itself ---------------------------------------------------------------------------------- */

struct widget;
struct widget_operations {
  long flags, more, last;
  int (*poke)(struct widget *widget, int how);
};
struct widget {
  long a, b, c, d, e;
  const struct widget_operations *ops;
};
elsewhere int round_poke(struct widget *widget, int how) { return widget->a == how ? -ESPIPE : 0; }
const struct widget_operations round_widget = {.poke = round_poke};

static void *things[8];
elsewhere void *find_thing(unsigned long n) { return n < 8 ? things[n] : NULL; }

/* expect poke: ESRCH ESPIPE */
CALL(poke) {
  struct widget *widget = find_thing(regs->di);
  if (!widget) return -ESRCH;
  return widget->ops->poke(widget, (int)regs->si);
}

/* --- elements of arrays ------------------------------------------------------------------------------------------- */

struct command {
  unsigned number, flags;
  int (*run)(const struct command *command, unsigned long arg);
};
elsewhere int run_first(const struct command *command, unsigned long arg) {
  return command->flags == arg ? -EMFILE : 0;
}
elsewhere int run_second(const struct command *command, unsigned long arg) {
  return command->flags == arg ? -ENFILE : 0;
}
elsewhere int run_third(const struct command *command, unsigned long arg) {
  return command->flags == arg ? -ENODATA : 0;
}
const struct command disk_commands[] = {{1, 0, run_first}, {2, 0, run_second}, {3, 4, run_third}};

elsewhere int run_command(const struct command *command, unsigned long arg) { return command->run(command, arg); }

/* expect control: EMFILE ENFILE ENODATA ENOTTY */
CALL(control) {
  for (unsigned i = 0; i < 3; i++)
    if (disk_commands[i].number == regs->di) return run_command(&disk_commands[i], regs->si);
  return -ENOTTY;
}

/* expect control_indexed: EMFILE ENFILE ENODATA ENOTTY */
CALL(control_indexed) {
  if (regs->di > 2) return -ENOTTY;
  const struct command *command = &disk_commands[regs->di];
  return command->run(command, regs->si);
}

typedef int (*action)(unsigned long arg);
elsewhere int act_first(unsigned long arg) { return arg ? -ENOTDIR : 0; }
elsewhere int act_second(unsigned long arg) { return arg ? -ENOSYS : 0; }
const action disk_actions[] = {act_first, act_second};

/* expect act: EINVAL ENOTDIR ENOSYS */
CALL(act) {
  if (regs->di > 1) return -EINVAL;
  return disk_actions[regs->di](regs->si);
}

/* No table has this operation: it is not called, and nothing more can come from it. */
struct wire {
  const struct channel_operations *operations;
  struct channel channel;
} wires[4];
elsewhere long wire_write(struct wire *wire, const char *from, size_t n) {
  if (!wire->operations->write) return -EINVAL;
  return wire->operations->write(&wire->channel, from, n);
}

/* expect channel_write: EINVAL */
CALL(channel_write) { return wire_write(&wires[regs->di & 3], (const char *)regs->si, regs->dx); }

/* Tables that are made at run time. */
struct late_operations {
  int (*start)(struct wire *wire, int how);
};
struct late {
  const struct late_operations *operations;
  struct wire wire;
} late[4];
elsewhere int late_begin(struct late *one, int how) {
  return one->operations->start ? one->operations->start(&one->wire, how) : -ENOSYS;
}

/* expect late_start: ENOSYS
   unknown late_start */
CALL(late_start) { return late_begin(&late[regs->di & 3], (int)regs->si); }

/* --- functions that are given ------------------------------------------------------------------------------------- */

elsewhere int each_file(int (*use)(struct file *file, unsigned long arg), unsigned long arg) {
  for (unsigned i = 0; i < 16; i++) {
    int error = use(fget(i), arg);
    if (error) return error;
  }
  return 0;
}
elsewhere int sync_one(struct file *file, unsigned long arg) { return file->mode == arg ? -EIO : 0; }

/* expect callback: EIO */
CALL(callback) { return each_file(sync_one, regs->di); }

struct disk_file {
  long sectors;
  const struct file_operations *under;
  struct file file;
};

/* expect stacked: EROFS
   expect stacked all: EROFS ETIMEDOUT
   unknown stacked
   todo stacked: what is before an object in a larger one has no type */
elsewhere int stack_flush(struct file *file) {
  struct disk_file *disk = (struct disk_file *)((char *)file - __builtin_offsetof(struct disk_file, file));
  return disk->under->flush(&disk->file);
}
CALL(stacked) { return stack_flush(&files[regs->di & 15]); }

/* --- lists of hooks ----------------------------------------------------------------------------------------------- */

struct hlist_node {
  struct hlist_node *next, **pprev;
};
struct hlist_head {
  struct hlist_node *first;
};
union hook_function {
  int (*file_open)(struct file *file);
  int (*task_kill)(int pid);
};
struct hook_list {
  struct hlist_node list;
  struct hlist_head *head;
  union hook_function hook;
  const char *owner;
};
struct hook_heads {
  struct hlist_head file_open, task_kill;
} hook_heads;

elsewhere int guard_open(struct file *file) { return file->mode & 2 ? -EPERM : 0; }
elsewhere int label_open(struct file *file) { return file->mode & 1 ? -EACCES : 0; }
elsewhere int guard_kill(int pid) { return pid == 1 ? -EOPNOTSUPP : 0; }
static struct hook_list guard_hooks[] = {
    {.head = &hook_heads.file_open, .hook.file_open = guard_open, .owner = "guard"},
    {.head = &hook_heads.task_kill, .hook.task_kill = guard_kill, .owner = "guard"},
};
static struct hook_list label_hooks[] = {
    {.head = &hook_heads.file_open, .hook.file_open = label_open, .owner = "label"},
};

/* At the start all hooks go to their lists. */
void add_hooks(void);
void add_hooks(void) {
  for (int i = 0; i < 2; i++)
    guard_hooks[i].head->first = &guard_hooks[i].list;
  label_hooks[0].list.next = label_hooks[0].head->first;
}

elsewhere int security_file_open(struct file *file) {
  for (struct hlist_node *p = hook_heads.file_open.first; p; p = p->next) {
    int error = ((struct hook_list *)p)->hook.file_open(file);
    if (error) return error;
  }
  return 0;
}

elsewhere int security_task_kill(int pid) {
  for (struct hlist_node *p = hook_heads.task_kill.first; p; p = p->next) {
    int error = ((struct hook_list *)p)->hook.task_kill(pid);
    if (error) return error;
  }
  return 0;
}

/* expect open: EPERM EACCES
   why open:EPERM: security_file_open guard_hooks guard_open */
CALL(open) { return security_file_open((struct file *)regs->di); }

/* expect kill: EOPNOTSUPP */
CALL(kill) { return security_task_kill((int)regs->di); }

/* --- what belongs to a processor ---------------------------------------------------------------------------------- */

struct task;
struct sched_class {
  int rank;
  int (*yield)(struct task *task);
};
struct task {
  long state, flags;
  const struct sched_class *sched_class;
};
struct task *current_task __attribute__((section(".data..percpu")));

static inline struct task *get_current(void) {
  struct task *task;
  asm("movq %%gs:%P1, %0" : "=r"(task) : "p"(&current_task));
  return task;
}

elsewhere int fair_yield(struct task *task) { return task->flags ? -EDEADLK : 0; }
const struct sched_class fair_class = {1, fair_yield};

/* expect yield: EDEADLK */
CALL(yield) {
  struct task *task = get_current();
  return task->sched_class->yield(task);
}

/* --- what tiny.ways says ------------------------------------------------------------------------------------------ */

elsewhere int trace_call(int x) { return x ? -EUSERS : 0; }

/* expect traced: EINVAL
   expect traced all: EINVAL EUSERS */
CALL(traced) { return regs->si ? -EINVAL : trace_call((int)regs->di); }

elsewhere int walk_fast(int x) { return x == 1 ? -ECHILD : x == 2 ? -ENOENT : 0; }

/* expect walks: ENOENT */
CALL(walks) { return walk_fast((int)regs->di); }

static int pending;
elsewhere int pending_error(void) {
  int error = pending;
  pending = 0;
  return error;
}

/* expect sync: EIO ENOSPC
   why sync:ENOSPC: pending_error data/kernel/ways */
CALL(sync) { return pending_error(); }

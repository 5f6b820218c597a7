/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared memory, semaphores and message queues that a run leaves behind. They are no files of any layer and belong to
 * no process: they stay until somebody removes them, or until the IPC namespace goes. To remove them would not do,
 * since the kernel does not give their numbers again: so the keeper goes to a new namespace, and all that it starts
 * from then on with it.
 */
#include "sandbox/keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

static int queues_path(const struct keeper *k, char ret[PATH_MAX]) {
  int n = snprintf(ret, PATH_MAX, "%s/queues", k->options->folder);
  return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int ipc_watch(struct keeper *k, struct err *e) {
  char path[PATH_MAX];
  int r = queues_path(k, path);
  if (r < 0) return err_set(e, r, "sandbox: path too long");
  if (mkdir(path, 0700) < 0 && errno != EEXIST) return err_set(e, -errno, "sandbox: cannot make %s: %m", path);
  /* A kernel without queues has no such file system; one that refuses it is no reason to do without a sandbox. */
  if (mount("mqueue", path, "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) return 0;
  struct stat st;
  k->queues = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (k->queues < 0 || fstat(k->queues, &st) < 0)
    return err_set(e, -errno, "sandbox: cannot look at message queues: %m");
  k->no_queues = st.st_size;
  return 0;
}

/* The kernel adds to the folder's size for each queue in it. */
static bool has_queues(const struct keeper *k) {
  struct stat st;
  return k->queues >= 0 && (fstat(k->queues, &st) < 0 || st.st_size != k->no_queues);
}

bool ipc_used(const struct keeper *k) {
  struct shm_info memory = {0};
  struct seminfo semaphores = {0};
  struct msginfo messages = {0};
  union {
    struct seminfo *info;
  } argument = {.info = &semaphores};
  if (shmctl(0, SHM_INFO, (struct shmid_ds *)&memory) >= 0 && memory.used_ids > 0) return true;
  if (semctl(0, 0, SEM_INFO, argument) >= 0 && semaphores.semusz > 0) return true;
  if (msgctl(0, MSG_INFO, (struct msqid_ds *)&messages) >= 0 && messages.msgpool > 0) return true;
  return has_queues(k);
}

/* A namespace goes some time after it was left, and a user may have so many bytes of queues in all of them together. */
static void remove_queues(const char *path) {
  DIR *d = opendir(path);
  if (!d) return;
  for (struct dirent *entry; (entry = readdir(d));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) (void)unlinkat(dirfd(d), entry->d_name, 0);
  (void)closedir(d);
}

int ipc_renew(struct keeper *k, struct err *e) {
  char path[PATH_MAX];
  int r = queues_path(k, path);
  if (r < 0) return err_set(e, r, "sandbox: path too long");
  if (k->queues >= 0) {
    remove_queues(path);
    (void)close(k->queues);
    k->queues = -1;
    if (umount2(path, MNT_DETACH) < 0) return err_set(e, -errno, "sandbox: cannot renew message queues: %m");
  }
  if (unshare(CLONE_NEWIPC) < 0) return err_set(e, -errno, "sandbox: cannot renew shared memory: %m");
  return ipc_watch(k, e);
}

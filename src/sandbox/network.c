/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that a run leaves behind. The kernel keeps their ports for a minute after both sides have closed them, so
 * that the next run could not have them: where there are any, the keeper goes to a new network namespace, and all that
 * it starts from then on with it. So it does where the loopback device is not as it was.
 */
#include "sandbox/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void bring_loopback_up(void) {
  struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)ioctl(fd, SIOCSIFFLAGS, &request);
  (void)close(fd);
}

/* What the program may have set of the loopback device. */
static void look_at_loopback(const struct keeper *k, struct loopback *ret) {
  struct ifreq mtu = {.ifr_name = "lo"}, flags = {.ifr_name = "lo"};
  memset(ret, 0, sizeof *ret);
  struct ifconf all = {.ifc_len = sizeof ret->addresses, .ifc_req = ret->addresses};
  ret->mtu = k->network < 0 || ioctl(k->network, SIOCGIFMTU, &mtu) < 0 ? -1 : mtu.ifr_mtu;
  ret->flags = k->network < 0 || ioctl(k->network, SIOCGIFFLAGS, &flags) < 0 ? 0 : flags.ifr_flags;
  ret->n_addresses = k->network < 0 || ioctl(k->network, SIOCGIFCONF, &all) < 0 ? 0 : all.ifc_len;
}

static bool is_loopback_changed(const struct keeper *k) {
  struct loopback now;
  look_at_loopback(k, &now);
  return memcmp(&now, &k->loopback, sizeof now) != 0;
}

void network_watch(struct keeper *k) {
  bring_loopback_up();
  /* Of another kind than those which are counted. */
  k->network = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  look_at_loopback(k, &k->loopback);
  k->connections = open("/proc/net/sockstat", O_RDONLY | O_CLOEXEC);
}

/* The keeper has none itself. "TCP: inuse 0 orphan 0 tw 0": who has closed, and who waits. */
bool network_used(const struct keeper *k) {
  char text[512];
  unsigned used = 0, waiting = 0;
  if (is_loopback_changed(k)) return true;
  ssize_t n = k->connections < 0 ? -1 : pread(k->connections, text, sizeof text - 1, 0);
  if (n <= 0) return false; /* a kernel without networks */
  text[n] = '\0';
  const char *at = strstr(text, "TCP: inuse ");
  return at && sscanf(at, "TCP: inuse %u orphan %*u tw %u", &used, &waiting) == 2 && (used || waiting);
}

int network_renew(struct keeper *k, struct err *e) {
  if (k->connections >= 0) (void)close(k->connections);
  /* Trunks could not find it any more. */
  if (k->branches >= 0) (void)close(k->branches);
  if (k->network >= 0) (void)close(k->network);
  k->connections = k->branches = k->network = -1;
  if (unshare(CLONE_NEWNET) < 0) return err_set(e, -errno, "sandbox: cannot renew the network: %m");
  network_watch(k);
  return 0;
}

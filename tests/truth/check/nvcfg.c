/* SPDX-License-Identifier: Apache-2.0 */
/* Settings in flash memory of a router, and what is done with them at boot. Built for release: asserts are gone. */
/* flags: -DNDEBUG -D_GNU_SOURCE */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#define NV_SIZE 4096
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct nv_entry {
	char *key, *value;
	struct nv_entry *next;
};

static struct nv_entry *entries;
static unsigned char image[NV_SIZE];

static uint16_t crc16(const unsigned char *p, unsigned n)
{
	uint16_t c = 0xffff;

	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c & 1 ? (c >> 1) ^ 0xa001 : c >> 1;
	}
	return c;
}

static int nv_read(const char *dev)
{
	int fd = open(dev, O_RDONLY); /* @open all */
	ssize_t n;

	if (fd < 0) {
		syslog(LOG_ERR, "%s: %m", dev);
		return -1;
	}
	n = read(fd, image, sizeof(image)); /* @read all */
	close(fd); /* @close none ignored */
	if (n != sizeof(image)) {
		syslog(LOG_ERR, "%s: short image", dev);
		return -1;
	}
	return crc16(image + 2, NV_SIZE - 2) == (image[0] | image[1] << 8) ? 0 : 1;
}

/* In the release, nobody asks how the writing went. */
static void nv_write(const char *dev)
{
	int fd = open(dev, O_WRONLY | O_SYNC); /* @open none used */
	ssize_t n;

	assert(fd >= 0);
	n = write(fd, image, sizeof(image)); /* @write none ignored */
	assert(n == sizeof(image));
	(void)n;
	if (fsync(fd)) /* @fsync all */
		syslog(LOG_CRIT, "nvram not written");
	close(fd); /* @close none ignored */
}

static struct nv_entry *nv_set(const char *key, const char *value)
{
	struct nv_entry *e;

	for (e = entries; e; e = e->next)
		if (!strcmp(e->key, key))
			break;
	if (!e) {
		e = malloc(sizeof(*e)); /* @malloc all */
		if (!e)
			return NULL;
		e->key = strdup(key); /* @strdup all */
		e->value = NULL;
		if (!e->key) {
			free(e);
			return NULL;
		}
		e->next = entries;
		entries = e;
	}
	free(e->value);
	e->value = strdup(value); /* @strdup all */
	return e->value ? e : NULL;
}

static const char *nv_get(const char *key)
{
	for (struct nv_entry *e = entries; e; e = e->next)
		if (!strcmp(e->key, key))
			return e->value;
	return "";
}

static int nv_parse(void)
{
	char *p = (char *)image + 2, *end = (char *)image + NV_SIZE - 1;
	int bad = 0;

	*end = 0;
	while (p < end && *p) {
		size_t n = strlen(p);
		char *eq = strchr(p, '=');

		if (eq) {
			*eq = 0;
			if (!nv_set(p, eq + 1))
				bad++;
		}
		p += n + 1;
	}
	return bad;
}

/* errno alone tells. */
static long nv_number(const char *key, long def)
{
	long v;

	errno = 0;
	v = strtol(nv_get(key), NULL, 0); /* @strtol all */
	if (errno)
		return def;
	return v;
}

/* The end of the text is looked at, too large a number is not. */
static unsigned nv_unsigned(const char *key)
{
	char *end;
	unsigned long v = strtoul(nv_get(key), &end, 10); /* @strtoul none used */

	if (*end)
		return 0;
	return (unsigned)v + 1;
}

static int if_ioctl(unsigned long request, struct ifreq *ifr)
{
	static int s = -1;

	if (s < 0 && (s = socket(AF_INET, SOCK_DGRAM, 0)) < 0) /* @socket all */
		return -1;
	return ioctl(s, request, ifr); /* @ioctl all */
}

static int if_up(const char *name, const char *address)
{
	struct ifreq ifr;
	struct sockaddr_in *sin = (struct sockaddr_in *)&ifr.ifr_addr;

	memset(&ifr, 0, sizeof(ifr));
	strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	sin->sin_family = AF_INET;
	if (inet_aton(address, &sin->sin_addr) == 0) /* @inet_aton all */
		return -EINVAL;
	if (if_ioctl(SIOCSIFADDR, &ifr) < 0)
		return -errno;
	if (if_ioctl(SIOCGIFFLAGS, &ifr) < 0)
		return -errno;
	ifr.ifr_flags |= IFF_UP;
	return if_ioctl(SIOCSIFFLAGS, &ifr) < 0 ? -errno : 0;
}

static int write_value(const char *path, const char *value)
{
	int fd, err = 0;

	fd = open(path, O_WRONLY | O_TRUNC); /* @open all */
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0) /* @write all */
		err = -errno;
	if (close(fd) < 0 && !err) /* @close all */
		err = -errno;
	return err;
}

static void sysctls(void)
{
	static const struct { const char *key, *path; } map[] = {
		{ "forward", "/proc/sys/net/ipv4/ip_forward" },
		{ "rp_filter", "/proc/sys/net/ipv4/conf/all/rp_filter" },
		{ "hostname", "/proc/sys/kernel/hostname" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(map); i++) {
		int rc = write_value(map[i].path, nv_get(map[i].key));

		if (rc)
			syslog(LOG_WARNING, "%s: %s", map[i].path, strerror(-rc));
	}
}

static int mounts(void)
{
	static const char *const dirs[] = { "/tmp/etc", "/tmp/run", "/tmp/log" };
	unsigned i;

	if (mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID, "size=4m") != 0) { /* @mount all */
		if (errno != EBUSY)
			return -1;
	}
	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		mkdir(dirs[i], 0755); /* @mkdir none ignored */
	/* Not there from the last time: fine. Anything else passes for fine, too. */
	if (symlink("/tmp/etc", "/etc/runtime") < 0 && errno == EROFS) /* @symlink some missing=EACCES */
		return -1;
	return 0;
}

static void old_root(void)
{
	if (umount("/oldroot") != 0 && errno == EBUSY) /* @umount some missing=EPERM */
		syslog(LOG_WARNING, "the old root is still in use");
	sync();
}

static int resolv(const char *path)
{
	FILE *f = fopen(path, "w"); /* @fopen all */
	int n = 0;

	if (!f)
		return -1;
	n |= fprintf(f, "domain %s\n", nv_get("domain")); /* @fprintf all */
	n |= fprintf(f, "nameserver %s\n", nv_get("dns")); /* @fprintf all */
	if (n < 0) {
		unlink(path); /* @unlink none ignored */
		fclose(f); /* @fclose none ignored */
		return -1;
	}
	return fclose(f) == 0 ? 0 : -1; /* @fclose all */
}

static void set_clock(void)
{
	struct timeval tv = { .tv_sec = nv_number("lasttime", 1000000000) };

	if (settimeofday(&tv, NULL) == 1) /* @settimeofday none used/ignored */
		syslog(LOG_ERR, "clock");
}

static bool has_usb(void)
{
	return access("/sys/bus/usb/devices/1-1", F_OK) == 0; /* @access all */
}

static void lan_name(char *to, size_t room)
{
	unsigned vlan = nv_unsigned("vlan");

	if ((size_t)snprintf(to, room, "eth0.%u", vlan) >= room) /* @snprintf any */
		strncpy(to, "eth0", room);
}

static int reset_button(const char *gpio)
{
	char c = '1';
	int fd = open(gpio, O_RDONLY | O_NONBLOCK); /* @open all */

	if (fd == -1)
		return 0;
	if (pread(fd, &c, 1, 0) < 1) /* @pread all */
		c = '1';
	close(fd); /* @close none ignored */
	return c == '0';
}

int main(int argc, char **argv)
{
	const char *dev = argc > 1 ? argv[1] : "/dev/mtd3";
	char name[IFNAMSIZ];
	int rc;

	openlog("nvcfg", LOG_CONS, LOG_DAEMON);
	if (nv_read(dev) < 0 || reset_button("/sys/class/gpio/gpio7/value")) {
		memset(image, 0, sizeof(image));
		nv_write(dev);
		if (reboot(RB_AUTOBOOT) < 0) /* @reboot all */
			return 1;
	}
	if (nv_parse() > 0) {
		syslog(LOG_ERR, "out of memory");
		return 1;
	}
	if (mounts() < 0)
		syslog(LOG_ERR, "mounts: %m");
	old_root();
	set_clock();
	sysctls();
	lan_name(name, sizeof(name));
	if ((rc = if_up(name, nv_get("lan_ip"))) != 0)
		syslog(LOG_ERR, "%s: %s", name, strerror(-rc));
	if (resolv("/tmp/etc/resolv.conf") < 0)
		syslog(LOG_ERR, "resolv.conf: %m");
	return has_usb() ? 0 : 3;
}

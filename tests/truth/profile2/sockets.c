/* SPDX-License-Identifier: Apache-2.0 */
/* Device and network libraries: own negative codes made from errno, name-service codes, aliases of one function. */
#include "common.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { U_SUCCESS = 0, U_IO = -1, U_PARAM = -2, U_ACCESS = -3, U_NO_DEVICE = -4, U_BUSY = -6, U_TIMEOUT = -7, U_NO_MEM = -11, U_OTHER = -99 };

static NI int from_errno(int e)
{
	switch (e) {
	case EIO:
		return U_IO;
	case EINVAL:
		return U_PARAM;
	case EACCES:
		return U_ACCESS;
	case ENODEV:
		return U_NO_DEVICE;
	case EBUSY:
		return U_BUSY;
	case ETIMEDOUT:
		return U_TIMEOUT;
	case ENOMEM:
		return U_NO_MEM;
	default:
		return U_OTHER;
	}
}

/* errors: -1[*] -2[*] -3[*] -4[*] -6[*] -7[*] -11[*] -99[*] */
EXPORT int usb_claim(int fd, unsigned iface)
{
	if (iface >= 32)
		return U_PARAM;
	if (ioctl(fd, 0x8004550f, &iface) < 0)
		return from_errno(errno);
	return U_SUCCESS;
}

/* errors: -2 -4 */
EXPORT int usb_descriptor(const unsigned char *d, int have, int index, int *ret)
{
	int at = 0;

	if (index < 0)
		return U_PARAM;
	while (at < have) {
		if (d[at] < 2)
			return U_PARAM;
		if (index-- == 0) {
			*ret = at;
			return U_SUCCESS;
		}
		at += d[at];
	}
	return U_NO_DEVICE;
}

/* errors: none */
EXPORT const char *usb_error_name(int code)
{
	static const char names[][16] = { "success", "io", "param", "access", "no device", "?", "busy", "timeout" };

	if (code > 0 || code < -7)
		return "other";
	return names[-code];
}

/* errors: -1[@socket,EPROTONOSUPPORT] */
EXPORT int net_stream(int family)
{
	if (family != 2 && family != 10) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* Resolver codes: negative, far from errno. */
/* errors: -2 -4 -8 -11 */
EXPORT int net_lookup(const char *name, const char *service, unsigned *addr)
{
	unsigned part = 0, dots = 0, a = 0;

	if (!name)
		return -2;
	if (!service || !*service)
		return -8;
	for (; *name; name++) {
		if (*name == '.') {
			a = a << 8 | part;
			part = 0;
			if (++dots > 3)
				return -4;
		} else if ((unsigned)(*name - '0') < 10) {
			part = part * 10 + (unsigned)(*name - '0');
			if (part > 255)
				return -11;
		} else
			return -2;
	}
	*addr = a << 8 | part;
	return 0;
}

/* errors: -1[EAFNOSUPPORT] ?0 */
EXPORT int net_address(int family, const char *text, unsigned *ret)
{
	if (family != 2) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	if (net_lookup(text, "0", ret) != 0) {
		*ret = 0;
		return 0;
	}
	return 1;
}

static int shut(int fd)
{
	int r;

	do
		r = close(fd);
	while (r < 0 && errno == EINTR);
	return r;
}

/* errors: -1[@close] */
EXPORT extern int net_close(int fd) __attribute__((alias("shut")));

/* errors: -1[@close] */
EXPORT extern int net_shutdown(int fd) __attribute__((alias("shut")));

/* SPDX-License-Identifier: Apache-2.0 */
/* Codes mapped onto other codes: switches, tables, error numbers into the library's own. */
#include "lib.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PM_SUCCESS, PM_OPEN_ERR, PM_SYMBOL_ERR, PM_SERVICE_ERR, PM_SYSTEM_ERR, PM_BUF_ERR, PM_PERM_DENIED, PM_AUTH_ERR, PM_CRED_INSUFFICIENT, PM_AUTHINFO_UNAVAIL, PM_USER_UNKNOWN, PM_MAXTRIES, PM_ACCT_EXPIRED = 13, PM_CONV_ERR = 19, PM_BAD_ITEM = 29 };
struct pam { char *user, *service, *tty, *prompt; int tries; unsigned char from; };

/* errors: 4 29 5[@malloc] 6 */
EXPORT int pm_set_item(struct pam *h, int type, const char *item)
{
	char **slot;
	if (h == NULL)
		return PM_SYSTEM_ERR;
	switch (type) {
	case 1: slot = &h->service; break;
	case 2: slot = &h->user; break;
	case 3: slot = &h->tty; break;
	case 5: return PM_PERM_DENIED;
	case 9: slot = &h->prompt; break;
	default: return PM_BAD_ITEM;
	}
	if (item) {
		char *copy = strdup(item);
		if (!copy)
			return PM_BUF_ERR;
		free(*slot);
		*slot = copy;
	} else {
		free(*slot);
		*slot = NULL;
	}
	return PM_SUCCESS;
}

/* errors: 4 10 11 7 13 */
EXPORT int pm_check(struct pam *h, const char *secret, const unsigned char *hash, long expires, long now)
{
	unsigned char sum = 0;
	int rv = PM_SYSTEM_ERR;

	if (!h || h->from != 1)
		return rv;
	if (!h->user)
		return PM_USER_UNKNOWN;
	if (h->tries++ > 2)
		return PM_MAXTRIES;
	while (*secret)
		sum = (unsigned char)(sum * 33 + (unsigned char)*secret++);
	rv = PM_AUTH_ERR;
	if (sum == hash[0])
		rv = expires && expires < now ? PM_ACCT_EXPIRED : PM_SUCCESS;
	return rv;
}

/* errors: none */
EXPORT const char *pm_strerror(int e)
{
	static const char *const t[] = { "Success", "Failed to load module", "Symbol not found", "Error in service module", "System error", "Memory buffer error", "Permission denied" };
	return (unsigned)e < 7 ? t[e] : "Unknown error";
}

enum { UB_IO = -1, UB_INVALID = -2, UB_ACCESS = -3, UB_NO_DEVICE = -4, UB_NOT_FOUND = -5, UB_BUSY = -6, UB_TIMEOUT = -7, UB_OVERFLOW = -8, UB_PIPE = -9, UB_NO_MEM = -11, UB_NOT_SUPPORTED = -12, UB_OTHER = -99 };
struct usbdev { int fd, configured; unsigned claimed; unsigned char endpoints[16]; };

static OUTLINE int map_errno(int e)
{
	switch (e) {
	case EACCES: return UB_ACCESS;
	case ENODEV: return UB_NO_DEVICE;
	case EBUSY: return UB_BUSY;
	case ETIMEDOUT: return UB_TIMEOUT;
	case ENOMEM: return UB_NO_MEM;
	default: return UB_OTHER;
	}
}

/* errors: -3[*] -99[*] ?-4 ?-6 ?-7 -11[*] */
EXPORT int ub_open(struct usbdev *d, const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return map_errno(errno);
	d->fd = fd;
	return 0;
}

/* errors: -2 -5[*] -6[EBUSY] -4[ENODEV] -99[*] */
EXPORT int ub_claim(struct usbdev *d, unsigned intf)
{
	if (intf >= 32)
		return UB_INVALID;
	if (!d->configured)
		return UB_NOT_FOUND;
	if (ioctl(d->fd, 0x8004550f, &intf) < 0) {
		if (errno == ENOENT)
			return UB_NOT_FOUND;
		else if (errno == EBUSY)
			return UB_BUSY;
		else if (errno == ENODEV)
			return UB_NO_DEVICE;
		return UB_OTHER;
	}
	d->claimed |= 1u << intf;
	return 0;
}

/* errors: -7 -9 -8 -4 -1 -99 */
EXPORT int ub_transfer_result(int status, int length, int *moved)
{
	int r;
	*moved = length;
	switch (status) {
	case 0: r = 0; break;
	case 2: r = UB_TIMEOUT; break;
	case 4: r = UB_PIPE; break;
	case 6: r = UB_OVERFLOW; break;
	case 5: r = UB_NO_DEVICE; break;
	case 1: case 3: r = UB_IO; break;
	default: r = UB_OTHER;
	}
	return r;
}

/* errors: -5 */
EXPORT int ub_max_packet(const struct usbdev *d, unsigned char endpoint)
{
	for (int i = 0; i < 16; i++)
		if (d->endpoints[i] == endpoint)
			return 64 << (i & 3);
	return UB_NOT_FOUND;
}

/* errors: -3 -4 -6 -5 */
EXPORT int ub_state_code(unsigned state)
{
	static const signed char codes[] = { 0, UB_ACCESS, UB_NO_DEVICE, 0, UB_BUSY };
	return state < sizeof codes ? codes[state] : UB_NOT_FOUND;
}

enum { CE_OK, CE_UNSUPPORTED, CE_FAILED_INIT, CE_URL, CE_NOT_BUILT_IN, CE_RESOLVE = 6, CE_CONNECT, CE_OOM = 27, CE_TIMEDOUT, CE_BAD_ARG = 43, CE_AGAIN = 81 };
struct easy { char *url; long timeout, port; unsigned magic; int (*resolve)(const char *); };

/* errors: 43 27[@malloc] 48 */
EXPORT int cx_setopt(struct easy *e, unsigned option, const void *param)
{
	int result = CE_OK;

	if (!e || e->magic != 0xc0dedbad)
		return CE_BAD_ARG;
	switch (option) {
	case 10002:
		free(e->url);
		e->url = NULL;
		if (param && !(e->url = strdup(param)))
			result = CE_OOM;
		break;
	case 13:
		if ((long)param < 0)
			result = CE_BAD_ARG;
		else
			e->timeout = (long)param;
		break;
	case 3:
		if ((unsigned long)param > 65535)
			return CE_BAD_ARG;
		e->port = (long)param;
		break;
	default:
		result = 48;
		break;
	}
	return result;
}

static OUTLINE int parse_url(const char *u, const char **host)
{
	const char *p = strstr(u, "://");
	if (!p)
		return CE_URL;
	if (strncmp(u, "http", 4) && strncmp(u, "ftp", 3))
		return CE_UNSUPPORTED;
	*host = p + 3;
	return CE_OK;
}

/* errors: 3 1 6 7 28 */
EXPORT int cx_perform(struct easy *e)
{
	const char *host;
	int result = parse_url(e->url, &host);

	if (!result)
		result = e->resolve(host) ? CE_RESOLVE : CE_OK;
	if (!result && e->port == 0)
		result = CE_CONNECT;
	if (!result && e->timeout == 1)
		result = CE_TIMEDOUT;
	return result;
}

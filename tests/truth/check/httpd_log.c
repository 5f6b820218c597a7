/* SPDX-License-Identifier: Apache-2.0 */
/* The log of httpd: one stream, rotated by rename. */
/* program: httpd */
#define _GNU_SOURCE
#include "httpd.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static FILE *log_stream;
static unsigned log_lost;

int log_open(const char *path)
{
	log_stream = fopen(path, "a"); /* @fopen all */
	if (log_stream == NULL)
		return -1;
	return setvbuf(log_stream, NULL, _IOLBF, 0); /* @setvbuf all */
}

void log_line(const char *fmt, ...)
{
	char stamp[32];
	struct tm tm;
	time_t now = time(NULL); /* @time any */
	va_list ap;

	if (!localtime_r(&now, &tm) || strftime(stamp, sizeof stamp, "%F %T ", &tm) == 0) /* @localtime_r all; @strftime all */
		strcpy(stamp, "? ");
	va_start(ap, fmt);
	if (fputs(stamp, log_stream) == EOF || vfprintf(log_stream, fmt, ap) < 0) /* @fputs all; @vfprintf all */
		log_lost++;
	va_end(ap);
	fputc('\n', log_stream); /* @fputc none ignored */
}

/* Errors other than a log that is not there are lost. */
int log_rotate(const char *path)
{
	char old[512];

	snprintf(old, sizeof old, "%s.1", path); /* @snprintf none ignored */
	if (log_lost)
		log_line("%u lines lost", log_lost);
	if (rename(path, old) < 0 && errno == ENOENT) /* @rename some missing=EACCES,ENOSPC */
		return 0;
	log_stream = freopen(path, "a", log_stream); /* @freopen all */
	return log_stream ? 0 : -1;
}

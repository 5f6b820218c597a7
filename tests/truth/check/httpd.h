/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the program httpd. */
#pragma once
#include <stddef.h>

struct conn {
	int fd, pipe[2];
	size_t used;
	char peer[64];
	char buf[4096];
};

int conn_serve(struct conn *c, const char *root);
int log_open(const char *path);
void log_line(const char *fmt, ...);
int log_rotate(const char *path);

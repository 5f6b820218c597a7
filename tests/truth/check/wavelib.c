/* SPDX-License-Identifier: Apache-2.0 */
/* A library for sound files: virtual I/O by tables of functions, error codes in the handle, decoders. */
/* flags: -fPIC -fvisibility=hidden -D_GNU_SOURCE */
/* link: -shared */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

typedef enum
{	WL_ERR_NONE = 0,
	WL_ERR_SYSTEM,
	WL_ERR_MEMORY,
	WL_ERR_FORMAT,
	WL_ERR_SHORT
} wl_error ;

typedef struct wl_private WL ;

typedef struct
{	int64_t (*seek) (WL *, int64_t, int) ;
	int64_t (*read) (WL *, void *, int64_t) ;
	int64_t (*write) (WL *, const void *, int64_t) ;
	int (*close) (WL *) ;
} wl_vio ;

struct wl_private
{	int fd, error, syserr ;
	FILE *fp ;
	const wl_vio *vio ;
	int16_t *ring ;
	size_t frames ;
	uint32_t rate, channels ;
	int64_t dataoffset, datalength ;
	char *comment ;
	int64_t *cues ;
	unsigned ncues ;
} ;

static void
wl_log_syserr (WL *psf, int error)
{	if (psf->error == 0)
	{	psf->error = WL_ERR_SYSTEM ;
		psf->syserr = error ;
		} ;
}

/*----- by descriptor: each of these looks for itself -----*/

static int64_t
fd_seek (WL *psf, int64_t offset, int whence)
{	int64_t pos = lseek (psf->fd, offset, whence) ; /* @lseek all */

	if (pos < 0)
		wl_log_syserr (psf, errno) ;
	return pos ;
}

static int64_t
fd_read (WL *psf, void *ptr, int64_t items)
{	int64_t total = 0 ;
	ssize_t count ;

	while (items > 0)
	{	count = (items > 1 << 20) ? 1 << 20 : items ;
		count = read (psf->fd, ((char *) ptr) + total, (size_t) count) ; /* @read all */
		if (count == -1)
		{	if (errno == EINTR)
				continue ;
			wl_log_syserr (psf, errno) ;
			break ;
			} ;
		if (count == 0)
			break ;
		total += count ;
		items -= count ;
		} ;
	return total ;
}

static int64_t
fd_write (WL *psf, const void *ptr, int64_t items)
{	int64_t total = 0 ;

	while (items > 0)
	{	ssize_t count = write (psf->fd, ((const char *) ptr) + total, (size_t) items) ; /* @write all */

		if (count < 0)
		{	if (errno == EINTR) continue ;
			wl_log_syserr (psf, errno) ;
			break ;
			} ;
		total += count ;
		items -= count ;
		} ;
	return total ;
}

__attribute__ ((noinline)) static int
fd_close (WL *psf)
{	int retval ;

	while ((retval = close (psf->fd)) == -1 && errno == EINTR) /* @close all */
		/* Do nothing. */ ;
	if (retval == -1)
		wl_log_syserr (psf, errno) ;
	psf->fd = -1 ;
	return retval ;
}

/*----- by stream: the table hands the answers to functions that look -----*/

static int64_t
fp_seek (WL *psf, int64_t offset, int whence)
{	if (fseeko (psf->fp, offset, whence) != 0) /* @fseeko all */
		return -1 ;
	return ftello (psf->fp) ; /* @ftello all */
}

static int64_t
fp_read (WL *psf, void *ptr, int64_t items)
{	return (int64_t) fread (ptr, 1, (size_t) items, psf->fp) ; /* @fread all */
}

static int64_t
fp_write (WL *psf, const void *ptr, int64_t items)
{	return (int64_t) fwrite (ptr, 1, (size_t) items, psf->fp) ; /* @fwrite all */
}

static int
fp_close (WL *psf)
{	return fclose (psf->fp) ; /* @fclose all */
}

static const wl_vio fd_vio = { fd_seek, fd_read, fd_write, fd_close } ;
static const wl_vio fp_vio = { fp_seek, fp_read, fp_write, fp_close } ;

static int
wl_get (WL *psf, void *ptr, int64_t n)
{	if (psf->vio->read (psf, ptr, n) != n)
	{	psf->error = WL_ERR_SHORT ;
		return -1 ;
		} ;
	return 0 ;
}

static int
wl_put (WL *psf, const void *ptr, int64_t n)
{	if (psf->vio->write (psf, ptr, n) != n)
	{	psf->error = WL_ERR_SHORT ;
		return -1 ;
		} ;
	return 0 ;
}

static int
wl_header (WL *psf)
{	uint32_t head [11] ;

	if (psf->vio->seek (psf, 0, SEEK_SET) < 0)
		return psf->error = WL_ERR_SYSTEM ;
	if (wl_get (psf, head, sizeof (head)) < 0)
		return psf->error ;
	if (head [0] != 0x46464952 || head [2] != 0x45564157)
		return psf->error = WL_ERR_FORMAT ;
	psf->channels = head [5] >> 16 ;
	psf->rate = head [6] ;
	psf->dataoffset = sizeof (head) ;
	psf->datalength = head [10] ;
	return 0 ;
}

static WL *
wl_allocate (void)
{	WL *psf = calloc (1, sizeof (WL)) ; /* @calloc all */

	if (psf)
		psf->fd = -1 ;
	return psf ;
}

API WL *
wl_open (const char *path, int *error)
{	WL *psf ;

	if ((psf = wl_allocate ()) == NULL)
	{	*error = WL_ERR_MEMORY ;
		return NULL ;
		} ;
	psf->vio = &fd_vio ;
	psf->fd = open (path, O_RDONLY | O_CLOEXEC) ; /* @open all */
	if (psf->fd < 0)
		wl_log_syserr (psf, errno) ;
	else
		wl_header (psf) ;
	if ((*error = psf->error) != 0)
	{	if (psf->fd >= 0)
			fd_close (psf) ;
		free (psf) ;
		return NULL ;
		} ;
	return psf ;
}

API WL *
wl_open_stream (const char *path, const char *mode)
{	WL *psf = wl_allocate () ;

	if (!psf)
		return NULL ;
	psf->vio = &fp_vio ;
	if (!(psf->fp = fopen (path, mode)) || wl_header (psf)) /* @fopen all */
	{	if (psf->fp)
			fclose (psf->fp) ; /* @fclose none ignored */
		free (psf) ;
		return NULL ;
		} ;
	return psf ;
}

API int
wl_read_short (WL *psf, int16_t *to, int64_t frames)
{	return wl_get (psf, to, frames * psf->channels * 2) ;
}

API int
wl_write_short (WL *psf, const int16_t *from, int64_t frames)
{	return wl_put (psf, from, frames * psf->channels * 2) ;
}

/* The size of the file as the operating system tells it, or not. */
API int64_t
wl_length (WL *psf)
{	struct stat st ;

	fstat (psf->fd, &st) ; /* @fstat none ignored */
	return st.st_size - psf->dataoffset ;
}

API int
wl_set_comment (WL *psf, const char *text)
{	free (psf->comment) ;
	psf->comment = strdup (text) ; /* @strdup all */
	return psf->comment == NULL ? (psf->error = WL_ERR_MEMORY) : 0 ;
}

API void
wl_add_cue (WL *psf, int64_t at)
{	psf->cues = realloc (psf->cues, (psf->ncues + 1) * sizeof (int64_t)) ; /* @realloc none dereferenced/used */
	psf->cues [psf->ncues ++] = at ;
}

API int
wl_set_ring (WL *psf, size_t frames)
{	int16_t *ring = malloc (frames * psf->channels * sizeof (int16_t)) ; /* @malloc all */

	if (!ring)
		return psf->error = WL_ERR_MEMORY ;
	free (psf->ring) ;
	psf->ring = ring ;
	psf->frames = frames ;
	return 0 ;
}

/* Silence: the block is cleared before anybody asks whether it is there. */
API int16_t *
wl_silence (size_t frames)
{	int16_t *p = malloc (frames * 4 + 2) ; /* @malloc none dereferenced */

	memset (p, 0, frames * 4) ;
	p [frames] = 1 ;
	return p ;
}

/* What comes is the caller's. */
API int
wl_truncate (WL *psf, int64_t bytes)
{	return ftruncate (psf->fd, bytes) ; /* @ftruncate none returned */
}

API void *
wl_map (WL *psf)
{	void *p = mmap (NULL, (size_t) psf->datalength, PROT_READ, MAP_PRIVATE, psf->fd, 0) ; /* @mmap all */

	return p == MAP_FAILED ? NULL : p ;
}

API char *
wl_describe (const WL *psf)
{	char *text ;
	int n = asprintf (&text, "%u Hz, %u channels", psf->rate, psf->channels) ; /* @asprintf all */

	return n < 0 ? NULL : text ;
}

API int
wl_dump (const WL *psf, const char *path)
{	FILE *f = fopen (path, "w") ; /* @fopen all */
	int bad = 0 ;

	if (f == NULL)
		return -1 ;
	for (unsigned k = 0 ; k < psf->ncues ; k++)
		bad |= fprintf (f, "%u %lld\n", k, (long long) psf->cues [k]) < 0 ; /* @fprintf all */
	bad |= fclose (f) != 0 ; /* @fclose all */
	return -bad ;
}

API int
wl_close (WL *psf)
{	int error = psf->vio->close (psf) ;

	free (psf->ring) ;
	free (psf->comment) ;
	free (psf->cues) ;
	free (psf) ;
	return error == 0 ? WL_ERR_NONE : WL_ERR_SYSTEM ;
}

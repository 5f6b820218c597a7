/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel manners, error pointers; components with HRESULTs. */
#include "lib.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ERRNO 4095
#define IS_ERR(p) ((unsigned long)(p) >= (unsigned long)-MAX_ERRNO)
#define ERR_PTR(e) ((void *)(long)(e))
#define PTR_ERR(p) ((long)(p))

struct clk { int rate, users; };
struct dev { struct clk *clk; void *regs, *ring; unsigned id; int irq; };

static struct clk clocks[4];

static OUTLINE void *clk_find(unsigned id)
{
	if (id >= 8)
		return ERR_PTR(-EINVAL);
	if (id >= 4)
		return ERR_PTR(-ENOENT);
	return &clocks[id];
}

/* errors: -EINVAL -ENOENT -ENXIO */
EXPORT struct clk *dr_clk_get(unsigned id);
struct clk *dr_clk_get(unsigned id)
{
	struct clk *c = clk_find(id);
	if (IS_ERR(c))
		return c;
	if (c->rate == 0)
		return ERR_PTR(-ENXIO);
	c->users++;
	return c;
}

/* errors: -EINVAL -ENOENT -ENOMEM[@malloc] -EIO -ENODEV */
EXPORT int dr_probe(struct dev *d, unsigned id)
{
	struct clk *c;
	int ret;

	c = clk_find(id);
	if (IS_ERR(c))
		return (int)PTR_ERR(c);
	d->regs = malloc(4096);
	if (!d->regs) {
		ret = -ENOMEM;
		goto put_clk;
	}
	d->ring = calloc(64, 16);
	if (!d->ring) {
		ret = -ENOMEM;
		goto unmap;
	}
	if (*(volatile unsigned *)d->regs != 0x1af4) {
		ret = -ENODEV;
		goto free_ring;
	}
	if (d->irq < 0) {
		ret = -EIO;
		goto free_ring;
	}
	d->clk = c;
	return 0;

free_ring:
	free(d->ring);
unmap:
	free(d->regs);
put_clk:
	c->users--;
	return ret;
}

/* errors: -EBUSY -EINVAL -ENOSPC */
EXPORT int dr_ring_reserve(struct dev *d, unsigned n, unsigned *slot)
{
	unsigned *ring = d->ring;
	int ret = -EINVAL;

	if (n == 0 || n > 64)
		goto out;
	ret = -EBUSY;
	if (!__sync_bool_compare_and_swap(&ring[0], 0, 1))
		goto out;
	ret = ring[1] + n > 64 ? -ENOSPC : 0;
	if (!ret) {
		*slot = ring[1];
		ring[1] += n;
	}
	__sync_lock_release(&ring[0]);
out:
	return ret;
}

/* errors: -ETIMEDOUT */
EXPORT int dr_wait_ready(volatile uint32_t *reg, unsigned mask, unsigned tries)
{
	while (!(*reg & mask)) {
		if (tries-- == 0)
			return -ETIMEDOUT;
		__builtin_ia32_pause();
	}
	return 0;
}

/* errors: none */
EXPORT int dr_irq_status(const struct dev *d)
{
	return (*(volatile int *)d->regs >> 4) & 3;
}

typedef int32_t HRESULT;
#define S_OK 0
#define S_FALSE 1
#define E_NOINTERFACE ((HRESULT)0x80004002)
#define E_POINTER ((HRESULT)0x80004003)
#define E_FAIL ((HRESULT)0x80004005)
#define E_OUTOFMEMORY ((HRESULT)0x8007000E)
#define E_INVALIDARG ((HRESULT)0x80070057)
#define CLASS_E_NOAGGREGATION ((HRESULT)0x80040110)

struct guid { uint32_t a; uint16_t b, c; uint8_t d[8]; };
struct unknown { const void *vtbl; int refs; };
static const struct guid iid_unknown = { 0, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };
static const struct guid iid_stream = { 0xc, 0, 0, { 0xc0, 0, 0, 0, 0, 0, 0, 0x46 } };

/* errors: -2147467261 -2147467262 */
EXPORT HRESULT cm_query(struct unknown *self, const struct guid *iid, void **out)
{
	if (!out)
		return E_POINTER;
	if (!memcmp(iid, &iid_unknown, sizeof *iid) || !memcmp(iid, &iid_stream, sizeof *iid)) {
		*out = self;
		__sync_add_and_fetch(&self->refs, 1);
		return S_OK;
	}
	*out = NULL;
	return E_NOINTERFACE;
}

/* errors: -2147221232 -2147024882[@malloc] -2147467261 -2147467262 */
EXPORT HRESULT cm_create(void *outer, const struct guid *iid, void **out)
{
	struct unknown *u;
	HRESULT hr;

	if (outer)
		return CLASS_E_NOAGGREGATION;
	u = calloc(1, sizeof *u);
	if (!u)
		return E_OUTOFMEMORY;
	hr = cm_query(u, iid, out);
	if (hr < 0)
		free(u);
	return hr;
}

/* errors: -2147024809 -2147467259 */
EXPORT HRESULT cm_skip(struct unknown *self, unsigned n)
{
	if (n == 0)
		return E_INVALIDARG;
	if (self->refs <= 0)
		return E_FAIL;
	return n > 10 ? S_FALSE : S_OK;
}

/* errors: none */
EXPORT unsigned cm_add_ref(struct unknown *self)
{
	return (unsigned)__sync_add_and_fetch(&self->refs, 1);
}

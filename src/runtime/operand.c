/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions of conditions that look at the program: its memory, threads and descriptors. */
#include "operand.h"

#include "count.h"
#include "length.h"
#include "process.h"
#include "system.h"
#include "written.h"

static uint64_t start_time;
static uint32_t n_threads;

void rt_operand_start(void) {
  start_time = rt_time();
  rt_written_start();
  rt_fresh_start();
  rt_variable_start();
}

/*
 * A block may have been that of a thread which has ended; its state is not this one's. The first thread of a fork's
 * child is who called fork, under another number.
 */
uint64_t *rt_thread(void) {
  uint64_t *slots = rt.plan->thread_slots > 0 ? rt_count_thread() : NULL;
  uint32_t tid = rt_tid();
  if (!slots || __builtin_expect(slots[WIRE_THREAD_TID] == tid, 1)) return slots;
  bool child = slots[WIRE_THREAD_TID] != 0 && tid == rt_pid();
  for (uint32_t i = 0; i < rt.plan->thread_slots && !child; i++)
    slots[i] = 0;
  if (!child) slots[WIRE_THREAD_NUMBER] = rt_add(&n_threads, 1) + 1;
  slots[WIRE_THREAD_TID] = tid;
  return slots;
}

static int64_t since(uint64_t *slot) {
  uint64_t value = *slot;
  if (value > 0) *slot = value + 1;
  return (int64_t)value;
}

/* What is asked of the thread's own slots. */
static int64_t of_thread(enum wire_op op, uint32_t slot, int64_t value, bool *unknown) {
  uint64_t *slots = rt_thread();
  if (!slots) {
    *unknown = true;
    return 0;
  }
  switch (op) {
  case WIRE_OP_THREAD:
    return (int64_t)slots[WIRE_THREAD_NUMBER];
  case WIRE_OP_MARK:
    slots[slot] = (uint64_t)value;
    return value;
  case WIRE_OP_SINCE:
    return since(&slots[slot]);
  default:
    return (int64_t)slots[slot];
  }
}

static int64_t known_if(bool known, int64_t value, bool *unknown) {
  if (!known) *unknown = true;
  return known ? value : 0;
}

static int64_t address_of(enum wire_op op, const int64_t pair[2], bool *unknown) {
  uint32_t module = (uint32_t)pair[0];
  uint64_t at = (uint64_t)pair[1], address = op == WIRE_OP_TLS ? rt_of_thread(module, at) : rt_static(module, at);
  return known_if(address != 0, (int64_t)address, unknown);
}

int64_t *rt_operand(const struct rt_call *c, enum wire_op op, uint32_t operand, int64_t *top, bool *unknown) {
  int64_t value = 0;
  switch (op) {
  case WIRE_OP_LENGTH:
    value = rt_call_length(c, (enum wire_length)(operand & 15), operand >> 4);
    *top++ = known_if(value >= 0, value, unknown);
    break;
  case WIRE_OP_KNOWN:
    if (*unknown) top[-1] = 0;
    *unknown = false;
    break;
  case WIRE_OP_MATCH:
    top[-1] = rt_text_matches(rt.numbers + operand, top[-1]);
    break;
  case WIRE_OP_LOAD: {
    bool known = !*unknown && rt_read((uint64_t)top[-1], operand & 15, operand & 16, &value);
    top[-1] = known_if(known, value, unknown);
    break;
  }
  case WIRE_OP_STATIC:
  case WIRE_OP_TLS:
    *top++ = address_of(op, rt.numbers + operand, unknown);
    break;
  case WIRE_OP_LOCAL: {
    bool known = rt_local(c, &rt_array(variables, struct wire_variable)[operand], &value);
    *top++ = known_if(known, value, unknown);
    break;
  }
  case WIRE_OP_MARK:
    top[-1] = of_thread(op, operand, top[-1], unknown);
    break;
  case WIRE_OP_THREAD:
  case WIRE_OP_MARKED:
  case WIRE_OP_SINCE:
    *top++ = of_thread(op, operand, 0, unknown);
    break;
  case WIRE_OP_TIME:
    *top++ = (int64_t)(rt_time() - start_time);
    break;
  case WIRE_OP_STREAM:
    top[-1] = rt_stream_fd(operand == 0 ? (uint64_t)top[-1] : rt_stream_named(-(int)operand));
    break;
  case WIRE_OP_WRITTEN:
    value = rt_written((uint32_t)top[-1]);
    top[-1] = known_if(value >= 0, value, unknown);
    break;
  case WIRE_OP_FRESH:
    *top++ = rt_fresh(c, operand);
    break;
  default:
    break;
  }
  return top;
}

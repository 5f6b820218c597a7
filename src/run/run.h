/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One experiment: a command is started under a plan, watched until it ends, and its events are read.
 */
#pragma once

#include "base/base.h"
#include "wire/wire.h"

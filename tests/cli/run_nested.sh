#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy under murphy: the inner one's command is its own, and the outer one's faults hit the inner one.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
echo word >file

run run --follow --fail 'unlink:EPERM when call==100000' -- \
  "$MURPHY" run --fail 'read:EIO when call==1' -- cat -v file
holds 'the inner one makes its own fault' grep -q 'cat: file: Input/output error' err
holds '... and passes the status on' test "$status" = 1

run run --follow --fail 'fork:EAGAIN' -- "$MURPHY" run --fail 'read:EIO when call==1' -- cat -v file
holds 'the outer one makes the inner one fail' test "$status" != 0 -a -s err
holds '... before its command runs' test ! -s out

run run --fail 'close:EDQUOT when path ~ "*/inner.log"' -- "$MURPHY" run --log inner.log --fail 'read:EIO when call==100' -- cat file
holds 'a log that cannot be closed is an error' test "$status" = 2
holds '... with its name' grep -q '^murphy: inner.log: Disk quota exceeded' err

finish

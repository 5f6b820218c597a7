#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A script: the program is its interpreter, and with --follow also what the script starts.
#
# @run - 0 -f 'dup2:EBUSY when call==100000' -- quiet
# @run 0 0 -f 'unlink:EPERM when call==100000' --follow -- quiet
# @run - 0 --follow -f 'unlinkat:EPERM' -f 'unlink:EPERM' -- removes
if [ "$1" = removes ]; then
  : >file
  rm -f file 2>/dev/null
  [ -e file ]
  exit
fi
[ -z "${LD_PRELOAD:-}" ] || exit 1
[ "$(echo word | cat)" = word ]

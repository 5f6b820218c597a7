#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh OUTPUT [OPTION...]: compiles the tiny kernel as Linux is compiled; its types are written by gcc itself.
set -e
here=$(dirname "$(readlink -f "$0")")
out=$1
shift
gcc -std=gnu11 -O2 -gbtf -w -ffreestanding -nostdlib -nostdinc -static -mcmodel=kernel -fno-pic -no-pie \
  -mno-red-zone -mno-sse -mno-mmx -fno-asynchronous-unwind-tables -fno-strict-aliasing \
  -fno-delete-null-pointer-checks -fno-jump-tables -fno-stack-protector -fcf-protection=none \
  -mindirect-branch=thunk-extern -mfunction-return=thunk-extern -pg -mfentry \
  -Wl,-T,"$here/tiny.lds" -Wl,--build-id=none -Wl,-z,max-page-size=4096 "$@" -o "$out" "$here/tiny.c"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `meson install` puts everything where it is looked for, and the installed binary finds its data.
. "$(dirname "$0")/tap.sh"

last="meson install -C $MURPHY_BUILD"
DESTDIR=$work/root meson install -C "$MURPHY_BUILD" --no-rebuild --quiet >out 2>err
status=$?
holds 'meson install' test $status = 0
binary=$(find root -type f -name murphy -path '*/bin/murphy')
holds 'the binary is there' test -x "$binary"
pages=$(find root -path '*/man/man[15]/murphy*' | wc -l)
holds 'the man pages are there' test "$pages" = "$(ls "$MURPHY_SOURCE/man" | wc -l)"
completion=$(find root -path '*/bash-completion/completions/murphy')
holds 'the completion is there' bash -n "$completion"
data=$(find root -path '*/share/murphy' -type d)
holds 'the data files are there' diff -r "$MURPHY_SOURCE/data" "$data"

unset MURPHY_DATA
if command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
  # The leak sanitizer cannot work in a process that is traced.
  ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=open,openat -o trace \
    "$PWD/$binary" profile --no-cache libc.so.6 >out 2>err
  holds 'the installed binary reads the installed data' grep -q "$work/root/.*/share/murphy/" trace
else
  skip 'the installed binary reads the installed data' 'no strace'
fi
MURPHY=$PWD/$binary run --version
accepted 'the installed binary runs'
MURPHY=$PWD/$binary run run --fail 'read:EIO' -- cat -v "$MURPHY_SOURCE/README.md"
holds '... and makes calls fail, with the installed runtime' grep -q 'Input/output error' err

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever is given instead of a library, murphy says in one line what it is, exits with 2, and leaves no output file.
. "$(dirname "$0")/tap.sh"

good=$(library libz)
[ -f "$good" ] || {
  echo 'Bail out! no libz to work on'
  exit 1
}
size=$(stat -L -c %s "$good")

# try NAME FILE TEXT: FILE is refused with TEXT, to the terminal and to a file.
try() {
  run profile --no-cache "$2"
  refused "$1" "$3"
  run profile --no-cache --format xml --output result.xml "$2"
  refused "$1, with an output file" "$3"
  holds "$1 leaves no file" test -z "$(find . -name '*result.xml*')"
}

# poke FILE OFFSET BYTES: bytes as printf writes them.
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

copy() { cp "$good" "$1" && chmod u+w "$1"; }

try 'a library that does not exist' libnosuchthing.so.99 libnosuchthing.so.99
try 'a path that does not exist' ./nowhere/libz.so ./nowhere/libz.so
mkdir folder
try 'a directory' ./folder folder

: >empty.so
try 'an empty file' ./empty.so empty.so
echo 'int main(void) { return 0; }' >text.so
try 'a text' ./text.so 'not an ELF file'
printf '#!/bin/sh\nexit 0\n' >script
try 'a script' ./script 'script'
printf '!<arch>\n' >archive.a
try 'a static archive' ./archive.a 'archive'
head -c 65536 /dev/urandom >noise.so
poke noise.so 0 'x'
try 'noise' ./noise.so 'not an ELF file'

copy arm.so && poke arm.so 18 '\267\000'
try 'another machine' ./arm.so 'aarch64'
copy strange.so && poke strange.so 18 '\356\356'
try 'an unknown machine' ./strange.so strange.so
copy i386.so && poke i386.so 4 '\001' && poke i386.so 18 '\003\000'
try 'a 32-bit library' ./i386.so i386.so
copy big.so && poke big.so 5 '\002'
try 'big-endian' ./big.so big.so
copy core && poke core 16 '\004\000'
try 'a core dump' ./core core
copy object.o && poke object.o 16 '\001\000'
try 'an object file' ./object.o object.o

for bytes in 4 16 63 64 200 1000; do
  head -c $bytes "$good" >cut.so
  try "a library cut to $bytes bytes" ./cut.so cut.so
done
copy headers.so && poke headers.so 32 '\377\377\377\377\377\377\377\177'
try 'program headers outside the file' ./headers.so headers.so
copy none.so && poke none.so 56 '\000\000'
try 'no program headers' ./none.so none.so

# Damage further in may be survived or refused, but never with a crash or a half-told story.
survived() { # survived NAME
  local good=0
  if [ "$status" = 0 ]; then
    [ ! -s err ] || good=1
  else
    [ "$status" = 2 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q '^murphy: ' err || good=1
  fi
  result $good "$1"
}
for part in 2 3 4 5 6 7 8; do
  head -c $((size * part / 9)) "$good" >cut.so
  run profile --no-cache ./cut.so
  survived "a library cut to $part ninths"
done
for seed in 1 2 3 4 5 6 7 8; do
  copy damaged.so
  RANDOM=$seed
  for _ in $(seq 40); do
    poke damaged.so $((64 + (RANDOM * 32768 + RANDOM) % (size - 64))) "\\$((RANDOM % 4))$((RANDOM % 8))$((RANDOM % 8))"
  done
  run profile --no-cache ./damaged.so
  survived "a library with 40 damaged bytes, seed $seed"
done
for seed in 1 2 3 4; do
  copy damaged.so
  RANDOM=$seed
  for _ in $(seq 12); do
    poke damaged.so $((64 + RANDOM % 2000)) "\\$((RANDOM % 4))$((RANDOM % 8))$((RANDOM % 8))"
  done
  run profile --no-cache ./damaged.so
  survived "a library with damaged headers and symbols, seed $seed"
done

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
copy secret.so
chmod 0 secret.so
if [ "$(id -u)" != 0 ]; then
  try 'a file without permission' ./secret.so 'ermission'
elif chmod 755 . && as_nobody test -x "$MURPHY" 2>/dev/null; then
  last='murphy profile ./secret.so, as nobody'
  as_nobody "$MURPHY" profile --no-cache ./secret.so >out 2>err
  status=$?
  refused 'a file without permission' 'ermission'
else
  skip 'a file without permission' 'root may read everything'
fi
chmod 644 secret.so

run profile --no-cache --for ./nowhere/program
refused 'a program that does not exist' ./nowhere/program
run profile --no-cache --for ./script
refused 'a script as the program' script
run profile --no-cache "$good" ./text.so
refused 'one bad library among good ones' text.so
run profile --no-cache ''
refused 'an empty name' ''
run profile --no-cache "./$(printf 'a\nb')"
refused 'a name with a newline' 'a?b'

finish

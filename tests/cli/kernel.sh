#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A kernel of a few system calls, compiled here, whose errors stand in its source: they are found, whatever the form it
# is compiled, packed and written in; what is no kernel is refused in one line; libraries are profiled with its errors.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

kernel_source=$MURPHY_SOURCE/tests/kernel
mkdir -p data/kernel
cp "$MURPHY_SOURCE/data/functions" data/
cp "$kernel_source/tiny.ways" data/kernel/ways
echo '# the names are those of the symbols' >data/kernel/x86_64.calls
export MURPHY_DATA=$work/data

make_kernel() { # make_kernel FILE OPTION...
  "$kernel_source/build.sh" "$@" >log 2>&1 || {
    sed 's/^/# /' log
    echo "Bail out! gcc cannot make $1"
    exit 1
  }
}

# Takes over the results of another test.
results_of() { # results_of PREFIX COMMAND...
  local prefix=$1 line
  shift
  "$@" >results 2>&1
  while IFS= read -r line; do
    case $line in
    'ok '* | 'not ok '*)
      count=$((count + 1))
      [[ $line == ok* || $line == *'# TODO'* ]] || failures=$((failures + 1))
      echo "${line%%ok *}ok $count - $prefix, ${line#* - }"
      ;;
    1..*) ;;
    *) echo "# ${line#\# }" ;;
    esac
  done <results
  grep -q '^1\.\.[1-9]' results
  result $? "$prefix: all was compared"
}

same() { # same NAME FILE: FILE is what murphy has just said
  cmp -s out "$2"
  result $? "$1"
}

# --- what is found ----------------------------------------------------------------------------------------------------

make_kernel tiny
expected=("$kernel_source/expect.py" "$MURPHY")
sources=("$kernel_source/tiny.c" "$kernel_source/tables.c")
results_of 'thunks' python3 "${expected[@]}" tiny "${sources[@]}"
make_kernel tiny-plain -mindirect-branch=keep -mfunction-return=keep -fcf-protection=branch
results_of 'no thunks' python3 "${expected[@]}" tiny-plain "${sources[@]}"
make_kernel tiny-small -Os
results_of 'for size' python3 "${expected[@]}" tiny-small "${sources[@]}"

run profile --kernel tiny --format errors
accepted 'the form .errors'
holds 'it says which kernel' grep -qx '# kernel: 6.1.0-tiny' out
holds 'it has the conditions of the ways' grep -q ' read .*EAGAIN\[2!0\]' out
holds 'a call that cannot fail is there' grep -q '^[0-9]* succeeds$' out
cp out tiny.errors

# The order in which workers find things does not show.
for jobs in 1 8 8 3; do
  run profile --kernel tiny --format errors --jobs $jobs
  same "the same with $jobs jobs" tiny.errors
done
run profile --kernel tiny --format json --all --jobs 1
cp out one.json
run profile --kernel tiny --format json --all --jobs 8
same 'the same evidence with 1 job and with 8' one.json

# As the build of Linux packs: lz4 in its old form.
for packer in gzip xz zstd bzip2 'lz4 -l'; do
  if command -v ${packer% *} >/dev/null; then
    $packer -c tiny >tiny.packed 2>/dev/null
    run profile --kernel tiny.packed --format errors
    same "the same from a kernel packed with $packer" tiny.errors
  else
    skip "the same from a kernel packed with $packer" "no $packer"
  fi
done

run profile --kernel tiny --function close,read
accepted 'two of its calls'
holds 'only these' test "$(grep -c '^  [a-z]' out)" = 2
run profile --kernel tiny --why read
holds 'all errors of a call are explained' test "$(grep -c '^read returns E' out)" = 3
run profile --kernel tiny --why restarts:EINTR
holds 'a restarted call is explained' grep -q 'a signal arrives' out
run profile --kernel tiny --why read:ENXIO --all
holds 'what only --all finds is explained with it' grep -q 'through radar_operations' out
run profile --kernel tiny --why late_start
holds 'what is not known is explained, too' grep -q '^late_start may return more that is not known' out
holds 'by the function in which the way ends' grep -A 3 '^  late_begin' out
run profile --kernel tiny --why sync:EIO
holds 'what only the ways say is explained' grep -q 'data/kernel/ways' out

objcopy -R .BTF tiny tiny-typeless
run profile --kernel tiny-typeless --function open,err_ptr
accepted 'a kernel without types'
holds 'hooks and constants need no types' test "$(grep -c 'EPERM EACCES\|ENOENT ENOMEM EISDIR' out)" = 2

# Only functions have names, as without CONFIG_KALLSYMS_ALL.
nm tiny | sed -n 's/.* [bBdDrR] //p' >data-symbols
objcopy --strip-symbols data-symbols tiny nameless
sed -n 's/^\([0-9]* [a-z_0-9]*\).*/\1/p' tiny.errors >data/kernel/x86_64.calls # nor has the table of system calls
run profile --kernel nameless --function read,close
accepted 'a kernel whose symbols name functions only'
holds 'it says so' grep -q 'symbols name functions only' out
holds 'and what is missing is marked' grep -q 'and more: indirect call' out
run profile --kernel nameless --format json
holds 'in JSON, too' grep -q '"functions_only":true' out
run profile --kernel nameless --format errors
holds 'and in .errors' grep -q '^# its symbols name functions only' out
echo '# the names are those of the symbols' >data/kernel/x86_64.calls
run profile --kernel tiny --format json
holds 'others do not say so' grep -q '"modules":\[\],"modules_missing":\[\],"functions_only":false' out

# Modules: built in, not found, found.
mkdir -p boot lib/modules/6.1.0-tiny/kernel
cp tiny boot/vmlinuz-6.1.0-tiny
echo 'module disk extra' >>data/kernel/ways
run profile --kernel boot/vmlinuz-6.1.0-tiny --function read,close
holds 'a module that is missing is named' grep -q 'nor found as modules: extra\.' out
holds 'and calls that may go there are marked' grep -q 'and more: indirect call' out
run profile --kernel boot/vmlinuz-6.1.0-tiny --format json
holds 'in JSON, too' grep -q '"modules":\[\],"modules_missing":\["extra"\]' out
run profile --kernel boot/vmlinuz-6.1.0-tiny --format errors
holds 'and in .errors' grep -qx '# modules missing: extra' out
echo 'int extra_one(void) { return -5; }' | gcc -x c -c -o lib/modules/6.1.0-tiny/kernel/extra.ko -
run profile --kernel boot/vmlinuz-6.1.0-tiny --format json
holds 'one that is found is not' grep -q '"modules":\["extra"\],"modules_missing":\[\]' out

# Modules without types, as before 5.11: a table that is named after its structure, and one that is not.
extra() { # extra TABLE
  gcc -x c -w -O2 -mcmodel=kernel -fno-pic -fcf-protection=none -c -o lib/modules/6.1.0-tiny/kernel/extra.ko - <<END
static __attribute__((noipa)) long extra_read(int *file, char *to, long n) { return *file ? -18 : n; }
static __attribute__((noipa)) long extra_write(int *file, const char *from, long n) { return n; }
static __attribute__((noipa)) int extra_flush(int *file) { return 0; }
const void *const $1[] = {"extra", extra_read, extra_write, extra_flush};
END
}
echo 'table extra_*' >>data/kernel/ways
extra extra_file_operations
run profile --kernel boot/vmlinuz-6.1.0-tiny --format errors
holds 'a table without types counts if its name tells what it is' grep -q ' read .* EXDEV$' out
holds 'and is nothing else' grep -q ' read_channel EPROTO$' out
extra extra_ops
run profile --kernel boot/vmlinuz-6.1.0-tiny --format errors
holds 'one whose name does not tell is no table' grep -q ' read .*EBADF' out
holds 'but what may go there is marked' grep -q ' read .* \.\.\.$' out

echo '__attribute__((section(".modinfo"), used)) static const char magic[] = "vermagic=6.1.0-huge SMP";' |
  gcc -x c -c -o lib/modules/6.1.0-tiny/kernel/extra.ko -
run profile --kernel boot/vmlinuz-6.1.0-tiny
refused 'a module of another kernel' 'extra.ko: a module of Linux 6.1.0-huge, but boot/vmlinuz-6.1.0-tiny is Linux 6.1.0-tiny'
echo '__attribute__((section(".modinfo"), used)) static const char magic[] = "vermagic=6.1.0-tiny SMP";' |
  gcc -x c -c -o lib/modules/6.1.0-tiny/kernel/extra.ko -
run profile --kernel boot/vmlinuz-6.1.0-tiny
accepted 'one of this kernel'
cp "$kernel_source/tiny.ways" data/kernel/ways

# --- what is refused --------------------------------------------------------------------------------------------------

try() { # try NAME TEXT ARGUMENT...
  local name=$1 text=$2
  shift 2
  run profile "$@"
  refused "$name" "$text"
}

poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # poke FILE OFFSET BYTES

try 'no such file' './nowhere: does not exist' --kernel ./nowhere
mkdir folder
try 'a directory' 'folder: is a directory' --kernel folder
: >empty
try 'an empty file' 'empty' --kernel empty
cp tiny tiny32 && poke tiny32 4 '\001' && poke tiny32 18 '\003\000'
try 'a 32-bit kernel' 'tiny32: 32-bit: for Intel 80386' --kernel tiny32
cp tiny tiny-arm && poke tiny-arm 18 '\267\000'
try 'a kernel of another machine' 'aarch64' --kernel tiny-arm
try 'a kernel that is not called one' 'a Linux kernel, not a program or shared library (give it with --kernel)' ./tiny
run check ./tiny
refused 'nor a program to check' '(give it with --kernel)'
try 'a program' '(give a vmlinuz or vmlinux)' --kernel "$MURPHY"
echo 'dear diary' | gzip >text.gz
try 'a packed text' 'compressed with gzip, not a Linux kernel: starts with "dear diary"' --kernel text.gz
cp tiny stripped && strip stripped
try 'no symbols' 'without symbols' --kernel stripped
head -c 3000 tiny >cut
try 'a kernel that is cut off' 'cut: ' --kernel cut
nm tiny | sed -n 's/.* \(__x64_sys_.*\)/\1/p' >calls
objcopy -N sys_call_table --strip-symbols calls tiny callless
try 'no system calls' 'no system calls' --kernel callless

try '--modules without a kernel' '(as in --kernel ' --modules /lib/modules/x "$MURPHY"
try 'a folder without modules' 'folder: no modules' --kernel tiny --modules folder
try 'a library besides' 'leave out LIB' --kernel tiny libc.so.6
try 'a program besides' 'leave out LIB and --for' --kernel tiny --for "$MURPHY"
try '.errors of a library' 'is for kernels' --format errors libc.so.6
try 'why a call that is not there' "no system call 'raed' (did you mean 'read'?)" --kernel tiny --why raed:EIO
try 'why a call that is like none' '(--all without --why lists them)' --kernel tiny --why xyzzyxyzzy
try 'why an errno that is none' "no errno 'EWHAT' (as in " --kernel tiny --why read:EWHAT
try 'why an errno that is misspelt' "(did you mean 'ENOSPC'?)" --kernel ./nowhere --why read:ENSOPC
try 'why an error that is not found' 'read returns ENXIO (--all looks' --kernel tiny --why read:ENXIO
try 'a call that is not there' "did you mean 'read'?" --kernel tiny --function raed

ways() { # ways NAME TEXT LINE: what is wrong in the data is told with its line
  printf '# murphy kernel ways, format 1\n%s\n' "$3" >data/kernel/ways
  try "$1" "data/kernel/ways:2: $2" --kernel tiny
}
ways 'an unknown word in the ways' "not table, " 'tables disk_*'
ways 'an unknown errno in the ways' "not an errno: 'EWHAT'" 'never walk_fast ECHILD EWHAT'
ways 'no function in the ways' "a function is missing behind 'gives'" 'gives'
ways 'no condition in the ways' 'not a condition' 'condition read EIO'
cp "$kernel_source/tiny.ways" data/kernel/ways
echo 'x read' >data/kernel/x86_64.calls
try 'a bad number of a system call' "x86_64.calls:1: not a system call's number: 'x'" --kernel tiny
echo '5 renamed' >data/kernel/x86_64.calls
run profile --kernel tiny --format errors
holds 'the names of calls come from the data' grep -q '^5 renamed' out
echo '# the names are those of the symbols' >data/kernel/x86_64.calls

# --- libraries on this kernel -----------------------------------------------------------------------------------------

number=$(sed -n 's/^\([0-9]*\) read .*/\1/p' tiny.errors)
cat >lib.c <<END
long ask(void) {
  long r;
  __asm__ volatile("syscall" : "=a"(r) : "a"(${number}l) : "rcx", "r11", "memory");
  return r;
}
END
gcc -shared -fPIC -O2 -nostdlib -Wl,--build-id=none -o libask.so lib.c || echo 'Bail out! gcc cannot make a library'

ask() { # ask NAME VALUES: what ask() returns
  run profile --format json ./libask.so
  [ "$(grep -o '"retval":-[0-9]*' out | tr -dc '0-9-\n' | sort -n | tr '\n' ' ')" = "$2 " ]
  result $? "$1"
}
mkdir -p "$XDG_CACHE_HOME"
export MURPHY_KERNEL=$work/tiny.errors
ask 'a library with the errors of a file' '-11 -9 -5'
holds 'all of them' grep -q '"unknown":false' out
holds 'it says whose they are' grep -q '"kernel":"Linux 6.1.0-tiny ([^)]*/tiny.errors)","kernel_note":"Linux [^ ]* runs"' out
cp out kept.json
run profile --format json --profile kept.json
accepted 'which can be loaded'
run profile ./libask.so
holds 'as text, too, because another kernel runs' grep -q 'What system calls return is that of Linux 6.1.0-tiny' out
run profile --why ask ./libask.so
holds 'and with --why' grep -q '^What system calls return is that of Linux 6.1.0-tiny (.*/tiny.errors); Linux .* runs' out
sed "s/^$number read .*/$number read EIO .../" tiny.errors >partly.errors
MURPHY_KERNEL=$work/partly.errors
ask 'a library with errors that are not all' '-5'
holds 'which it says' grep -q '"unknown":true,"unknown_because":\["system call"\]' out
cat lib.c - >liberrno.c <<END
__thread int errno;
long ask_as_libc_does(void) {
  long r = ask();
  if ((unsigned long)r < -4095ul) return r;
  errno = (int)-r;
  return -1;
}
END
gcc -shared -fPIC -O2 -fno-inline -nostdlib -Wl,--build-id=none -o liberrno.so liberrno.c || echo 'Bail out! no library'
run profile --format json --function ask_as_libc_does ./liberrno.so
holds 'an errno that is known, and perhaps others' grep -q '"retval":-1,"errno":\["EIO"\],"errno_unknown":true' out
holds 'though all that it returns is known' grep -q '"unknown":false' out
sed "s/^$number read .*/$number read .../" tiny.errors >nothing.errors
MURPHY_KERNEL=$work/nothing.errors
run profile --format json --function ask_as_libc_does ./liberrno.so
holds 'a call of which nothing is known' grep -q '"retval":-1,"errno":\[\],"errno_unknown":true' out
MURPHY_KERNEL=$work/tiny.errors
ask 'all of them again' '-11 -9 -5'
holds 'nothing is kept' test -z "$(find "$XDG_CACHE_HOME" -name 'kernel-*')"
export MURPHY_KERNEL=$work/tiny
ask 'a library with the errors of an image' '-11 -9 -5'
kept=$(find "$XDG_CACHE_HOME" -name 'kernel-*.errors')
holds 'they are kept' test -f "$kept"
grep -v '^#' tiny.errors >plain.errors
grep -v '^#' "$kept" >kept.errors
holds 'as --format errors has them' cmp plain.errors kept.errors
sed -i 's/ EIO$/ EXDEV/' "$kept"
ask 'and used the second time' '-18 -11 -9'
touch -d '2001-01-01' tiny
ask 'but not if the image has changed' '-11 -9 -5'
echo '# other ways' >>data/kernel/ways
ask 'nor if the ways have changed' '-11 -9 -5'
echo '# other functions' >>data/functions
ask 'nor if what is known of functions has changed' '-11 -9 -5'
export MURPHY_KERNEL=$work/boot/vmlinuz-6.1.0-tiny
echo 'module extra' >>data/kernel/ways
ask 'nor for another image' '-11 -9 -5'
touch -d '2001-01-01' lib/modules/6.1.0-tiny/kernel/extra.ko
ask 'nor if a module has changed' '-11 -9 -5'
holds 'each is kept' test "$(find "$XDG_CACHE_HOME" -name 'kernel-*.errors' | wc -l)" = 6

MURPHY_KERNEL=$work/nowhere
try 'MURPHY_KERNEL that is not there' 'nowhere: does not exist' ./libask.so
MURPHY_KERNEL=$work/nowhere.errors
try 'MURPHY_KERNEL, a file that is not there' 'nowhere.errors: cannot open' ./libask.so
MURPHY_KERNEL=$MURPHY
try 'MURPHY_KERNEL that is no kernel' 'not a Linux kernel' ./libask.so
echo '1 read EWHAT' >bad.errors
MURPHY_KERNEL=$work/bad.errors
try 'MURPHY_KERNEL that is damaged' 'bad.errors:1: ' ./libask.so
echo '1 read ... EIO' >bad.errors
try 'more that is not at the end' "bad.errors:1: not the last word: '...'" ./libask.so

finish

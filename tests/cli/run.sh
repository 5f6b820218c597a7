#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy run on programs of the system: faults, logs, replays, exit statuses, and what is refused.
. "$(dirname "$0")/tap.sh"

seq 100000 >numbers
export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
# Not a wrapper script of the user's.
PATH=/usr/sbin:/usr/bin:/sbin:/bin

# log EXPRESSION: true if the Python expression is; l is the list of the log's objects, i of its injections.
log() {
  python3 -c 'import json, sys
l = [json.loads(line) for line in open("log")]
i = [e for e in l if e["event"] == "inject"]
sys.exit(not ('"$1"'
))'
}

ended() { # ended NAME STATUS [TEXT]: murphy ended with STATUS, and TEXT is on standard error
  local good=0
  [ "$status" = "$2" ] || good=1
  [ $# -lt 3 ] || grep -qF -- "$3" err || good=1
  result $good "$1"
}

# --- faults -----------------------------------------------------------------------------------------------------------

run run --fail 'read:EIO when call==3' --log log -- cat -v numbers
ended 'the third read of cat fails' 1 'cat: numbers: Input/output error'
holds '... behind the second' test "$(stat -c %s out)" = 262144
holds '... and is in the log' log \
  'len(i) == 1 and i[0]["seq"] == 1 and i[0]["function"] == "read" and i[0]["call"] == 3 and i[0]["retval"] == -1
   and i[0]["errno"] == "EIO" and i[0]["trigger"] == "call==3" and i[0]["args"][0] == 3 and i[0]["pid"] == i[0]["tid"]
   and i[0]["process"] == 1 and not i[0]["then"] and i[0]["time"] >= 0'
holds '... with its stack' log \
  'i[0]["stack"][0]["module"] == "cat" and int(i[0]["stack"][0]["offset"], 16) > 0 and "symbol" in i[0]["stack"][0]'
mv log first

run run --replay first --log log -- cat -v numbers
ended 'a replay does the same' 1 'cat: numbers: Input/output error'
holds '... and logs the same' python3 -c 'import json
def read(name):
    return [{k: e[k] for k in ("function", "call", "process", "retval", "errno", "then", "side", "seq")}
            for e in map(json.loads, open(name))]
assert read("log") == read("first") != []'

cat >streams.c <<'C'
#include <stdio.h>
int main(int argc, char **argv)
{
	FILE *f = fopen(argv[0], "r");
	char b[10];
	printf("%zu %d\n", fread(b, 1, sizeof(b), f), ferror(f));
	puts("x");
	return fclose(f) != 0;
}
C
${CC:-cc} -w -O0 streams.c -o streams || exit 1
run run --fail 'fread:EIO' --fail 'puts:EIO' --fail 'fclose:EIO' --log log -- ./streams
holds 'what a failed call leaves behind is logged' log '[len(e["side"]) for e in i] == [1, 1, 1]'
holds '... and that it always fails' log '{e["trigger"] for e in i} == {"always"}'
mv log first
run run --replay first --log second -- ./streams
run run --replay second --log log -- ./streams
ended '... and replayed again and again' 1
holds '... once each' python3 -c 'import json
def sides(name): return [json.loads(line)["side"] for line in open(name)]
assert sides("log") == sides("second") == sides("first") != []'

# A number with its highest bit set is one that other programs can read.
cat >seek.c <<'X'
#include <unistd.h>
int main(void) { return lseek(0, -1, SEEK_SET) == 5; }
X
cc -O1 -o seek seek.c
run run --log seeks --fail 'lseek:ret=5' -- ./seek
holds 'a negative argument' grep -q '"args":\[0,-1,0\]' seeks
run run --replay seeks -- ./seek
ended '... can be replayed' 1

# Of three children the last one fails; in the replay the others ask first, and must not take its number.
cat >forks.c <<'C'
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int last(void) { return dup(0) < 0; }
int main(void)
{
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			printf("%d %d\n", i, i == 2 ? last() : dup(0) < 0);
			return 0;
		}
		wait(NULL);
	}
	return 0;
}
C
${CC:-cc} -w forks.c -o forks || exit 1
run run --fail 'dup:EMFILE when caller("last")' --log log -- ./forks
holds 'processes are numbered as they are forked' log 'len(i) == 1 and i[0]["process"] == 4'
mv log first
run run --reach --replay first --log log -- ./forks
holds '... by which a replay knows them' test "$(cat out)" = $'0 0\n1 0\n2 1'
holds '... and reach counts them' log 'l[-1]["processes"] == 4'

# What is started at the same time has the same numbers each time.
cat >pipes.sh <<'SH'
for i in 1 2 3 4 5; do
	cat -v numbers | tr 1 2 | cat -v | tr 2 3 >/dev/null
done
SH
run run --follow --fail 'read:EIO when call==1 and caller("tr")' --log log -- bash pipes.sh
mv log first
run run --follow --replay first --log log -- bash pipes.sh
holds 'a replay of pipelines hits the same programs' python3 -c 'import json
def hits(name): return sorted((e["process"], e["stack"][0]["module"]) for e in map(json.loads, open(name)))
assert hits("log") == hits("first") and len(hits("log")) == 10'

run run --fail 'malloc:ENOMEM when call>=3' -- sort numbers
ended 'sort without memory' 2 'Cannot allocate memory'
run run --fail 'close:then EIO when call==1' --log log -- cat -v numbers
ended 'close fails after it was done' 1 'Input/output error'
holds '... which the log says' log 'len(i) == 1 and i[0]["then"] and i[0]["function"] == "close"'
run run --fail 'read:ret=-1 errno=EINTR when once' --fail 'read:EISDIR' --log log -- cat -v numbers
ended 'of several rules the first that holds counts' 1 'Is a directory'
holds '... in their order' log '[e["errno"] for e in i] == ["EINTR", "EISDIR"]'
printf '%s\n' 'malloc:ENOMEM when caller("libc.so.6") and call>=2' >rules
run run rules --log log -- ls numbers
holds 'a caller by its module' log 'len(i) > 0 and all(e["stack"][0]["module"] == "libc.so.6" for e in i)'
run run --fail 'malloc:ENOMEM when caller("ls") and random(0.5)' --seed 3 --log log -- ls numbers
mv log first
run run --fail 'malloc:ENOMEM when caller("ls") and random(0.5)' --seed 3 --log log -- ls numbers
holds 'the same seed makes the same calls fail' python3 -c 'import json
def calls(name): return [json.loads(line)["call"] for line in open(name)]
assert calls("log") == calls("first") != []'

run run --fail 'dup2:ENOTDIR when call==1' -- bash -c 'echo x >file'
ended 'an errno that is not in the profile is said' 1 'murphy: note: --fail:'

# --- the command is as it would be ------------------------------------------------------------------------------------

never='read:EIO when call==1000000000'
run run --fail "$never" -- sh -c 'read x; exit 7'
ended 'the exit status is passed on' 7
run run --fail "$never" -- sh -c 'kill -SEGV $$'
ended 'a death by a signal too' 139
run run --fail "$never" -- cat -v numbers
accepted 'a rule that never holds changes nothing'
holds '... in the output' cmp out numbers
run run --fail "$never" -- sh -c 'read x; env | grep -v ^_= | sort'
accepted 'the environment'
env | grep -v ^_= | sort >wanted
holds '... is that of the user' cmp out wanted
# A murphy that was built with a sanitizer would complain.
ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} LD_PRELOAD=libm.so.6 run run --fail "$never" -- sh -c 'read x; echo "$LD_PRELOAD"'
holds '... with his LD_PRELOAD' grep -qx libm.so.6 out
# A function of his stands before that of libc, though it has no version, and libc has several of them.
cat >own.c <<'END'
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *to) {
  *to = (struct timespec){.tv_sec = getppid() ? 78 : clock};
  return 0;
}
END
cat >asks.c <<'END'
#include <stdio.h>
#include <time.h>
int main(void) {
  struct timespec now = {0};
  return clock_gettime(CLOCK_REALTIME, &now) < 0 || printf("%ld\n", (long)now.tv_sec) < 0;
}
END
cc -shared -fPIC -o own.so own.c
cc -o asks asks.c
ASAN_OPTIONS=verify_asan_link_order=0:${ASAN_OPTIONS:-} LD_PRELOAD=$PWD/own.so \
  run run --fail 'clock_gettime:EINVAL when call==9' -- ./asks
holds '... and what is in it' grep -qx 78 out
run run --fail "$never" -- sh -c 'read x; ls /proc/self/fd | wc -l'
ls /proc/self/fd </dev/null 2>/dev/null | wc -l >wanted
holds 'no descriptor is left open' cmp out wanted
printf '#!/bin/sh\nread x\nexit 9\n' >script
chmod +x script
run run --fail "$never" -- ./script
ended 'a script is run by its interpreter' 9
printf '#!/usr/bin/env sh\nread x <numbers || exit 9\n' >script
run run --fail 'read:EIO when call==1' --log log -- ./script
holds '... which env may find' log 'len(i) == 1'
"$MURPHY" run --fail "$never" --log log -- sh -c 'read x; kill -INT $$' >out 2>err </dev/null
status=$?
ended 'interrupted is 130' 130
"$MURPHY" run --fail "$never" -- sh -c 'trap "exit 5" TERM; echo ready; while :; do sleep 0.05; done' >out 2>err &
pid=$!
for _ in $(seq 100); do grep -q ready out && break; sleep 0.05; done
kill -TERM $pid
wait $pid
status=$?
ended 'a signal is passed on' 5
holds 'nothing is left in the folder for runs' test -z "$(ls -A "$XDG_RUNTIME_DIR")"

# On a terminal: a line for each injection, and an interrupt that reaches both.
cat >terminal.py <<'PY'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen, deadline = b"", time.time() + 60
while time.time() < deadline:
    try:
        part = os.read(fd, 4096)
    except OSError:
        break
    if not part:
        break
    seen += part
    if b"ready" in seen and b"sent" not in seen:
        os.write(fd, b"\x03")
        seen += b"sent"
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
rm -f log
python3 terminal.py "$MURPHY" run --fail 'read:EIO when call==1' --log log -- sh -c 'read x <numbers; echo ready; exec sleep 60' >out 2>err
status=$?
ended 'an interrupt from the terminal' 130
holds '... keeps the log' log 'len(i) > 0 and i[0]["function"] == "read"'
holds '... and there was a line for people' grep -Eq 'murphy: read\(.*\) = -1 EIO, call 1, from ' out

# --- programs that it starts ------------------------------------------------------------------------------------------

run run --fail 'read:EIO when caller("cat")' -- sh -c 'cat numbers'
holds 'caller of a module that is not there is an error' test $status = 2
run run --follow --fail 'read:EIO when call==3' --log log -- sh -c 'cat -v numbers; exit $?'
ended 'a program is followed into' 1 'cat: numbers: Input/output error'
run run --follow --fail 'read:EIO when caller("cat")' -- sh -c 'cat -v numbers; exit $?'
ended '... and known by its name' 1 'cat: numbers: Input/output error'
run run --no-follow --fail 'read:EIO when call==3' -- sh -c 'cat -v numbers; exit $?'
accepted '... or not'

run run --follow --fail 'unlinkat:EPERM' -- sh -c 'read x; : >file; rm file; exit $?'
ended 'a function that only a program that is started calls' 1 "cannot remove 'file': Operation not permitted"

# What is murphy's in the environment is not to be seen, at any depth.
env | grep -v ^_= | sort >wanted
run run --follow --fail "$never" -- sh -c 'read x; env | grep -v ^_= | sort'
accepted 'the environment of a program that is followed'
holds '... is that of the user' cmp out wanted
ASAN_OPTIONS=verify_asan_link_order=0 env | grep -v ^_= | sort >wanted
ASAN_OPTIONS=verify_asan_link_order=0 run run --follow --fail "$never" -- sh -c 'read x; sh -c "env | grep -v ^_= | sort"'
holds '... with his ASAN_OPTIONS' cmp out wanted
(unset ASAN_OPTIONS; exec "$MURPHY" run --follow --fail "$never" -- \
  sh -c 'read x; env; sh -c env; ASAN_OPTIONS= env | grep ASAN') >out 2>err </dev/null
holds '... or none' test "$(grep ASAN out)" = ASAN_OPTIONS=
run run --no-follow --fail "$never" -- sh -c 'read x; ASAN_OPTIONS=verify_asan_link_order=0 env'
holds '... or his own' grep -qx ASAN_OPTIONS=verify_asan_link_order=0 out

cat >words.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	if (argc > 100)
		return strcmp(argv[2000], "end") != 0 ? 3 : dup(0) < 0 ? 5 : 4;
	dup(0);
	return execl(argv[0], argv[0], WORDS, NULL), 6;
}
C
words=$(printf '"",%.0s' $(seq 1999))'"end"'
${CC:-cc} -w "-DWORDS=$words" words.c -o words || exit 1
run run --follow --fail 'dup:EMFILE' -- ./words
ended 'a program that is started with thousands of words' 5

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  run run --follow --reach --fail "$never" --log log -- sh -c 'read x; setpriv --reuid=65534 --clear-groups true; cat numbers >/dev/null'
  holds 'a program that runs as somebody else is not disturbed' test "$status" = 0 -a "$(grep -c 'ld.so\|preload' err)" = 0
  holds '... nor followed, which is said' grep -q '1 of them as another user' err
  holds '... in the log too' log 'l[-1]["unreachable"] == 1 and l[-1]["programs"] == 3'
  mkdir -p root
  cp --parents -L /bin/cat $(ldd /bin/cat | grep -o '/[^ ]*') root
  run run --follow --reach --fail "$never" --log log -- sh -c 'read x; chroot root /bin/cat /bin/cat >/dev/null'
  holds 'nor one with another root' test "$status" = 0 -a "$(grep -c 'ld.so\|preload' err)" = 0
  holds '... which is said too' log 'l[-1]["unreachable"] == 1 and l[-1]["programs"] == 2'
else
  skip 'programs of other users' 'only root can start them'
fi

# Another C library: the loader loads what it is told to, but nothing in it is where glibc has it.
if command -v musl-gcc >/dev/null; then
  cat >alien.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char b[4], *p = malloc(100);
	printf("%d %zd\n", p != NULL, read(open("numbers", O_RDONLY), b, 4));
	return 7;
}
C
  musl-gcc alien.c -o alien || exit 1
  run run --follow --reach --fail 'read:EIO when process.name == "alien"' --fail 'malloc:ENOMEM when process.name == "alien"' \
    --log log -- sh -c './alien; echo $?'
  holds 'a program with another C library is not disturbed' test "$(cat out)" = $'1 4\n7'
  holds '... nor followed, which is said' log 'l[-1]["unreachable"] == 1 and l[-1]["programs"] == 1'
  run run --fail 'read:ret=-1' -- ./alien
  holds 'one that is to be tested is refused' test "$status" = 3
  holds '... with the reason' grep -q 'alien: has another C library than glibc' err
else
  skip 'programs with another C library' 'there is no musl-gcc'
fi

# Many programs, each somewhere else in memory, are still few modules.
echo 'int getppid(void); int main(void) { return getppid(); }' >small.c
${CC:-cc} -w small.c -o small || exit 1
run run --follow --fail 'getppid:ret=0' --log log -- sh -c 'i=0; while [ $i -lt 530 ]; do ./small || exit 1; i=$((i + 1)); done'
accepted 'hundreds of programs are followed'
holds '... and each has its name in the log' log \
  'len([e for e in i if e["stack"][0]["symbol"] == "main"]) == 530 and not [e for e in l if e["event"] == "lost"]'

# A library that is opened later is known by its name.
cat >plugin.c <<'C'
#include <unistd.h>
long act(void) { char c; return read(0, &c, 1); }
C
cat >opens.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *h = dlopen(argc > 1 ? argv[1] : "./plugin.so", RTLD_NOW | RTLD_LOCAL);
	long (*act)(void) = (long (*)(void))dlsym(h, "act");
	char c;
	printf("program %zd\n", read(0, &c, 1));
	printf("plugin %ld\n", act());
	return 0;
}
C
${CC:-cc} -w -shared -fPIC plugin.c -o plugin.so && ${CC:-cc} -w opens.c -o opens || exit 1
run run --fail 'read:EIO when caller("plugin.so")' --log log -- ./opens
holds 'a caller in a library that is opened later' sh -c 'grep -qx "program 0" out && grep -qx "plugin -1" out'
holds '... has its name in the log' log \
  'len(i) == 1 and i[0]["stack"][0]["module"] == "plugin.so" and i[0]["stack"][0]["symbol"] == "act"'
for file in plugin opens; do sed 's/act/readd/g' $file.c >near_$file.c; done
${CC:-cc} -w -shared -fPIC near_plugin.c -o near_plugin.so && ${CC:-cc} -w near_opens.c -o near_opens || exit 1
run run --fail 'readd:ret=77' -- ./near_opens ./near_plugin.so
holds 'a function that is looked up, with a name like one that is imported' grep -qx 'plugin 77' out
holds '... may be a slip all the same' grep -q 'did you mean read?' err

mkdir -p folder && cp plugin.so folder
for name in "$work/plugin.so" ./plugin.so "${work##*/}/plugin.so"; do
  run run --fail "read:EIO when caller(\"$name\")" --log log -- ./opens
  holds "... or by its path: $name" grep -qx "plugin -1" out
done
run run --fail 'read:EIO when caller("folder/plugin.so")' --log log -- ./opens "$work/plugin.so"
holds '... which must be its own' grep -qx "plugin 0" out
run run --fail 'read:EIO when caller("/no/such/plugin.so")' -- ./opens
refused '... and there' '/no/such/plugin.so: No such file'
run run --fail 'read:EIO when caller("/no/such/libc.so.6")' -- ./opens
refused 'a library that the program has from another folder' '/no/such/libc.so.6 is not what the program uses (that is /'
run run --fail 'read:EIO when caller("wrong/libc.so.6")' -- ./opens
refused '... also if it starts anywhere' 'wrong/libc.so.6 is not what the program uses'

# --- source lines -----------------------------------------------------------------------------------------------------

cat >lines.c <<'C'
#include <stdio.h>
#include <unistd.h>
static inline __attribute__((always_inline)) long inner(void)
{
	char c;
	return read(0, &c, 1) + 10;
}
__attribute__((noinline)) static long outer(void)
{
	return inner() + 100;
}
int main(void)
{
	long first = inner();
	printf("%ld %ld\n", first, outer());
	return 0;
}
C
${CC:-cc} -O2 -g lines.c -o lines && objcopy --only-keep-debug lines lines.debug && strip lines &&
  objcopy --add-gnu-debuglink=lines.debug lines || exit 1
run run --fail 'read:EIO when call==2' --log log -- ./lines
holds 'lines come from a separate file' log \
  'i[0]["stack"][0]["symbol"] == "outer" and i[0]["stack"][0]["line"] == 6
   and i[0]["stack"][0]["file"].endswith("lines.c")
   and [f["function"] for f in i[0]["stack"][0]["inlined"]] == ["inner"]'
for frame in '<file>lines.c</file><line>10</line>' '<function>outer</function>' '<module>lines</module><function>outer</function>'; do
  cat >frames.xml <<XML
<scenario>
  <trigger id="here" class="CallStackTrigger"><args><frame>$frame</frame></args></trigger>
  <function name="read" return="-1" errno="EIO"><reftrigger ref="here"/></function>
</scenario>
XML
  run run frames.xml -- ./lines
  holds "a frame: $frame" grep -qx '10 109' out
done
run run --fail 'read:EIO when caller("inner")' -- ./lines
holds 'a caller that was inlined' grep -qx '9 109' out
run run --fail 'read:EIO when stack("outer")' -- ./lines
holds 'a function on the stack' grep -qx '10 109' out
for stack in '"inner", "outer"' '"inner", "outer", "main"' '"lines.c:6", "lines.c:10"' '"inner", "lines.c:10", "main"'; do
  run run --fail "read:EIO when stack($stack)" -- ./lines
  holds "inlined and what it is inlined into: $stack" grep -qx '10 109' out
done
run run --fail 'read:EIO when stack("inner", "main")' -- ./lines
holds '... also into main' grep -qx '9 109' out
for stack in '"outer", "inner"' '"inner", "inner"' '"main", "outer"' '"outer", "outer"' '"main", "inner"'; do
  run run --fail "read:EIO when stack($stack)" -- ./lines
  holds "... and not $stack" grep -qx '10 110' out
done
cat >frames.xml <<'XML'
<scenario>
  <trigger id="here" class="CallStackTrigger"><args>
    <frame><function>inner</function></frame><frame><module>lines</module><function>outer</function></frame>
  </args></trigger>
  <function name="read" return="-1" errno="EIO"><reftrigger ref="here"/></function>
</scenario>
XML
run run frames.xml -- ./lines
holds '... in a CallStackTrigger' grep -qx '10 109' out

# --- programs with a sanitizer ------------------------------------------------------------------------------------------

cat >sanitized.c <<'C'
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char c;
	void *p = malloc(10);
	printf("malloc %d\n", p ? 0 : errno);
	free(p);
	ssize_t n = read(0, &c, 1);
	printf("read %zd %d\n", n, errno);
	return 0;
}
C
for compiler in gcc clang 'clang -shared-libasan'; do
  shared=$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so 2>/dev/null)")
  if ! $compiler -w -fsanitize=address sanitized.c -o sanitized "-Wl,-rpath,$shared" 2>/dev/null; then
    skip "$compiler's address sanitizer" "$compiler has none"
    continue
  fi
  run run --fail 'read:EIO' --fail 'malloc:ENOMEM when caller("main")' -- ./sanitized
  holds "$compiler's address sanitizer: read fails" grep -qx 'read -1 5' out
  # clang puts its malloc into the program, where nothing can come before it.
  [ "$compiler" = clang ] || holds "... and malloc" grep -qx 'malloc 12' out
  run run --follow --fail 'read:EIO' -- sh -c './sanitized; ./sanitized'
  holds "... as a program that is followed" test "$(grep -cx 'read -1 5' out)" = 2
done

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  run run --follow --fail 'fsync:EIO' -- setpriv --reuid=65534 --clear-groups -- sh -c true
  holds 'a program that is not followed, being another user'"'"'s, is told of' grep -qx 'murphy: 1 program was not followed: started as another user, with another root, or of another C library' err
  run run --follow --fail 'fsync:EIO' -- sh -c '/bin/true'
  holds '... and nothing where all were' test ! -s err
else
  skip 'a program that is not followed is told of' 'not root, or no setpriv'
fi

# --- reach ------------------------------------------------------------------------------------------------------------

run run --reach --fail "$never" --log log -- cat -v numbers
holds 'reach: calls are counted' grep -Eq '^  read +[0-9]+ calls intercepted; cat: [0-9]+ site' err
holds '... and in the log' log 'l[-1]["event"] == "reach" and l[-1]["functions"][0]["calls"] >= 6'
run run --reach --fail "$never" -- sh -c 'read x; ls / | cat'
holds 'reach: programs that are not followed' grep -q 'to start other programs, not followed' err
run run --reach --fail "$never" -- sh -c '/bin/true; :'
holds '... and nothing else is taken for one' grep -q '^  1 call to start other programs, not followed' err

run run --reach --fail "$never" --fail 'recvmsg:EIO' --log log -- cat numbers
holds 'reach: a function that nothing imports' grep -q 'recvmsg is imported by nothing here' err
holds '... in the log too' log 'l[-1]["absent"] == ["recvmsg"]'

# --- what is refused --------------------------------------------------------------------------------------------------

run run --fail 'read:EIO'
refused 'no command' 'behind --'
run run --fail 'read:EIO' --
refused 'an empty command' 'behind --'
run run -- cat -v numbers
refused 'nothing to fail' 'nothing is to fail'
echo '<scenario/>' >empty.xml
run run empty.xml -- cat -v numbers
refused '... in a scenario without rules' 'empty.xml: this scenario has no rules'
run run --fail 'read:EIO wen call==3' -- cat -v numbers
refused 'a bad rule, with its position' '--fail:10:'
run run --fail 'read:EFOO' -- cat -v numbers
refused 'an unknown errno' 'EFOO'
run run --fail 'raed:EIO' -- cat -v numbers
refused 'a function that nothing imports' 'did you mean read?'
# perl imports open64, and can look up anything.
run run --fail 'opne:EIO' -- perl -e 1
refused '... as a programmer writes it' 'did you mean open?'
run run --fail 'recvmsg:EBADF' -- perl -e 1
ended 'a function that could only be looked up is no mistake, but said' 0 'note: --fail:1: neither the program nor its libraries import recvmsg: only'
run run --fail "$never" --fail 'recvmsg:EBADF' -- cat numbers
ended '... as one that cannot' 0 'note: --fail:1: neither the program nor its libraries import recvmsg: this rule is never asked'
run run --fail "$never" -- ./no-such-program
refused 'a program that is not there' './no-such-program: does not exist'
run run --fail "$never" -- no-such-program
refused '... in PATH' 'no such command in PATH'
run run --fail "$never" -- ./numbers
refused 'a file that is no program' 'numbers'
run run --replay numbers -- cat -v numbers
refused 'a log that is none' 'numbers:1:'
run run no-such-scenario.xml -- cat -v numbers
refused 'a scenario that is not there' 'no-such-scenario.xml'
run run --fail "$never" --log /no/such/log -- cat -v numbers
refused 'a log that cannot be written' '/no/such/log'
cat >until.c <<'C'
#include <unistd.h>
int main(void)
{
	char c;
	alarm(30);
	while (read(0, &c, 1) < 0)
		continue;
	return rmdir("not-yet");
}
C
mkdir -p not-yet
${CC:-cc} -w until.c -o until || exit 1
run run --fail 'read:EIO' --log /dev/full -- ./until
ended 'a log that cannot be written any more' 2 '/dev/full: No space left on device (the log is not complete)'
holds '... ends the faults' test ! -e not-yet
run run --fail "$never" --seed x -- cat -v numbers
refused 'a seed that is no number' '--seed'
echo 'int main(void) { return 0; }' >s.c
if ${CC:-cc} -static s.c -o static 2>/dev/null; then
  run run --fail "$never" -- ./static
  ended 'a static program cannot be run' 3 'statically linked'
fi
if [ "$(id -u)" = 0 ]; then
  cp /bin/cat setuid && chown 1 setuid && chmod 4755 setuid
  run run --fail "$never" -- ./setuid numbers
  ended 'nor one that is setuid' 3 'is setuid'
fi
MURPHY_RUNTIME=/no/such/runtime run run --fail "$never" -- cat -v numbers
ended 'nor anything without the runtime' 3 '/no/such/runtime'
run run --explain --fail 'read:EIO when call==3' -- cat -v numbers
accepted '--explain says what a rule became'
holds '... and runs nothing' sh -c 'grep -q "function read" out && ! grep -q 99999 out'
finish

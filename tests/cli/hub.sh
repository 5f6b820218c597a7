#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy hub: its policies, over a local socket and TCP; programs that fork, have threads or close all descriptors; hubs
# that are slow, gone, started again, or none at all; and three replicas of a store under one hub.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'
export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset MURPHY_TRIGGERS MURPHY_HUB
command -v cc >/dev/null || { skip 'murphy hub' 'no C compiler'; finish; }
socket=unix:$work/socket
hub=

start() { # start ADDRESS OPTION...: the hub, until it listens; sets $hub
  local address=$1 i
  shift
  rm -f hub.out hub.log # of the hub before
  "$MURPHY" hub --log hub.log "$@" "$address" >hub.out 2>hub.err &
  hub=$!
  for ((i = 0; i < 600; i++)); do
    grep -qs listening hub.out && return
    sleep 0.1
  done
}
# asked: until there was a question.
asked() {
  local i
  for ((i = 0; i < 200; i++)); do
    [ ! -s hub.log ] || return
    sleep 0.1
  done
}
stop() {
  kill $hub
  wait $hub
  hub_status=$?
}

cat >hub.xml <<'END'
<trigger id="hub" class="DistributedTrigger"><args><timeout>10s</timeout></args></trigger>
<function name="getppid" return="-1"><reftrigger ref="hub" /></function>
END
sed 's/10s/300ms/' hub.xml >hasty.xml
# calls N: prints x for each call that failed; with "close", closes all descriptors before each; with "fork", parent and
# child take turns; with "threads", four threads make N each, and how many failed is printed.
cat >calls.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int n, failed;
static void *work(void *unused) {
  for (int i = 0; i < n; i++)
    if (getppid() == -1) __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
  return unused;
}
int main(int argc, char **argv) {
  const char *how = argc > 2 ? argv[2] : "";
  n = atoi(argv[1]);
  if (strcmp(how, "threads") == 0) {
    pthread_t t[4];
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    printf("%d\n", failed);
    return 0;
  }
  char line[1000] = "";
  for (int i = 0; i < n; i++) {
    if (strcmp(how, "close") == 0)
      for (int fd = 3; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 70000; fd++) close(fd);
    if (strcmp(how, "sleep") == 0) usleep(300000);
    strcat(line, getppid() == -1 ? "x" : ".");
    if (strcmp(how, "fork") == 0 && i == 0 && fork() == 0) {
      for (int k = 0; k < n; k++) strcat(line, getppid() == -1 ? "x" : ".");
      printf("child %s\n", line + 1);
      return 0;
    }
    if (strcmp(how, "fork") == 0 && i == 0) wait(NULL);
  }
  /* The lowest free descriptor is what it would be without murphy. */
  printf("%s %d\n", line, dup(1));
  return 0;
}
END
cc -O1 -o calls calls.c -pthread || exit 1
calls() { run run --hub "$socket" hub.xml -- ./calls "$@"; }

start "$socket" --policy nth=3
calls 5
holds 'the third call of all' test "$(cat out)" = '..x.. 3'
calls 5
holds '... and not of each' test "$(cat out)" = '..... 3'
stop
holds 'a signal ends the hub in good order' test "$hub_status" = 0
holds '... it says what it did' grep -q '^10 questions of 2 processes, 1 answered with yes$' hub.out
holds '... its socket is gone' test ! -e socket
holds '... its log has each question' test "$(grep -c '"event":"ask".*"function":"getppid".*"stack":\[{"module":"calls"' hub.log)" = 10
holds '... and the answers' test "$(grep -c '"inject":true' hub.log)" = 1
holds '... in JSON' python3 -c 'import json; [json.loads(line) for line in open("hub.log")]'

start "$socket" --policy always --every 2
calls 6
holds 'every second call' test "$(cat out)" = 'x.x.x. 3'
calls 6 close
holds 'a program that closes all descriptors' test "$(cat out)" = 'x.x.x. 3'
calls 4 fork
holds 'a child has a connection of its own, the parent keeps its' grep -q '^child .x.x$' out
calls 1000 threads
holds 'each thread has its own' test "$(cat out)" = 2000
stop
holds '... and nobody was mixed up' test "$(grep -c '"inject":true' hub.log)" = $((3 + 3 + 4 + 2000))

start "$socket" --policy at-most=1
MURPHY_HUB=$socket "$MURPHY" run hub.xml -- ./calls 8 sleep >first 2>first.err &
first=$!
asked
calls 3
holds 'at most one process at once' test "$(cat out)" = '... 3'
wait $first
holds '... the first; the address from MURPHY_HUB' test "$(cat first)" = 'xxxxxxxx 3'
calls 3
holds '... then another' test "$(cat out)" = 'xxx 3'
stop

cat >decide.sh <<'END'
while read -r line; do
  case $line in *'"call":2,'*) echo yes ;; *) echo no ;; esac
done
END
start "$socket" --policy "script=sh $work/decide.sh"
calls 4
holds 'a script decides' test "$(cat out)" = '.x.. 3'
stop
start "$socket" --policy 'script=read line'
calls 2
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds 'a script that ends, ends the hub: exit status 3' test $? = 3
holds '... with a word' grep -q "^murphy: 'read line' has ended" hub.err
holds '... and calls go on' test "$(cat out)" = '.. 3'

# A script has time to end by itself, and no more than that.
start "$socket" --policy 'script=sleep 60 & echo $! >left; while read -r line; do echo no; done; sleep 0.2; touch ended'
calls 2
stop
holds 'a script ends when there are no more questions' test -e ended
# Whoever inherits it may not have waited for it yet.
gone() {
  local i
  for ((i = 0; i < 600; i++)); do
    case $(ps -o stat= -p "$1") in '' | Z*) return 0 ;; esac
    sleep 0.1
  done
  return 1
}
holds '... and what it has started, too' gone "$(cat left)"
start "$socket" --policy 'script=echo $$ >script.pid; trap "" TERM; while :; do sleep 60; done'
began=$SECONDS
stop
holds 'a script that ignores all that does not keep the hub' test $((SECONDS - began)) -lt 20
holds '... and is gone' test ! -e "/proc/$(cat script.pid)"

# Each connection is a descriptor.
(ulimit -n 16 && exec "$MURPHY" hub --policy always "$socket" >full.out 2>full.err) &
hub=$!
for ((i = 0; i < 600; i++)); do ! grep -qs listening full.out || break; sleep 0.1; done
holds 'a hub without descriptors left waits for some' python3 - "$work/socket" $hub <<'END'
import socket, sys, time
def used():
    return sum(map(int, open(f"/proc/{sys.argv[2]}/stat").read().rsplit(")", 1)[1].split()[11:13]))
connections = [socket.socket(socket.AF_UNIX) for _ in range(20)]
for c in connections:
    c.connect(sys.argv[1])
time.sleep(0.2)
before = used()
time.sleep(1)
# In hundredths of a second.
assert used() - before < 20, used() - before
END
calls 2
holds '... and goes on when it has' test "$(cat out)" = 'xx 3'
stop

# A process that may have few descriptors; many threads; and processes that are alike in all but what they are.
cat >many.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
static int failed;
static pthread_barrier_t all;
static void *work(void *unused) {
  (void)pthread_barrier_wait(&all);
  if (getppid() == -1) __atomic_fetch_add(&failed, 1, __ATOMIC_RELAXED);
  (void)pthread_barrier_wait(&all);
  return unused;
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 0;
  struct rlimit l;
  pthread_attr_t a;
  pthread_t t;
  if (getrlimit(RLIMIT_NOFILE, &l)) return 9;
  l.rlim_cur = n ? (rlim_t)n + 100 : 8;
  if (setrlimit(RLIMIT_NOFILE, &l)) return 8;
  if (n == 0) return getppid() != -1;
  if (pthread_attr_init(&a) || pthread_attr_setstacksize(&a, 65536) || pthread_barrier_init(&all, NULL, n + 1)) return 7;
  for (int i = 0; i < n; i++)
    if (pthread_create(&t, &a, work, NULL)) return 6;
  (void)pthread_barrier_wait(&all);
  (void)pthread_barrier_wait(&all);
  printf("%d\n", failed);
  return 0;
}
END
cc -O1 -o many many.c -pthread || exit 1
start "$socket" --policy always
run run --hub "$socket" hub.xml -- ./many
accepted 'a process that may have 8 descriptors'
run run --hub "$socket" hub.xml -- ./many 300
holds '300 threads at once' test "$(cat out)" = 300 -a ! -s err
if [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt 1200 ]; then
  run run --hub "$socket" --log log hub.xml -- ./many 1030
  holds 'more threads than there are connections: most are asked about' test "$(cat out)" = 1024
  holds '... and murphy says that others were not' grep -q "more threads asked than can at once; their calls went on (6 in all)" err
  holds '... in the log too' grep -q '"event":"trigger".*more threads asked' log
else
  skip 'more threads than there are connections' 'too few descriptors'
fi
stop
start "$socket" --policy always
calls 1
stop
holds 'one question of one process' grep -q '^1 question of 1 process, 1 answered with yes$' hub.out
if unshare -rfp true 2>/dev/null; then
  start "$socket" --policy always
  for i in 1 2; do unshare -rfp "$MURPHY" run --hub "$socket" hub.xml -- ./calls 2 >out 2>err; done
  stop
  holds 'processes of namespaces, equal in number and name: two' grep -q '^4 questions of 2 processes' hub.out
else
  skip 'processes of namespaces' 'there are none to be had'
fi
"$MURPHY" hub --log - --policy always "$socket" >dash.out 2>dash.err &
hub=$!
for ((i = 0; i < 600; i++)); do ! grep -qs listening dash.err || break; sleep 0.1; done
calls 2
stop
holds 'a log on standard output has nothing else in it' python3 -c 'import json; [json.loads(line)["event"] for line in open("dash.out")]'
holds '... what is said is on standard error' grep -q '^2 questions of 1 process' dash.err
start "$socket" --policy 'script=while :; do echo no; done'
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds 'a script that writes without being asked' test $? = 3
holds '... with a word' grep -q "writes more than it is asked" hub.err

# What it says to no question does not answer the next one.
more() { # more NAME SCRIPT [CALLS]
  local wanted=....
  start "$socket" --policy "script=$2"
  calls "${3:-4}" sleep
  timeout 30 tail --pid=$hub -f /dev/null || kill $hub
  wait $hub
  holds "$1: exit status 3" test $? = 3
  holds '... with a word' grep -q "writes more than it is asked" hub.err
  holds '... and answers nothing else' test "$(cat out)" = "${wanted:0:${3:-4}} 3"
}
more 'a script that writes too many lines' 'while read -r l; do printf "0\n1\n1\n"; sleep 0.2; done'
# With another question on its way, the line too many could be the answer to that: there is none.
more '... a little later' 'while read -r l; do echo 0; sleep 0.1; echo 1; done' 1
more '... or a piece of a line' 'while read -r l; do printf "0\n1"; done'

# With others that wait, too: the next question is given behind the answer.
start "$socket" --policy 'script=while read -r l; do echo "$l" >>seen; printf "0\n1\n"; sleep 0.1; done'
for i in 1 2 3; do
  "$MURPHY" run hub.xml --hub "$socket" -- ./calls 2 >open.$i 2>/dev/null &
  pids[i]=$!
done
wait "${pids[@]}"
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds 'a script that writes too many lines, asked by several: exit status 3' test $? = 3
holds '... one question was given, and no other has the answer' \
  test "$(grep -c . seen):$(cat open.[123] | tr -cd x)" = 1:
unset pids

more 'an answer without having read the question' 'sleep 1; echo 1; sleep 60'

# Several questions are open at the same time: a script may wait for two, and choose; it says what it answers.
cat >both.py <<'END'
import json, sys
number = lambda: json.loads(sys.stdin.readline())["seq"]
for _ in range(3):
    a, b = number(), number()
    print({"without": f"#{a} 0\n1",
           "numbers": f"#{b} 1\n#{a} no", "twice": f"#{a} 0\n#{a} 1\n#{b} 0"}[sys.argv[1]], flush=True)
sys.stdin.read()
END
two() { # two HOW [POLICY]: two processes that ask; what they print, in $open
  start "$socket" --policy "${2:-choose}=exec python3 $work/both.py $1"
  for i in 1 2; do
    "$MURPHY" run hub.xml --hub "$socket" -- ./calls 3 >open.$i 2>/dev/null &
    pids[i]=$!
  done
  wait "${pids[@]}"
  open=$(cat open.[12])
}
yes() { python3 -c 'import json; print(*[a["seq"] for a in map(json.loads, open("hub.log")) if a["inject"]])'; }
two numbers
stop
holds 'a script that waits for two questions, and answers in any order' test "$(yes)" = '2 4 6'
holds '... one of each two fails' test "$(tr -cd x <<<"$open")" = xxx
two without
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds '... an answer without a number: exit status 3' test $? = 3
holds '... with a word' grep -q "does not say which question it answers" hub.err
holds '... and no question has it as its answer' test "$(tr -cd x <<<"$open")" = ''
two twice
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds '... two answers to one question, with others open: exit status 3' test $? = 3
holds '... with a word' grep -q "answers a question that is not open" hub.err
holds '... no other question has it as its answer' test "$(tr -cd x <<<"$open")" = ''
# Who gives numbers gives them to all: then a line too many can always be told.
start "$socket" --policy 'script=read -r l; echo "#1 0"; read -r l; echo 1; cat'
calls 2
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds 'a number, and then none: exit status 3, and no fault' test "$?:$(cat out)" = '3:.. 3'
holds '... with a word' grep -q "does not say which question it answers" hub.err
for word in '#' '#x 1' '#1x 1' '#2 1' '#99999999999999999999 1'; do
  start "$socket" --policy "script=read -r l; echo '$word'; cat"
  calls 1
  timeout 30 tail --pid=$hub -f /dev/null || kill $hub
  wait $hub
  holds "a number that is none ('$word'): exit status 3, and no fault" test "$?:$(cat out)" = '3:. 3'
done

start "$socket" --policy 'script=exec <&-; sleep 60'
calls 2
timeout 30 tail --pid=$hub -f /dev/null || kill $hub
wait $hub
holds 'a script that reads no questions, but does not end: exit status 3' test "$?:$(cat out)" = '3:.. 3'

# Who has gone is not asked for any more.
start "$socket" --policy 'script=read -r l; sleep 4; echo 0; while read -r l; do echo "$l" >>late; echo 0; done'
for i in 1 2 3 4 5 6; do
  "$MURPHY" run hasty.xml --hub "$socket" -- ./calls 1 >/dev/null 2>&1 &
  pids[i]=$!
done
wait "${pids[@]}"
calls 1
stop
# The first was read; the second was on its way.
holds 'questions of processes that have gone are not given to the script' test "$(grep -c . late)" -le 2
holds '... later ones are' grep -q '"seq":7,' late
unset pids

# Who may ask.
start "$socket"
holds 'a local socket is its user'"'"'s alone' test "$(stat -c %a socket)" = 600
stop
start "$socket" --mode 0666
holds '... unless it is said otherwise' test "$(stat -c %a socket)" = 666
stop
for mode in 0888 rw 7777 ''; do
  run hub --mode "$mode" "$socket"
  refused "a mode that is none: '$mode'" "--mode cannot be '$mode'"
done

run hub --mode 0666 tcp:127.0.0.1:0
refused 'a mode of what is no file' '--mode is for local sockets'

start tcp:127.0.0.1:0 --policy nth=2
address=$(sed -n 's/^listening at //p' hub.out)
run run --hub "$address" hub.xml -- ./calls 3
holds 'over TCP, at a port that was free' test "$(cat out)" = '.x. 3'
# Somebody who does not speak its language.
exec 9<>"/dev/tcp/127.0.0.1/${address##*:}" && echo 'GET / HTTP/1.0' >&9 && echo 'more than sixteen bytes of it' >&9
run run --hub "$address" hub.xml -- ./calls 3
holds '... strangers do not disturb it' test "$(cat out)" = '... 3'
exec 9>&-
stop

# --- without an answer ------------------------------------------------------------------------------------------------

calls 1
holds 'no hub at the address: exit status 3' test "$status" = 3
holds '... before anything is run, and it is the option that says so' grep -q "^murphy: --hub: no hub answers at $socket" err
run run --hub tcp:nosuchhost.invalid:77 hub.xml -- ./calls 1
holds '... of a host that there is not: the same' test "$status" = 3
holds '... with its name' grep -q '^murphy: --hub: nosuchhost.invalid: ' err
run run --hub unix: hub.xml -- ./calls 1
refused '... an address that is none: the option, not the line of the scenario' "murphy: --hub: '"
holds '... nothing else' test "$(grep -c 'hub.xml' err)" = 0
MURPHY_HUB=udp:a:1 run run hub.xml -- ./calls 1
refused '... of the variable' "murphy: MURPHY_HUB: 'udp:a:1' is no address of a hub"
sed "s|<args>|<args><address>unix:$work/nobody</address>|" hub.xml >written.xml
run run --hub "$socket" written.xml -- ./calls 1
holds '... of the scenario: with the position' grep -q "^murphy: written.xml:1:[0-9]*: no hub answers at unix:$work/nobody" err
run run hub.xml -- ./calls 1
refused 'no address' 'hub.xml:1:1: which hub is not said'
run run --hub nonsense hub.xml -- ./calls 1
refused 'no address at all' "'nonsense' is no address of a hub"
run run --explain --hub "$socket" hub.xml -- ./calls 1
accepted '--explain needs no hub'
run hub
refused 'a hub without an address' 'no address to listen at'
run hub --policy nth=0 "$socket"
refused 'a policy that is none' '--policy nth needs a number from 1 on'
run hub --every x "$socket"
refused 'a number that is none' "--every cannot be 'x'"
touch file
run hub unix:"$work/file"
refused 'a file in the way is left alone' 'cannot listen at'
holds '... indeed' test -f file

start "$socket" --policy always
"$MURPHY" run --hub "$socket" hasty.xml -- ./calls 8 sleep >out 2>err &
target=$!
asked
kill -STOP $hub
began=$SECONDS
wait $target
took=$((SECONDS - began))
kill -CONT $hub
holds 'a hub that hangs: calls go on' grep -q '^x.*\. 3$' out
# 8 calls of 300 ms, of which some wait 300 ms more, once a second: 3 s if nothing else runs here.
holds "... within the time limit ($took s)" test $took -lt 30
holds '... and murphy says so' grep -q "^murphy: trigger 'hub' ($socket): the hub did not answer in time; calls went on" err
stop

# Two hubs, one of which hangs.
cat >both.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) {
  int failed = 0;
  FILE *f = fopen("both.ready", "w");
  if (!f || fclose(f)) return 9;
  while (access("both.go", F_OK)) usleep(20000);
  for (int i = 0; i < 5; i++) {
    (void)!getppid();
    failed += getuid() == (uid_t)-1;
  }
  printf("%d\n", failed);
  return 0;
}
END
cc -o both both.c || exit 1
"$MURPHY" hub "unix:$work/hangs" >hangs.out 2>&1 &
hangs=$!
for ((i = 0; i < 600; i++)); do ! grep -qs listening hangs.out || break; sleep 0.1; done
start "$socket" --policy always
cat >both.xml <<END
<trigger id="a" class="DistributedTrigger"><args><address>unix:$work/hangs</address><timeout>100ms</timeout></args></trigger>
<trigger id="b" class="DistributedTrigger"><args><timeout>60s</timeout></args></trigger>
<function name="getppid" return="-1"><reftrigger ref="a" /></function>
<function name="getuid" return="-1"><reftrigger ref="b" /></function>
END
"$MURPHY" run --hub "$socket" both.xml -- ./both >out 2>err &
target=$!
for ((i = 0; i < 600; i++)); do [ ! -e both.ready ] || break; sleep 0.1; done
kill -STOP $hangs
touch both.go
wait $target
kill -CONT $hangs
kill $hangs
wait $hangs
holds 'a hub that hangs does not silence another' test "$(cat out)" = 5
stop

start "$socket" --policy always
"$MURPHY" run --hub "$socket" --log log hub.xml -- ./calls 16 sleep >out 2>err &
target=$!
asked
stop
sleep 1.5
start "$socket" --policy always
wait $target
holds 'a hub that is gone and comes back: calls go on in between' grep -q '^x.*\.\..*x 3$' out
holds '... and murphy says so' grep -q "the hub could not be reached: .*; calls went on ([0-9]* in all)" err
holds '... in the log too' grep -q '"event":"trigger","trigger":"hub","class":"DistributedTrigger".*could not be reached' log
stop

# --- servers change their user ----------------------------------------------------------------------------------------

cat >changes.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) {
  if (setgid(65534) < 0 || setuid(65534) < 0) return 1;
  return puts(getppid() == -1 ? "fails" : "goes on") < 0;
}
END
cc -o changes changes.c
if [ "$(id -u)" = 0 ]; then
  place=$(mktemp -d "${TMPDIR:-/tmp}/murphy-hub.XXXXXX")
  chmod 755 "$place"
  (umask 077; start "unix:$place/socket" --policy always --mode 0666; echo $hub >pid)
  "$MURPHY" run --hub "unix:$place/socket" hub.xml -- ./changes >out 2>err
  holds 'a process that is another user now asks' grep -qx fails out
  chmod 700 "$place"
  "$MURPHY" run --hub "unix:$place/socket" hub.xml -- ./changes >out 2>err
  holds '... and goes on where it may not' grep -qx 'goes on' out
  holds '... which is said, with the reason' grep -q 'could not be reached: Permission denied (.* tcp: address); calls' err
  holds '... and what helps' grep -q 'needs --mode 0666 of the hub' err
  kill "$(cat pid)"
  for ((i = 0; i < 100; i++)); do [ -e "$place/socket" ] || break; sleep 0.1; done
  rm -rf "$place"
else
  skip 'a process that is another user now asks' 'not root'
fi

# Workers of nginx, as in docs/replicated.md.
if [ "$(id -u)" = 0 ] && command -v nginx >/dev/null && command -v curl >/dev/null; then
  place=$(mktemp -d "${TMPDIR:-/tmp}/murphy-hub.XXXXXX")
  chmod 755 "$place"
  port=$((30000 + RANDOM % 2000))
  echo text >"$place/index.html"
  cat >"$place/nginx.conf" <<END
worker_processes 3; daemon off; user nobody nogroup; pid $place/pid; error_log $place/errors;
events {}
http { access_log off; server { listen 127.0.0.1:$port reuseport; root $place; } }
END
  sed 's/"getppid" return="-1"/"writev" errno="ECONNRESET"/' hub.xml >writev.xml
  options=$(sed -n 's/^\$ murphy hub \(.*\) --log .* unix:.*socket &$/\1/p' "$MURPHY_SOURCE/docs/replicated.md" | tail -n 1)
  start "unix:$place/socket" $options
  "$MURPHY" run --hub "unix:$place/socket" writev.xml -- nginx -e "$place/errors" -c "$place/nginx.conf" >out 2>err &
  target=$!
  for ((i = 0; i < 300; i++)); do [ ! -s "$place/pid" ] || break; sleep 0.1; done
  sleep 1
  failed=0
  for ((i = 0; i < 60; i++)); do curl -sf -m 20 -o page "http://127.0.0.1:$port/" || failed=$((failed + 1)); done
  kill "$(cat "$place/pid")"
  wait $target
  stop
  last="curl, $failed of 60 failed"
  holds 'nginx, whose workers have changed their user: as the document says' test $failed = 6
  rm -rf "$place"
else
  skip 'nginx, whose workers have changed their user' 'not root, or no nginx'
fi

# --- a replicated store (docs/replicated.md) --------------------------------------------------------------------------

replicated() { # replicated FOLDER CFLAGS...
  local i
  last="tests/replicated/run.sh $*"
  for i in 1 2 3; do
    rm -rf "$1"
    mkdir "$1"
    # From another folder, with the binary's path from there, as the document has it.
    (cd / && MURPHY=${MURPHY#/} bash "$MURPHY_SOURCE/tests/replicated/run.sh" "$work/$1" \
      $((20000 + RANDOM % 10000)) "${@:2}") >out 2>err
    status=$?
    [ $status = 3 ] || break
  done
}
# Which datagrams get lost is up to the order in which three processes ask; about one run in a hundred has no luck.
for i in 1 2 3; do
  replicated plain
  ! grep -q ': 139$' out || break
done
holds 'three replicas: the careless store loses one to SIGSEGV' grep -q '^replica [23]: 139$' out
holds '... what is left agrees' grep -q '^client: 0$' out
holds '... the hub let all of them fail' python3 - plain/hub.log <<'END'
import json, sys
yes = []
for line in map(json.loads, open(sys.argv[1])):
    if line["inject"]:
        yes.append((line["member"], line["seq"]))
assert len(yes) == 60, yes
# Whose turn it is while one of them dies depends on the network: it may die of what the others lost.
members = {member for member, _ in yes}
assert len(members) > 1 and members <= {1, 2, 3}, yes
END
holds '... and the runs did what it said' test "$(cat plain/[123].log | grep -c '"event":"inject".*"trigger":"hub"')" = 60
replicated careful -DCAREFUL
holds 'the careful one survives the same network' test "$(grep -c ': 0$' out)" = 5
holds '... and all agree' test "$(grep -c ': agrees$' careful/client.out)" = 3
finish

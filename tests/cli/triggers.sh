#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Triggers of one's own: docs/triggers.md as it is written, the two that come with murphy, and what can be wrong with
# one: found beforehand, or told as the trigger's fault and not the program's.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'
export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset MURPHY_TRIGGERS MURPHY_HUB
command -v cc >/dev/null || { skip 'triggers of one'"'"'s own' 'no C compiler'; finish; }
# The sanitizers of murphy's own build are not for what runs under it.
build() { # build CLASS-FILE [OPTION...]: from standard input
  local out=$1
  shift
  cc -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -I"$MURPHY_SOURCE/include" "$@" -o "$out" -x c -
}

# --- the two that come with murphy ------------------------------------------------------------------------------------

cat >pipe.c <<'END'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char b[8192];
static void try(size_t n, int fd) {
  long r = read(fd, b, n);
  printf("%ld%s ", r, r < 0 && errno == EINVAL ? "!" : "");
}
int main(int argc, char **argv) {
  int ends[2];
  if (pipe(ends) || write(ends[1], b, 8192) != 8192) return 9;
  try(1024, ends[0]);
  pthread_mutex_lock(&lock);
  try(1024, ends[0]);
  try(1023, ends[0]);
  try(4096, ends[0]);
  pthread_mutex_unlock(&lock);
  try(1024, ends[0]);
  if (argc > 1) {
    pthread_mutex_trylock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    try(1024, ends[0]);
  }
  return argv[0] == NULL;
}
END
cc -g -o pipe pipe.c -pthread || exit 1
cat >figure7.xml <<'END'
<trigger id="readTrig1K4K" class="ReadPipe1Kto4KwithMutex" />
<function name="read" numargs="3" return="-1" errno="EINVAL">
  <reftrigger ref="readTrig1K4K" />
</function>
<function name="pthread_mutex_lock" return="unused" errno="unused">
  <reftrigger ref="readTrig1K4K" />
</function>
<function name="pthread_mutex_unlock" return="unused" errno="unused">
  <reftrigger ref="readTrig1K4K" />
</function>
END
run run figure7.xml -- ./pipe
holds 'the trigger of figure 6, in the scenario of figure 7' test "$(cat out)" = '1024 -1! 1023 -1! 1024 '
run run figure7.xml -- ./pipe try
holds '... an unlock without a lock that it saw' test "$(cat out)" = '1024 -1! 1023 -1! 1024 -1! '

cat >open.c <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int attempts(const char *path) {
  for (int i = 1; i < 10; i++) {
    int fd = open(path, O_RDONLY);
    if (fd >= 0) return close(fd), i;
  }
  return 0;
}
int main(void) {
  int first = attempts("open.c"), other = attempts("pipe.c");
  printf("%d %d %d\n", first, other, attempts("open.c"));
  return 0;
}
END
cc -g -o open open.c || exit 1
cat >paths.xml <<'END'
<trigger id="retry" class="EachPathTrigger"><args><times>2</times><pattern>o*</pattern></args></trigger>
<function name="open" errno="EINTR"><reftrigger ref="retry" /></function>
END
run run paths.xml -- ./open
holds 'EachPathTrigger: each path by itself, a pattern, arguments' test "$(cat out)" = '3 1 1'
sed 's/<times>2/<times>two/' paths.xml >bad.xml
run run --log log bad.xml -- ./open
holds 'a trigger that refuses its arguments: exit status 3' test "$status" = 3
holds '... its words' grep -q "^murphy: trigger 'retry' (class EachPathTrigger of .*each_path.so): it refuses .*number" err
holds '... also in the log' grep -q '"event":"trigger","trigger":"retry".*"problem":"it refuses' log
holds '... and the program ran without faults' test "$(cat out)" = '1 1 1'

# --- docs/triggers.md -------------------------------------------------------------------------------------------------

# Its blocks of C and XML are the files that they name in their first line, its shell lines are run one by one.
mkdir howto && cd howto || exit 1
awk '/^```/ { if (on) { on = 0; close(name) } else if ($1 != "```sh" && $1 != "```") { on = 1; name = "" } next }
  on && name == "" { name = $0; gsub(/^.*(\/\*|<!--) | (\*\/|-->).*$/, "", name); next }
  on { print > name }' "$MURPHY_SOURCE/docs/triggers.md"
awk '/^```sh/ { on = 1; next } /^```/ { on = 0 } on && /^\$ / { print substr($0, 3) }' "$MURPHY_SOURCE/docs/triggers.md" \
  >commands
cp commands files ../ 2>/dev/null
# As if it were installed: pkg-config finds the header, murphy is in the PATH.
DESTDIR=$work/root meson install -C "$MURPHY_BUILD" --no-rebuild --quiet >out 2>err || cat err
PKG_CONFIG_PATH=$(dirname "$(find "$work/root" -name murphy.pc)")
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=$work/root
mkdir "$work/bin" && ln -s "$MURPHY" "$work/bin/murphy"
good=0
while read -r command; do
  last=$command
  PATH=$work/bin:$PATH bash -c "$command" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  # A command whose output is shown has that output.
  expected=$(awk -v c="\$ $command" '$0 == c { on = 1; next } /^(\$ |```)/ { on = 0 } on' "$MURPHY_SOURCE/docs/triggers.md")
  [ -z "$expected" ] && [ $status != 0 ] && good=1
  [ -z "$expected" ] || [ "$(cat "$work/out" "$work/err")" = "$expected" ] || good=1
  [ $good = 0 ] || { echo "# wanted: $expected"; break; }
done <commands
cd ..
result $good "the commands of docs/triggers.md do what it says ($(wc -l <howto/commands) of them)"
holds '... and there are some' test "$(wc -l <howto/commands)" -ge 4
unset PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
dir=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/root" -name murphy.pc)") pkg-config --variable=triggersdir murphy)
holds 'murphy.pc says where triggers are installed' test -f "$work/root$dir/each_path.so"

# --- what a trigger sees and may do -----------------------------------------------------------------------------------

mkdir own
build own/Sees.so <<'END' || exit 1
#include <errno.h>
#include <murphy/trigger.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
struct state { long calls; };
static int init(struct murphy_trigger *t) {
  fprintf(stderr, "init %s %s %s\n", t->id, murphy_trigger_text(t, "a", "-"), murphy_trigger_text(t, "f.line", "-"));
  return 0;
}
static int eval(struct murphy_trigger *t, const struct murphy_call *c) {
  struct state *s = t->state;
  char b[1];
  errno = 77;
  /* Its own read is nobody's business: it neither fails nor counts. */
  long own = read(-1, b, 1);
  fprintf(stderr, "eval %s %s %u %ld %ld %s\n", t->id, c->function, c->n_args, (long)c->args[2], ++s->calls,
          own == -1 && errno == EBADF ? "own" : "?");
  return s->calls == 2;
}
static void done(struct murphy_trigger *t) { fprintf(stderr, "done %s\n", t->id); }
MURPHY_TRIGGER(Sees, .init = init, .eval = eval, .done = done, .state_size = sizeof(struct state));
END
cat >sees.xml <<'END'
<trigger id="one" class="Sees"><args><a>x</a><f><line>7</line></f></args></trigger>
<trigger id="two" class="Sees" />
<function name="read" errno="EIO" when="call == 3"><reftrigger ref="one" /></function>
<function name="read" errno="EIO"><reftrigger ref="two" /></function>
END
run run --triggers own --log log sees.xml -- ./pipe
cat >want <<'END'
init one x 7
init two - -
eval one read 3 1024 1 own
eval two read 3 1024 1 own
eval one read 3 1024 2 own
eval two read 3 1024 2 own
eval one read 3 1023 3 own
eval two read 3 1023 3 own
eval one read 3 4096 4 own
eval two read 3 4096 4 own
eval one read 3 1024 5 own
eval two read 3 1024 5 own
END
grep -v done err >seen
holds 'init, eval with arguments, state of its own for each' diff want seen
holds '... done' test "$(grep -c '^done' err)" = 2
holds '... and the one fault' grep -q '"function":"read","call":2,.*"trigger":"two"' log
MURPHY_TRIGGERS=$work:own run run sees.xml -- ./pipe
holds 'MURPHY_TRIGGERS' grep -q 'init one' err

# What the program has in registers, and errno, is not the trigger's.
build own/Clobbers.so <<'END' || exit 1
#include <errno.h>
#include <murphy/trigger.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) {
  (void)t;
  (void)c;
  errno = 77;
  __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tmovdqa %%xmm0, %%xmm1\n\tmovdqa %%xmm0, %%xmm2\n\tmovdqa %%xmm0, %%xmm7"
                   ::: "xmm0", "xmm1", "xmm2", "xmm7");
  return 0;
}
MURPHY_TRIGGER(Clobbers, .eval = eval);
END
cat >floats.c <<'END'
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *unused) {
  for (int i = 0; i < 1000; i++) {
    char line[64];
    errno = 5;
    if (snprintf(line, sizeof line, "%.1f %.2f %.3f", 1.5, 2.25, 3.125) != 14 || errno != 5) _exit(3);
    for (const char *a = line, *b = "1.5 2.25 3.125"; *a || *b; a++, b++)
      if (*a != *b) _exit(4);
  }
  return unused;
}
int main(void) {
  pthread_t t[4];
  int status = 0;
  for (int i = 0; i < 4; i++)
    if (pthread_create(&t[i], NULL, work, NULL)) return 9;
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  if (fork() == 0) return work(NULL) != NULL;
  wait(&status);
  return status != 0;
}
END
cc -O1 -fno-builtin -U_FORTIFY_SOURCE -o floats floats.c -pthread || exit 1
printf '<trigger id="t" class="Clobbers" /><function name="snprintf" return="-1"><reftrigger ref="t" /></function>' >floats.xml
run run --triggers own floats.xml -- ./floats
accepted 'vector registers and errno are kept, in threads and in a child'
# Whatever else is asked before, between and behind the questions.
twice='<trigger id="t" class="Clobbers" /><trigger id="u" class="Clobbers" />'
for rules in \
  '<function name="snprintf" return="-1"><reftrigger ref="t" /></function><function name="snprintf" return="-1"><reftrigger ref="u" /></function>' \
  '<function name="snprintf" return="-1" when="arg(2) == 64"><reftrigger ref="t" /></function>' \
  '<function name="snprintf" return="-1" when="stack(&quot;floats&quot;)"><reftrigger ref="t" /></function><function name="snprintf" return="-1"><reftrigger ref="u" /></function>' \
  '<function name="snprintf" return="unused"><reftrigger ref="t" /></function><function name="snprintf" return="-1" when="stack(&quot;libm.so.6&quot;)" /><function name="snprintf" return="-1"><reftrigger ref="u" /></function>' \
  '<function name="snprintf" return="-1" when="call == 3000000"><reftrigger ref="t" /></function><function name="snprintf" return="-1"><reftrigger ref="u" /></function>'; do
  echo "$twice$rules" >floats.xml
  run run --triggers own floats.xml -- ./floats
  accepted "... ${rules:0:140}"
done

# The trigger of LFI's table IV, which hits the one close that matters.
mkdir unlock
build own/after_unlock.so <"$MURPHY_SOURCE/tests/bench/servers/after_unlock.c"
cc -g -O1 -pthread -o unlock/merge "$MURPHY_SOURCE"/tests/bench/servers/unlock/*.c
cat >unlock.xml <<'END'
<trigger id="unlock" class="CloseAfterUnlock"><args><bytes>32</bytes></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="unlock" /></function>
<function name="pthread_mutex_unlock" return="unused"><reftrigger ref="unlock" /></function>
END
run run --triggers own unlock.xml -- ./unlock/merge
holds 'a close right after an unlock: the double unlock of table IV' test "$status" = 134

# --- what can be wrong ------------------------------------------------------------------------------------------------

one() { printf '<trigger id="t" class="%s" /><function name="read" errno="EIO"><reftrigger ref="t" /></function>' "$1" >one.xml; }
wrong() { # wrong NAME TEXT OPTION...: refused before anything is run
  local name=$1 text=$2
  shift 2
  run run "$@" one.xml -- ./pipe
  refused "$name" "$text"
}
one Seess
wrong 'a class that is not known: did you mean' "one.xml:1:24: trigger class 'Seess' is not known (did you mean Sees?)" --triggers own
one EachPathTriger
wrong '... also those that come with murphy' "did you mean EachPathTrigger?"
one Sees
wrong 'a folder that is not there' 'nowhere: No such file or directory' --triggers nowhere
wrong 'a folder that is a file' 'pipe.c: is not a folder' --triggers pipe.c
MURPHY_TRIGGERS=nowhere wrong 'a folder of MURPHY_TRIGGERS that is not there' 'nowhere: No such file or directory'
echo 'int x;' | build own/Empty.so -fvisibility=default
one Empty
wrong 'a plugin without an entry' "trigger class 'Empty' is not in $work/own/Empty.so: it has no trigger in it" --triggers own
echo 'no object' >own/Text.so
one Text
wrong 'a plugin that is no shared object' "trigger class 'Text' is not in $work/own/Text.so: not an ELF file" --triggers own
one WhollyOther
mkdir alone && cp own/Text.so alone/plain.so
wrong '... whatever it is called' "trigger class 'WhollyOther' is not known; $work/alone/plain.so is of no use: not an ELF file" --triggers "$work/alone"
cp own/Empty.so alone/none.so
wrong '... and how many there are' "MURPHY_TRIGGER(CLASS, …) makes one), and 1 more such files" --triggers "$work/alone"
printf '#include <murphy/trigger.h>\n#undef MURPHY_TRIGGER_VERSION\n#define MURPHY_TRIGGER_VERSION 2\nMURPHY_TRIGGER(Newer, .eval = 0);\n' |
  build own/newer.so
one Newer
wrong 'a plugin of another version' "class 'Newer' of $work/own/newer.so: it is of another version" --triggers own
printf '#include <murphy/trigger.h>\nMURPHY_TRIGGER(Idle, .state_size = 1);\n' | build own/idle.so
one Idle
wrong 'a plugin without eval' 'it has no eval' --triggers own
echo 'int murphy_trigger_Odd;' | build own/odd.so -fvisibility=default
one Odd
wrong 'an entry that is something else' 'no struct murphy_trigger_class' --triggers own
echo 'int y;' | build "$work/libgone.so" -fvisibility=default
printf '#include <murphy/trigger.h>\nextern int y;\nstatic int e(struct murphy_trigger*t,const struct murphy_call*c){(void)t;(void)c;return y;}\nMURPHY_TRIGGER(Needy, .eval = e);\n' |
  build own/needy.so -L"$work" -Wl,--no-as-needed -x none "$work/libgone.so" -x c
rm libgone.so
one Needy
wrong 'a plugin whose library is missing' "it needs " --triggers own

mkdir 'a$LIBb' 'c$x' && cp own/Sees.so 'a$LIBb' && cp own/Sees.so 'c$x' || exit 1
one Sees
wrong 'a path that the loader would replace' 'because of a $ in it' --triggers 'a$LIBb'
run run --triggers 'c$x' one.xml -- ./pipe
holds '... another $ is no matter' test "$status" = 0
# Structures grow at their end: a class of the size that the first version had is good.
sized() { # sized SIZE
  printf '#include <murphy/trigger.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) { (void)t; (void)c; return 1; }
__attribute__((visibility("default"))) struct murphy_trigger_class murphy_trigger_Short = {
  .size = %s, .version = MURPHY_TRIGGER_VERSION, .name = "Short", .eval = eval};\n' "$1" | build own/short.so || exit 1
  one Short
}
sized 60
run run --triggers own one.xml -- ./pipe
holds 'a class that is as long as the first ones' test "$(cat out)" = '-1 -1 -1 -1 -1 '
sized 59
wrong '... and one that is shorter' 'built with an older' --triggers own
# Numbers: all that there are, and nothing else.
build own/num.so <<'END' || exit 1
#include <murphy/trigger.h>
#include <stdio.h>
static int init(struct murphy_trigger *t) {
  int64_t n = 5;
  int r = murphy_trigger_number(t, "n", &n);
  fprintf(stderr, "%lld\n", (long long)n);
  return r;
}
static int eval(struct murphy_trigger *t, const struct murphy_call *c) { (void)t; (void)c; return 0; }
MURPHY_TRIGGER(Num, .init = init, .eval = eval);
END
good=0
for n in 0:0 7:7 -12:-12 9223372036854775807:9223372036854775807 -9223372036854775808:-9223372036854775808 :5 -:5 1x:5 \
  9223372036854775808:5 -9223372036854775809:5 99999999999999999999:5; do
  printf '<trigger id="t" class="Num"><args><n>%s</n></args></trigger><function name="read" errno="EIO"><reftrigger ref="t" /></function>' \
    "${n%:*}" >num.xml
  run run --triggers own num.xml -- ./pipe
  [ "$(head -1 err)" = "${n#*:}" ] || { good=1; break; }
done
result $good "numbers of triggers: $n"

# A crash in a trigger is not a finding about the program.
printf '#include <murphy/trigger.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) { (void)t; (void)c; return 0; }
__attribute__((constructor)) static void start(void) { *(volatile int *)8 = 1; }
MURPHY_TRIGGER(Starts, .eval = eval);\n' | build own/starts.so || exit 1
one Starts
run run --triggers own one.xml -- ./pipe
holds 'a plugin that crashes before anything is there: exit status 3' test "$status" = 3
holds '... it is named' grep -q "pipe: it ended before its start (does it start at all, without $work/own/starts.so?)" err
for how in 'init:.init = crash, .eval = eval' 'eval:.eval = crash2' 'done:.eval = eval, .done = crash3'; do
  printf '#include <murphy/trigger.h>
static int crash(struct murphy_trigger *t) { (void)t; *(volatile int *)8 = 1; return 0; }
static int crash2(struct murphy_trigger *t, const struct murphy_call *c) { (void)c; return crash(t); }
static void crash3(struct murphy_trigger *t) { (void)crash(t); }
__attribute__((unused)) static int eval(struct murphy_trigger *t, const struct murphy_call *c) { (void)t; (void)c; return 0; }
MURPHY_TRIGGER(Crash, %s);\n' "${how#*:}" | build own/crash.so -Wno-unused-function || exit 1
  one Crash
  run run --triggers own --log log one.xml -- ./pipe
  holds "a crash in ${how%%:*}: exit status 3" test "$status" = 3
  holds '... is said to be the trigger'"'"'s' grep -q "class Crash of .*crash.so): process [0-9]* ended .* by SIGSEGV: a crash of the trigger, not of the program" err
  holds '... also in the log' grep -q '"event":"trigger".*"class":"Crash"' log
done
one Needs
printf '#include <murphy/trigger.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) { (void)t; (void)c; return *(volatile int *)8; }
MURPHY_TRIGGER(Needs, .eval = eval);\n' | build own/needs.so || exit 1
run run --follow --triggers own one.xml -- sh -c './pipe; exit $?'
holds '... of a program that a shell has started, and told the status of' test "$status" = 3
holds '... as well' grep -q 'by SIGSEGV: a crash of the trigger' err
# Nor is its end the program's, whatever it looks like from outside.
for how in 'exit(0)' '_exit(0)' 'exit(1)'; do
  printf '#include <murphy/trigger.h>
#include <stdlib.h>
#include <unistd.h>
static int end(struct murphy_trigger *t, const struct murphy_call *c) { (void)t; (void)c; %s; return 0; }
MURPHY_TRIGGER(Ends, .eval = end);\n' "$how" | build own/ends.so || exit 1
  one Ends
  run run --triggers own --log log one.xml -- ./pipe
  holds "a trigger that calls $how: exit status 3" test "$status" = 3
  holds '... is said to be the trigger'"'"'s' \
    grep -q '^murphy: trigger .t. (class Ends of .*ends.so): .*\(called exit\|no result of the program\)' err
  holds '... also in the log' grep -q '"event":"trigger".*"class":"Ends"' log
done
# A program that catches its crashes catches those of a trigger: that it ended so is not its own doing. A signal that
# only comes at that time is nobody's fault; what cannot be told apart is said to be so.
cat >catches.c <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static sigjmp_buf back;
static void jumps(int n) {
  (void)n;
  siglongjmp(back, 1);
}
static void caught(int n) {
  if (getenv("GENTLY")) exit(n);
  _exit(n);
}
/* catches SIGNAL [altstack] [mask] [nodefer] [before]; before: it has handled a fault already. */
int main(int argc, char **argv) {
  static char other[65536];
  stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
  struct sigaction a = {.sa_handler = caught};
  char b;
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], "altstack") == 0) a.sa_flags |= SA_ONSTACK, sigaltstack(&stack, NULL);
    if (strcmp(argv[i], "mask") == 0) sigfillset(&a.sa_mask);
    if (strcmp(argv[i], "nodefer") == 0) a.sa_flags |= SA_NODEFER;
    if (strcmp(argv[i], "before") == 0 && !sigsetjmp(back, 1)) {
      signal(SIGSEGV, jumps);
      *(volatile int *)8 = 1;
    }
  }
  sigaction(atoi(argv[1]), &a, NULL);
  return read(0, &b, 1) > 1;
}
END
cc -o catches catches.c || exit 1
printf '#include <murphy/trigger.h>
#include <signal.h>
#include <stdlib.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) {
  const char *how = murphy_trigger_text(t, "how", "");
  (void)c;
  if (*how == 0) *(volatile int *)8 = 1;
  if (*how == 0x61) abort();
  raise(SIGTERM);
  return 0;
}
MURPHY_TRIGGER(Signals, .eval = eval);\n' | build own/signals.so || exit 1
crashed='it has crashed, and a handler of the program for that has ended process [0-9]+$'
unclear='a handler of the program for a signal that came in it has ended process [0-9]+$'
unknown='it, or a handler of the program for a signal that came in it, has ended process [0-9]+$'
signals() { # signals HOW STATUS:LINES TEXT ARGUMENT...: what the trigger does, how many lines are said like TEXT
  local how=$1 wanted=$2 text=$3 gently catches=${catches:-./catches}
  shift 3
  printf '<trigger id="t" class="Signals"><args><how>%s</how></args></trigger>
<function name="read" return="-1" errno="EIO"><reftrigger ref="t" /></function>' "$how" >signals.xml
  for gently in '' GENTLY=1; do
    last="catches $* ${gently:-_exit} ($how)"
    env ${gently:+"$gently"} "$MURPHY" run --triggers own signals.xml -- "$catches" "$@" </dev/null >out 2>err
    status=$?
    holds "a trigger ${how:-crash}, the program handles $*, and ends${gently:+ by exit}" \
      test "$status:$(grep -cE "${text:-.}" err)" = "$wanted"
  done
}
signals '' 3:1 "$crashed" 11
signals '' 3:1 "$crashed" 11 altstack mask
signals abort 3:1 "$crashed" 6
signals term 15:0 '' 15
signals term 3:1 "$unclear" 15 mask
signals term 3:1 "$unclear" 15 nodefer
# A fault that was handled before says nothing about what came now.
signals term 3:1 "$unclear" 15 mask before
# Nor is it known what a stack goes through that cannot be walked.
cc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -o blind catches.c || exit 1
catches=./blind signals '' 3:1 "$unknown" 11
catches=./blind signals term 3:1 "$unknown" 15

# A thread that is in a trigger when the program ends in good order has nothing to do with it.
build own/waits.so <<'END' || exit 1
#include <murphy/trigger.h>
#include <unistd.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) {
  (void)t;
  (void)c;
  (void)!write(9, "x", 1);
  for (;;) pause();
  return 0;
}
MURPHY_TRIGGER(Waits, .eval = eval);
END
cat >leaves.c <<'END'
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static void *work(void *unused) {
  (void)!getppid();
  return unused;
}
int main(int argc, char **argv) {
  int ends[2];
  char b;
  pthread_t t;
  /* The trigger writes to descriptor 9 when it is asked. */
  if (pipe(ends) || dup2(ends[1], 9) < 0) return 9;
  if (pthread_create(&t, NULL, work, NULL) || read(ends[0], &b, 1) != 1) return 8;
  if (argc > 1 && strcmp(argv[1], "_exit") == 0) _exit(0);
  if (argc > 1) execvp(argv[1], argv + 1);
  return argc > 1;
}
END
cc -o leaves leaves.c -pthread || exit 1
printf '<trigger id="t" class="Waits" /><function name="getppid" return="-1"><reftrigger ref="t" /></function>' >waits.xml
run run --triggers own waits.xml -- ./leaves
accepted 'a thread that is in a trigger when the program ends does not matter'
run run --triggers own waits.xml -- ./leaves true
accepted '... nor when it becomes another program'
run run --triggers own waits.xml -- ./leaves _exit
accepted '... nor when another thread calls _exit'

# A child of vfork is not the process, though it is in its memory: its end is nobody's.
build own/vforks.so <<'END' || exit 1
#include <murphy/trigger.h>
extern int helper(void);
static int eval(struct murphy_trigger *t, const struct murphy_call *c) {
  (void)t;
  (void)c;
  return helper();
}
MURPHY_TRIGGER(Vforks, .eval = eval);
END
cat >vforks.c <<'END'
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>
int helper(void) {
  int status = 1;
  pid_t pid = vfork();
  if (pid == 0) _exit(0);
  return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}
int main(void) { return getppid() < 0; }
END
cc -rdynamic -o vforks vforks.c || exit 1
sed 's/Waits/Vforks/' waits.xml >vforks.xml
run run --triggers own vforks.xml -- ./vforks
accepted '... nor is the child of a vfork in a trigger that calls _exit its end'

# Nor has a process that was killed there anything to do with how another ended.
cat >kills.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) {
  int ends[2];
  char b;
  if (pipe(ends) || dup2(ends[1], 9) < 0) return 9;
  pid_t pid = fork();
  if (pid == 0) return getppid() < 0;
  if (pid < 0 || read(ends[0], &b, 1) != 1 || kill(pid, SIGKILL) || waitpid(pid, NULL, 0) != pid) return 8;
  if (argc > 1) abort();
  return argv[0] == NULL;
}
END
cc -o kills kills.c || exit 1
run run --triggers own waits.xml -- ./kills
holds 'a child that is killed in a trigger: only said' test "$status" = 0 -a "$(grep -c 'ended while its thread' err)" = 1
run run --triggers own waits.xml -- ./kills abort
holds '... and a crash of its parent is not the trigger'"'"'s' test "$status" = 134
holds '... and not said to be' test "$(grep -c 'a crash of the trigger' err)" = 0

# A handler that jumps out of a trigger: the question is over.
build own/jumps.so <<'END' || exit 1
#include <murphy/trigger.h>
#include <signal.h>
static int eval(struct murphy_trigger *t, const struct murphy_call *c) {
  (void)c;
  if (!__atomic_exchange_n((int *)t->state, 1, __ATOMIC_RELAXED)) raise(SIGUSR1);
  return 1;
}
MURPHY_TRIGGER(Jumps, .state_size = 4, .eval = eval);
END
cat >jumps.c <<'END'
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static sigjmp_buf back;
static void handler(int unused) {
  (void)unused;
  siglongjmp(back, 1);
}
static void ends(int unused) {
  (void)unused;
  _exit(6);
}
static __attribute__((noinline)) int deep(int n) {
  volatile char room[256];
  memset((char *)room, n, sizeof room);
  return n > 0 ? deep(n - 1) + (room[5] != n) : (int)getppid();
}
int main(int argc, char **argv) {
  signal(SIGUSR1, handler);
  if (!sigsetjmp(back, 1)) return deep(3) + 77;
  if (argc > 1 && strcmp(argv[1], "leave") == 0) return 5;
  if (argc > 1 && strcmp(argv[1], "handle") == 0) {
    static char other[65536];
    stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    struct sigaction a = {.sa_handler = ends, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) || sigaction(SIGSEGV, &a, NULL)) return 9;
    *(volatile int *)8 = 1;
  }
  int flat = getppid() < 0;
  printf("%d %d\n", flat, deep(9) < 0);
  fflush(stdout);
  if (argc > 1 && strcmp(argv[1], "crash") == 0) *(volatile int *)8 = 1;
  return 0;
}
END
cc -o jumps jumps.c || exit 1
printf '<trigger id="t" class="Jumps" /><function name="getppid" return="-1"><reftrigger ref="t" /></function>' >jumps.xml
run run --triggers own jumps.xml -- ./jumps
holds 'a jump out of a trigger: it is asked again' test "$(cat out)" = '1 1'
accepted '... and has not ended the program'
run run --triggers own jumps.xml -- ./jumps leave
holds '... also if nobody asks it again' test "$status" = 5 -a ! -s err
run run --triggers own jumps.xml -- ./jumps crash
holds '... nor crashed it' test "$status" = 139 -a ! -s err
run run --triggers own jumps.xml -- ./jumps handle
holds '... nor if that is handled before it is asked again, on another stack' test "$status" = 6 -a ! -s err

cat >crashes.c <<'END'
#include <unistd.h>
int main(void) {
  char b[1];
  (void)!read(0, b, 1);
  *(volatile int *)8 = 1;
  return 0;
}
END
cc -o crashes crashes.c
one Sees
run run --triggers own one.xml -- ./crashes
holds 'a crash of the program is the program'"'"'s' test "$status" = 139
finish

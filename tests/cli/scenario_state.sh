#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Triggers about the state of the program: variables, locks, what was called before, stacks that were seen; and the
# same questions asked of real programs.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=/usr/sbin:/usr/bin:/sbin:/bin

# A target that closes one descriptor several times, in different states, and says which of these failed.
cat >target.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
struct server { int connections, limit; const char *name; } server = {1, 4, "first"};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int slots[4] = {1, 2, 3, 4};
static __attribute__((noinline)) void put_away(int i) {
  int fd = dup(0);
  if (close(fd) < 0) printf("%d:%s ", i, errno == EIO ? "EIO" : "?");
}
static __attribute__((noinline)) void handle(int i) {
  volatile int left = server.limit - server.connections;
  put_away(i);
  server.connections += left > 0;
}
/* A close two lines behind an unlock, and one that is further away. */
static __attribute__((noinline)) void release(int i) {
  int fd = dup(0), other = dup(0);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);

  if (close(fd) < 0) printf("%d:%s ", i, errno == EIO ? "EIO" : "?");

  if (close(other) < 0) printf("%d:%s ", i + 1, errno == EIO ? "EIO" : "?");
}
int main(void) {
  handle(1);
  handle(2);
  pthread_mutex_lock(&lock);
  server.name = "locked";
  handle(3);
  pthread_mutex_unlock(&lock);
  put_away(4);
  put_away(5);
  handle(6);
  release(7);
  printf("\n");
  return 0;
}
END
cc -g -O1 -pthread -o target target.c || { skip 'state of a program' 'no C compiler'; finish; }

# scenario NAME WANT: runs the XML of standard input; the target must say WANT.
scenario() {
  { echo '<scenario>'; cat; echo '</scenario>'; } >scenario.xml
  run run scenario.xml -- ./target
  local good=0
  [ "$status" = 0 ] && [ "$(sed 's/ *$//' out)" = "$2" ] || good=1
  result $good "$1"
}

scenario 'ProgramStateTrigger: a global variable against a local one' '3:EIO' <<'END'
<trigger id="t" class="ProgramStateTrigger">
  <args><condition>global("server.connections") > local("handle", "left")</condition>
  <condition>global("server.connections") &lt; global("server.limit")</condition></args>
</trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario '... and a string' '3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO' <<'END'
<trigger id="t" class="ProgramStateTrigger"><args><condition>global("server.name") ~ "lock*"</condition></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'a local variable of a function that is not on the stack is not known' '' <<'END'
<function name="close" errno="EIO" when="not stack(&quot;handle&quot;) and local(&quot;handle&quot;, &quot;left&quot;) != 99" />
END
# Variables of threads in libraries, one of which another library has as well, and before it.
echo '__thread int twice = 1, room[4] = {5, 5, 5, 5}; int one(void) { return twice + room[1]; }' >one.c
cat >two.c <<'END'
__thread int twice = 2, other = 9;
int two(void) { return twice + other; }
END
echo 'int one(void), two(void); int close(int); int main(void) { return one() + two() > 0 && close(-7) == 3 ? 7 : 0; }' >threads.c
cc -g -shared -fPIC -o libone.so one.c && cc -g -shared -fPIC -o libtwo.so two.c &&
  cc -g -o threads threads.c -L. -Wl,-rpath,"$PWD" -lone -ltwo || exit 1
run run --fail 'close:ret=3 when global("other") == 9' -- ./threads
holds 'a variable of a thread, in a library whose other one is bound elsewhere' test "$status" = 7

scenario 'MutexTrigger by itself' '3:EIO' <<'END'
<trigger id="t" class="MutexTrigger" />
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'WithMutex, fed as in the paper' '3:EIO' <<'END'
<trigger id="t" class="WithMutex" />
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
<function name="pthread_mutex_lock" return="unused" errno="unused"><reftrigger ref="t" /></function>
<function name="pthread_mutex_unlock" return="unused" errno="unused"><reftrigger ref="t" /></function>
END
scenario 'MutexTrigger: more locks than there are' '' <<'END'
<trigger id="t" class="MutexTrigger"><args><locks>2</locks></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'AfterTrigger' '4:EIO 5:EIO 6:EIO 7:EIO 8:EIO' <<'END'
<trigger id="t" class="AfterTrigger"><args><function>pthread_mutex_unlock</function></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'AfterTrigger: the next call' '4:EIO 7:EIO' <<'END'
<trigger id="t" class="AfterTrigger"><args><function>pthread_mutex_unlock</function><calls>1</calls></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'AfterTrigger: until another function' '3:EIO' <<'END'
<trigger id="t" class="AfterTrigger">
  <args><function>pthread_mutex_lock</function><until>pthread_mutex_unlock</until></args>
</trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'AfterTrigger: lines behind it, in the same function' '7:EIO' <<'END'
<trigger id="t" class="AfterTrigger"><args><function>pthread_mutex_unlock</function><lines>2</lines></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
run run --fail 'close:EIO when near("pthread_mutex_unlock", 1)' -- ./target
refused 'no call is so near' '--fail:16: no call of close stands within 1 lines behind one of pthread_mutex_unlock'
# Calls through a register, as of a function whose address is kept over a loop.
cat >register.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
  int (*give)(pthread_mutex_t *) = pthread_mutex_unlock, (*drop)(int) = close;
  __asm__("" : "+r"(give), "+r"(drop));
  pthread_mutex_lock(&lock);
  if (drop(dup(0)) < 0) printf("first ");
  give(&lock);
  if (drop(dup(0)) < 0) printf("second ");
  pthread_mutex_lock(&lock);
  if (drop(dup(0)) < 0) printf("third ");
  return 0;
}
END
cc -g -O1 -o register register.c || exit 1
run run --fail 'close:EIO when near("pthread_mutex_unlock", 2)' -- ./register
holds 'near: calls through a register' test "$(cat out)" = 'second '
holds '... that there are no others near is noted' grep -q \
  'note: --fail:16: no call of close stands within 2 lines .* but for calls through a register' err
run run --fail 'close:EIO when near("pthread_mutex_lock", 2)' -- ./register
holds '... which hit what they are' test "$(cat out)" = 'first third '
# Where there are thousands of calls through a register, those by name are still seen.
{
  sed -n '1,/^static/p' register.c
  echo 'static int zero(int x) { return x * 0; }'
  echo 'int main(int argc, char **argv) { int (*other)(int) = zero, (*give)(pthread_mutex_t *) = pthread_mutex_unlock;'
  echo '__asm__("" : "+r"(give), "+r"(other)); argc = give(&lock);'
  for ((i = 0; i < 2100; i++)); do echo 'argc += other(argc);'; done
  printf '%s\n' 'pthread_mutex_unlock(&lock);' 'if (close(dup(0)) < 0) printf("near\n");' 'return argc - (argv == 0); }'
} >crowd.c
cc -g -O0 -o crowd crowd.c || exit 1
run run --fail 'close:EIO when near("pthread_mutex_unlock", 1)' -- ./crowd
holds 'near: thousands of calls through a register do not hide one by name' test "$(cat out)" = near
holds '... that they are not seen is noted' grep -q \
  'note: --fail:21: pthread_mutex_unlock may be called through a register in too many places' err
# A function that was inlined into itself is on the stack as often as it was called, and not more often.
cat >again.c <<'END'
#include <unistd.h>
static int down(int n) {
  if (n == 0) return close(77);
  return down(n - 1) + 1;
}
int main(int argc, char **argv) { return argv ? down(argc - 1) == 77 : 1; }
END
cc -g -O3 -fno-optimize-sibling-calls -o again again.c || exit 1
good=0
# The last is deeper than what is inlined at once: some of its calls are frames of their own, with others inside.
for depth in 1 2 4 7; do
  for n in 2 3 5 6 7 8; do
    rm -f log
    run run --log log --fail "close:EIO when stack($(printf '"down",%.0s' $(seq $((n - 1))))\"down\")" -- ./again $(seq $depth)
    [ "$(wc -l <log)" = $((n <= depth + 1)) ] || { good=1; echo "# $n of $((depth + 1))"; }
  done
done
result $good 'stack: a function that was inlined into itself is there as often as it was called'
# What was inlined stands where it was called; the line of its own, far above, does not count.
cat >inlined.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static inline __attribute__((always_inline)) void give(void) { pthread_mutex_unlock(&lock); }
static inline __attribute__((always_inline)) void drop(const char *name) {
  if (close(dup(0)) < 0) printf("%s ", name);
}
int main(void) {
  pthread_mutex_lock(&lock);
  give();
  if (close(dup(0)) < 0) printf("next ");
  drop("inlined");




  drop("far");
  printf("\n");
  return 0;
}
END
cc -g -O2 -pthread -o inlined inlined.c
run run --fail 'close:EIO when near("pthread_mutex_unlock", 1)' -- ./inlined
holds 'near: of an unlock that was inlined' grep -qx 'next ' out
run run --fail 'close:EIO when near("pthread_mutex_unlock", 2)' -- ./inlined
holds '... and of a close that was' grep -qx 'next inlined ' out
scenario 'CoverageTrigger: each stack once' '1:EIO 2:EIO 3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO' <<'END'
<trigger id="t" class="CoverageTrigger" />
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
seen() {
  scenario "$1" "$2" <<END
<trigger id="t" class="CoverageTrigger"><args><file>seen</file></args></trigger>
<trigger id="once" class="SingletonTrigger" />
<function name="close" errno="EIO"><reftrigger ref="$3" /><reftrigger ref="$4" /></function>
END
}
seen 'CoverageTrigger: the first stack in the first run' '1:EIO' once t
seen '... another one in the second' '2:EIO' t once
holds '... which is kept in a file' test -s seen
rest() {
  scenario "$1" "$2" <<'END'
<trigger id="t" class="CoverageTrigger"><args><file>seen</file></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
}
rest '... and all others in the third' '3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO'
rest '... so that there are none in the fourth' ''
holds '... and nothing is said' test ! -s err
echo 'not a memory' >other
scenario 'CoverageTrigger: another file is left alone' '1:EIO 2:EIO 3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO' <<'END'
<trigger id="t" class="CoverageTrigger"><args><file>other</file></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
holds '... which is said' grep -q '^murphy: note: scenario.xml:2:.*: stacks are not kept in other' err
holds '... as it was' test "$(cat other)" = 'not a memory'

scenario 'CoverageTrigger: a file that cannot be made' '1:EIO 2:EIO 3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO' <<'END'
<trigger id="t" class="CoverageTrigger"><args><file>nowhere/other</file></args></trigger>
<function name="close" errno="EIO"><reftrigger ref="t" /></function>
END
holds '... is told, too' grep -q '^murphy: note: scenario.xml:2:.*: stacks are not kept in nowhere/other' err

# --- the name of the process ------------------------------------------------------------------------------------------

ln -sf target linked
for name in target linked; do
  run run --fail "close:EIO when process.name == \"$name\"" -- ./linked
  holds "process.name: of a link, $name" grep -q '^1:EIO 2:EIO' out
  run run --fail "close:EIO when process.name != \"$name\"" -- ./linked
  holds '... and it is no other' sh -c '! grep -q EIO out'
done
run run --fail 'close:EIO when process.name == "linked"' -- ./target
holds '... the link only where it is used' sh -c '! grep -q EIO out'

# --- descriptors that are not open ------------------------------------------------------------------------------------

cat >closed.c <<'END'
#include <stdio.h>
#include <unistd.h>
int main(void) {
  int closed = fsync(99), open = fsync(0);
  printf("%d %d\n", closed, open);
  return 0;
}
END
cc -o closed closed.c
run run --fail 'fsync:ret=-5 when fd.written != 500' -- ./closed </dev/null
holds 'what was written to a closed descriptor is not known' grep -qx -- '-1 -5' out

# --- names that there are not -----------------------------------------------------------------------------------------

run run --fail 'close:EIO when global("server.limt") == 1' -- ./target
refused 'a member that there is not' "--fail:23: no member 'limt' (did you mean limit?)"
run run --fail 'close:EIO when global("slots[4]") == 1' -- ./target
refused 'an element that there is not' "--fail:23: 'slots[4]' has an index that is too large (there are [0] to [3])"
run run --fail 'close:EIO when global("slots[3]") == 4' -- ./target
holds '... and the last one that there is' grep -q '^1:EIO 2:EIO' out
run run --fail 'close:EIO when global("sever.limit") == 1' -- ./target
refused 'a variable that there is not' "--fail:23: no global variable 'sever' (did you mean server?)"
run run --fail 'close:EIO when local("handle", "lift") == 1' -- ./target
refused 'a local variable that there is not' "--fail:32: no variable or argument 'lift' in handle (did you mean left?)"
run run --fail 'close:EIO when local("handel", "left") == 1' -- ./target
refused 'a function that there is not' "--fail:22: no function 'handel'"
holds '... with a name like it' grep -q '(did you mean handle?)' err
run run --fail 'close:EIO when near("pthread_mutex_unlok", 3)' -- ./target
refused 'near: a function that nothing imports' \
  '--fail:21: neither the program nor its libraries import pthread_mutex_unlok (did you mean pthread_mutex_unlock?)'
run run --fail 'close:EIO when global("server.name") == 3' -- ./target
holds 'a pointer is a number, too' test "$status" = 0
run run --fail 'close:EIO when global("server.limit") ~ "x*"' -- ./target
refused 'a number is no text' '--fail:16: this variable is no string'
cp target stripped && strip -g stripped
MURPHY_DEBUG_PATH=$work run run --fail 'close:EIO when global("server_of_mine") == 3' -- ./stripped
refused 'names need debug information' '--fail:23: '
holds '... which the program has not' grep -q '/stripped.*have debug\|/stripped has no debug information' err

cat >gone.c <<'END'
#include <unistd.h>
__attribute__((noinline)) int f(int gone) { return close(gone * 0 - 1); }
int main(int argc, char **argv) { return f(argc * 5) == 0 && argv; }
END
cc -g -O2 -o gone gone.c
run run --fail 'close:EIO when local("f", "gone") == 5' -- ./gone
holds 'a variable that is nowhere is noted' grep -q '^murphy: note: --fail:16: the compiler has kept this variable of f' err

# A name means the variable of the innermost block, as long as that block goes and no longer.
cat >blocks.c <<'END'
#include <unistd.h>
__attribute__((noinline)) void use(int *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
int main(void) {
  int x = 77;
  use(&x);
  {
    int x = 5;
    use(&x);
    close(-2);
    write(1, "S", 1);
  }
  write(1, "E", 1);
  use(&x);
  return 0;
}
END
for compiler in 'gcc -O0' 'gcc -O2' 'clang -O0' 'clang -O2'; do
  command -v ${compiler% *} >/dev/null || continue
  $compiler -g -w -o blocks blocks.c
  run run --fail 'write:ret=1 when local("main", "x") == 5' -- ./blocks
  holds "$compiler: a variable ends with its block" test "$(cat out)" = E
  run run --fail 'write:ret=1 when local("main", "x") == 77' -- ./blocks
  holds "$compiler: ... and hides the one outside" test "$(cat out)" = S
done
cat >unknown.c <<'END'
#include <unistd.h>
__attribute__((noinline)) void use(int *p) { __asm__ volatile("" ::"r"(p) : "memory"); }
int main(int argc, char **argv) {
  volatile int x = 77;
  use((int *)&x);
  if (argc) {
    int x = argc * 3 + (int)sizeof *argv;
    write(1, "SSSSSSSSSSSSSS" + x, 1);
  }
  write(1, "E", 1);
  use((int *)&x);
  return 0;
}
END
for compiler in 'gcc -O2' 'clang -O2'; do
  command -v ${compiler% *} >/dev/null || continue
  $compiler -g -w -o unknown unknown.c
  run run --fail 'write:ret=1 when local("main", "x") == 77' -- ./unknown
  holds "$compiler: ... also where it is not known itself" test "$(cat out)" = S
done

# Who jumps to a function in a tail call is not its caller.
cat >jumps.c <<'END'
#include <unistd.h>
__attribute__((noinline)) ssize_t put(const char *s) { return write(1, s, 1); }
__attribute__((noinline)) ssize_t both(const char *s) { return write(1, s, 1) < 0 ? -1 : write(1, s, 1); }
int main(void) { return put("A") + both("B") < 0; }
END
cc -g -O2 -o jumps jumps.c
cc -g -O2 -fno-plt -Wl,-z,now -o jumps_noplt jumps.c
cc -g -O2 -fno-optimize-sibling-calls -o calls jumps.c
for program in jumps jumps_noplt; do
  for place in put jumps.c:2; do
    run run --fail "write:ret=1 when caller(\"$place\")" -- ./$program
    holds "$program: a caller that jumps is noted: $place" \
      grep -q '^murphy: note: --fail:25: this code only jumps to write, in a tail call' err
  done
  run run --fail 'write:ret=1 when caller("both")' -- ./$program
  holds "$program: ... and not one that calls, too" test ! -s err
done
run run --fail 'write:ret=1 when caller("put")' -- ./calls
holds '... nor one that only calls' test "$(cat out)$(cat err)" = BB

# A parser that recurses tens of thousands deep is no rarity.
cat >deep.c <<'END'
#include <unistd.h>
static __attribute__((noinline)) int deep(int n) { return n ? deep(n - 1) + (n < 0) : close(-7); }
int main(int argc, char **argv) { volatile int kept = 5; return deep(40000 * argc) == 3 && kept && argv; }
END
cc -g -O1 -fno-optimize-sibling-calls -o deep deep.c
run run --fail 'close:ret=3 when stack("main") and local("main", "kept") == 5' -- ./deep
holds 'a frame that is far up' test "$status" = 1

# Columns count in the file, whatever its escapes stand for.
cat >escaped.xml <<'END'
<scenario>
  <trigger id="t" class="ProgramStateTrigger"><args>
    <condition>global("server.limit") &gt; 3 and global("server.limt") &lt; 9</condition></args></trigger>
  <function name="close" errno="EIO"><reftrigger ref="t" /></function>
</scenario>
END
run run escaped.xml -- ./target
refused 'behind an escape in an argument, the place in the file' \
  'escaped.xml:3:57: no member '"'limt' (did you mean limit?)"
echo '<scenario><function name="close" errno="EIO" when="call &lt; 5 and path =~ &quot;a[b&quot;" /></scenario>' >escapes.xml
run run escapes.xml -- ./target
refused 'a position behind escapes' 'escapes.xml:1:83: this set has no end'

# --- what a profile that was given says --------------------------------------------------------------------------------

cat >told.c <<'END'
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
struct { char before, told, behind; } own = {1, 2, 3};
int main(void) {
  int ends[2] = {1, 2};
  int r = pipe(ends);
  printf("%d %d %d %d, %d %d %d\n", r, errno == EMFILE, ends[0], ends[1], own.before, own.told, own.behind);
  return 0;
}
END
cc -g -rdynamic -o told told.c
cat >told.xml <<'END'
<profile format="1" library="libc.so.6">
<function name="pipe"><error-codes retval="-1">
  <side-effect errno="EMFILE" />
  <side-effect type="ARG" argument="1" offset="4" width="2">77</side-effect>
</error-codes></function>
</profile>
END
run run --fail 'pipe:EMFILE' -- ./told
holds 'a failed function leaves its argument alone' test "$(cat out)" = '-1 1 1 2, 1 2 3'
run run --profile told.xml --fail 'pipe:EMFILE' -- ./told
holds '... unless a profile that was given says otherwise' test "$(cat out)" = '-1 1 1 77, 1 2 3'
offset=$(nm told | sed -n 's/^0*\([0-9a-f]*\) . own$/0x\1/p')
sed -i "s|<side-effect type=\"ARG\".*|<side-effect type=\"GLOBAL\" module=\"told\" offset=\"$((offset + 1))\" width=\"1\">-1</side-effect>|" told.xml
run run --profile told.xml --fail 'pipe:EMFILE' -- ./told
holds '... also of a variable, in its width' test "$(cat out)" = '-1 1 1 2, 1 -1 3'

# Codes that a library stores behind an argument are found in its code; other numbers may be anything.
cat >codes.c <<'END'
#include <stdlib.h>
void *codes_open(int *code, long *size, int name) {
  void *p = NULL;
  if (name < 0) {
    if (code) *code = -2;
    if (size) *size = 120;
  } else if (!(p = malloc(16))) {
    if (code) *code = -3;
  } else if (code)
    *code = 0;
  return p;
}
END
cat >coded.c <<'END'
#include <stdio.h>
void *codes_open(int *code, long *size, int name);
int main(void) {
  int code = 77;
  long size = 88;
  void *p = codes_open(&code, &size, 1);
  printf("%d %d %ld\n", p != NULL, code, size);
  return codes_open(NULL, NULL, 1) != NULL;
}
END
cc -O2 -shared -fPIC -o libcodes.so codes.c && cc -o coded coded.c -L. -lcodes '-Wl,-rpath,$ORIGIN'
run run --log codes.log --fail 'codes_open:profile' -- ./coded
holds 'codes behind an argument are set as the library does it' test "$status:$(cat out)" = '0:0 -3 88'
holds '... where there is a pointer' test "$(grep -c '"argument":1,"offset":0,"width":4,"value":-3}' codes.log):$(grep -c '"value":-3,"missed":true}' codes.log)" = 1:1
run run --fail 'codes_open:ret=0 errno=ENOMEM' -- ./coded
holds '... also of a value that the profile has' test "$status:$(cat out)" = '0:0 -3 88'

# What an argument points to may be no memory, or none that can be written to; that is no crash of the program.
cat >behind.c <<'END'
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
  char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + 4096, 4096, PROT_READ) < 0) return 9;
  int on_stack[2] = {0}, *on_heap = calloc(2, sizeof(int));
  void *volatile to[] = {(void *)7, (void *)(uintptr_t)"text", pages + 4096, pages + 4094, (void *)(1ull << 60), NULL,
                         on_stack, on_heap + 1, pages + 4091};
  for (size_t i = 0; i < sizeof to / sizeof *to; i++)
    if (pipe(to[i]) != -1) return 8;
  printf("%d %d %d\n", on_stack[0], on_heap[1], *(int *)(pages + 4091));
  return 0;
}
END
cc -O0 -o behind behind.c
echo '<scenario><function name="pipe" errno="EMFILE"><side kind="arg" argument="1" value="77"/></function></scenario>' >behind.xml
run run --log behind.log behind.xml -- ./behind
holds 'what cannot be written to is left alone' test "$status:$(cat out)" = '0:77 77 77'
holds '... and logged as missed' test "$(grep -c '"missed":true' behind.log):$(grep -c '"value":77}' behind.log)" = 6:3
holds '... and said once, at the end' test "$(cat err)" = "murphy: what argument 1 points to of pipe was not set, the first of 6 faults of which something was not: there is no such variable, or the pointer leads to nothing that can be written"
run run --fail 'codes_open:profile' -- ./coded
holds '... but not where nobody has asked for it' test ! -s err
# What the function leaves behind anyway can be asked for as well.
cat >anyway.c <<'END'
#include <pwd.h>
int main(void) {
  struct passwd p, **nowhere = (void *)16;
  char bytes[1000];
  return getpwnam_r("root", &p, bytes, sizeof bytes, nowhere) != 5;
}
END
cc -w -o anyway anyway.c
echo '<function name="getpwnam_r" return="5"><side kind="arg" argument="5" value="0" width="8"/></function>' >anyway.xml
run run anyway.xml -- ./anyway
holds 'what the function leaves behind anyway, and is asked for, is told too' \
  grep -q 'what argument 5 points to of getpwnam_r was not set' err
run run --fail 'getpwnam_r:ret=5' -- ./anyway
holds '... not if only the function does it' test "$status" = 0 -a ! -s err

# Of the signals that a call can be interrupted by, one that the program does not end by.
cat >signals.c <<'END'
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int got;
static void note(int n) { got = n; }
int main(int argc, char **argv) { /* numbers of signals; those below 0 with SA_RESTART */
  char byte;
  for (int i = 1; i < argc; i++) {
    int n = atoi(argv[i]);
    struct sigaction a = {.sa_handler = note, .sa_flags = n < 0 ? SA_RESTART : 0};
    if (sigaction(abs(n), &a, NULL) < 0) return 9;
  }
  int r = (int)read(0, &byte, 1), interrupted = errno == EINTR;
  printf("%d %d %d\n", r, interrupted, got);
  return 0;
}
END
cc -O0 -o signals signals.c
signals() { # signals NAME WANT NUMBER...
  local name=$1 want=$2
  shift 2
  run run --log signals.log --fail 'read:eintr' -- ./signals "$@"
  holds "eintr: $name" test "$status:$(cat out)" = "0:-1 1 $want"
}
signals 'a child has ended, before the terminal is gone' 17 1 15 2 3 17
holds '... the log says so, at the end' grep -q '"signal":"SIGCHLD"}$' signals.log
signals '... even if calls begin again after that' 17 1 15 2 3 -17
signals '... and one after which none begin again before that' 10 1 -17 10
signals 'a real-time signal' 40 1 2 40
signals 'never one that programs end by' 0 1 2 15 3 20
signals 'without a handler' 0
holds '... the log says so' test "$(grep -c '"action":"eintr".*"signal":null}$' signals.log)" = 1

# --- real programs ----------------------------------------------------------------------------------------------------

if command -v git >/dev/null; then
  export HOME=$work GIT_CONFIG_NOSYSTEM=1
  git init -q repository && echo text >repository/file
  run run --fail 'open:ENOSPC when flags & O_CREAT and path =~ "index[.]lock$"' -- git -C repository add file
  holds 'git: the index cannot be locked' grep -q "index.lock.*No space left" err
  run run --fail 'read:short=3 when fd.kind == "file"' -- git -C repository add file
  holds 'git: short reads do no harm' test "$status" = 0
  run run --fail 'fsync:kill' --fail 'rename:kill' --fail 'link:kill' -- git -C repository add file
  holds 'git: killed before the object has its name' test "$status" = 137 -o "$status" = 0
  rm -f repository/.git/index.lock
  run run -- git -C repository fsck
  holds 'git: the repository is whole after that' git -C repository fsck
else
  skip 'git' 'it is not installed'
fi

if command -v sqlite3 >/dev/null; then
  run run --fail 'pwrite:ENOSPC when path ~ "*-journal"' -- sqlite3 data.db 'create table t(a); insert into t values(1);'
  holds 'sqlite3: the journal is full' grep -qi 'full' err
  run run --fail 'write:short=100 when size > 100' --fail 'pwrite:short=100 when size > 100' \
    -- sqlite3 short.db 'create table t(a); insert into t values(1); select a from t;'
  holds 'sqlite3: short writes are written on' test "$status$(cat out)" = 01
else
  skip 'sqlite3' 'it is not installed'
fi

cat >read.py <<'END'
import os, signal, sys
signal.signal(signal.SIGALRM, lambda number, frame: print("handled", number))
print(len(os.read(os.open(sys.argv[1], os.O_RDONLY), 4099)))
END
run run --fail 'read:eintr when fd.path ~ "*/read.py" and size == 4099 and once' -- /usr/bin/python3 read.py read.py
holds 'python3: a read that is interrupted is repeated, and the handler runs' grep -q 'handled 14' out
run run --fail 'read:short=7 when fd.path ~ "*/read.py" and size == 4099 and once' -- /usr/bin/python3 read.py read.py
holds 'python3: a short read' test "$(cat out)" = 7

finish

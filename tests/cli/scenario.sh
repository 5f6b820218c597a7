#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Scenarios in XML at work: each class of triggers, how they are put together, and scenarios that murphy check wrote.
. "$(dirname "$0")/tap.sh"

export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=/usr/sbin:/usr/bin:/sbin:/bin

# A target that reads a file and a pipe in turn, and says which reads failed. Its tenth read is by another function.
cat >target.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static char buffer[4096];
static __attribute__((noinline)) long fetch(int fd, size_t n) { return read(fd, buffer, n) + 0 * (buffer[1] = 1); }
static __attribute__((noinline)) long fetch_deep(int fd, size_t n) { return fetch(fd, n) + 0 * (buffer[2] = 1); }
int main(void) {
  int ends[2], file = open("target.c", O_RDONLY);
  if (file < 0 || pipe(ends) < 0 || write(ends[1], buffer, 4096) != 4096) return 9;
  for (int i = 1; i <= 10; i++) {
    long n = i == 10 ? fetch_deep(file, 10) : fetch(i % 2 ? file : ends[0], i < 6 ? 100 : 300);
    if (n < 0) printf("%d:%s ", i, errno == EIO ? "EIO" : errno == EINTR ? "EINTR" : "?");
  }
  printf("\n");
  return 0;
}
END
cc -g -O1 -o target target.c || { skip 'scenarios at work' 'no C compiler'; finish; }

# scenario NAME WANT: runs the XML of standard input; the target must say WANT.
scenario() {
  { echo '<scenario>'; cat; echo '</scenario>'; } >scenario.xml
  run run scenario.xml -- ./target
  local good=0
  [ "$status" = 0 ] && [ "$(sed 's/ *$//' out)" = "$2" ] || good=1
  result $good "$1"
}

scenario 'without a trigger all calls fail' '1:EIO 2:EIO 3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO 9:EIO 10:EIO' <<'END'
<function name="read" return="-1" errno="EIO" />
END
scenario 'CallCountTrigger: n' '3:EIO' <<'END'
<trigger id="t" class="CallCountTrigger"><args><n>3</n></args></trigger>
<function name="read" return="-1" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'CallCountTrigger: from, to, step' '2:EIO 5:EIO' <<'END'
<trigger id="t" class="CallCountTrigger"><args><from>2</from><to>7</to><step>3</step></args></trigger>
<function name="read" return="-1" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'a trigger counts what it is asked, whoever asks' '2:EIO' <<'END'
<trigger id="t" class="CallCountTrigger"><args><n>3</n></args></trigger>
<function name="write" return="unused" errno="unused"><reftrigger ref="t" /></function>
<function name="read" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'SingletonTrigger at the end of a conjunction' '6:EIO' <<'END'
<trigger id="large" class="FdTrigger"><args><low>200</low></args></trigger>
<trigger id="once" class="SingletonTrigger" />
<function name="read" errno="EIO"><reftrigger ref="large" /><reftrigger ref="once" /></function>
END
scenario '... and at its start: it is used up by another call' '' <<'END'
<trigger id="large" class="FdTrigger"><args><low>200</low></args></trigger>
<trigger id="once" class="SingletonTrigger" />
<function name="read" errno="EIO"><reftrigger ref="once" /><reftrigger ref="large" /></function>
END
scenario 'FdTrigger: kind' '2:EIO 4:EIO 6:EIO 8:EIO' <<'END'
<trigger id="t" class="FdTrigger"><args><kind>pipe</kind><blocking>true</blocking></args></trigger>
<function name="read" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'FdTrigger: path' '1:EIO 3:EIO 5:EIO 7:EIO 9:EIO 10:EIO' <<'END'
<trigger id="t" class="FdTrigger"><args><path>*/target.c</path></args></trigger>
<function name="read" errno="EIO"><reftrigger ref="t" /></function>
END
scenario 'ReadPipe of the paper' '6:EINTR 8:EINTR' <<'END'
<trigger id="t" class="ReadPipe"><args><low>200</low><high>4096</high></args></trigger>
<function name="read" numargs="3" return="-1" errno="EINTR"><reftrigger ref="t" /></function>
END
cat >huge.c <<'END'
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  volatile size_t n[] = {3000, SIZE_MAX / 2 + 100};
  for (int i = 0; i < 2; i++) {
    void *volatile p = malloc(n[i]);
    if (!p && errno == EIO) fprintf(stderr, "%d ", i);
  }
  return 0;
}
END
cc -fno-builtin -o huge huge.c || exit 1
sized() { # sized NAME BOUNDS WANT
  echo "<trigger id='t' class='FdTrigger'><args>$2</args></trigger>" \
    '<function name="malloc" errno="EIO"><reftrigger ref="t" /></function>' >huge.xml
  run run huge.xml -- ./huge
  holds "FdTrigger: $1" test "$(grep -v ^murphy: err)" = "$3"
}
sized 'a size that is no number with a sign is above low' '<low>2000</low>' '0 1 '
sized '... and not below high' '<high>5000</high>' '0 '
sized '... nor between them' '<low>2000</low><high>5000</high>' '0 '
scenario 'a negation' '1:EIO 3:EIO 5:EIO 7:EIO 9:EIO 10:EIO' <<'END'
<trigger id="t" class="FdTrigger"><args><kind>pipe</kind></args></trigger>
<function name="read" errno="EIO"><reftrigger ref="t" negate="true" /></function>
END
scenario 'a disjunction' '2:EIO 9:EINTR' <<'END'
<trigger id="a" class="CallCountTrigger"><args><n>2</n></args></trigger>
<function name="read" errno="EIO"><reftrigger ref="a" /></function>
<function name="read" errno="EINTR" when="call == 9" />
END
scenario 'CallStackTrigger: a function further up' '10:EIO' <<'END'
<trigger id="t" class="CallStackTrigger">
  <args><frame><function>fetch_deep</function></frame><frame><function>main</function></frame></args>
</trigger>
<function name="read" errno="EIO"><reftrigger ref="t" /></function>
END
line=$(grep -n 'fetch_deep(file' target.c | cut -d: -f1)
scenario 'CallStackTrigger: a file and a line' '1:EIO 2:EIO 3:EIO 4:EIO 5:EIO 6:EIO 7:EIO 8:EIO 9:EIO 10:EIO' <<END
<trigger id="t" class="CallStackTrigger"><args><frame><file>target.c</file><line>$line</line></frame></args></trigger>
<function name="read" errno="EIO"><reftrigger ref="t" /></function>
END
# A call that leads to another one of the same function, which it calls back.
cat >nest.c <<'END'
#include <dirent.h>
#include <stdio.h>
static int depth;
static int inner(const struct dirent *d) {
  struct dirent **l;
  (void)d;
  if (depth++ == 0 && scandir("/", &l, 0, 0) < 0) fprintf(stderr, "nested ");
  return 0;
}
int main(void) {
  struct dirent **l;
  if (scandir("/", &l, inner, 0) < 0) fprintf(stderr, "outer ");
  return 0;
}
END
cc -g -o nest nest.c || exit 1
at=0x$(objdump -d nest | awk '/<main>:/ { on = 1 } on && /call.*<scandir/ { sub(":", "", $1); print $1; exit }')
run run -f "scandir:EIO when stack(\"nest+$at\") and call == 2" -- ./nest
holds 'a stack by the offset of a call of the function: also further up' test "$(cat err)" = 'nested '
echo "<trigger id='t' class='CallStackTrigger'><args><frame><module>nest</module><offset>$at</offset></frame></args></trigger>" \
  '<function name="scandir" errno="EIO"><reftrigger ref="t" /></function>' >nest.xml
run run nest.xml -- ./nest
holds '... as the one frame of a CallStackTrigger it is that call' test "$(cat err)" = 'outer '

# --- random decisions -------------------------------------------------------------------------------------------------

chance() { # chance SEED [OPTION...]
  printf '%s\n' '<trigger id="t" class="RandomTrigger"><args><probability>0.5</probability>'"$1"'</args></trigger>' \
    '<function name="read" errno="EIO"><reftrigger ref="t" /></function>' >chance.xml
  shift
  run run "$@" chance.xml -- ./target
  cat out
}
first=$(chance '<seed>1</seed>')
holds 'RandomTrigger: some calls fail' test -n "$first"
holds '... not all' test "$(wc -w <<<"$first")" -lt 10
holds '... the same with the same seed, whatever the command says' test "$first" = "$(chance '<seed>1</seed>' --seed 7)"
holds '... others with another seed' test "$first" != "$(chance '<seed>2</seed>')"
holds 'without a seed it is that of the command' test "$(chance '' --seed 1)" = "$(chance '' --seed 1)"
holds '... which makes a difference' test "$(chance '' --seed 1)" != "$(chance '' --seed 2)"

# --- files ------------------------------------------------------------------------------------------------------------

mkdir -p parts
echo 'read:EIO when call==4' >parts/rules
echo '<trigger id="late" class="CallCountTrigger"><args><from>9</from></args></trigger>' >parts/late.xml
scenario 'included files, and rules' '2:EINTR 4:EIO 9:EINTR 10:EINTR' <<'END'
<function name="read" errno="EINTR"><reftrigger ref="late" /></function>
<include file="parts/rules" />
<include file="parts/late.xml" />
<rule>read:EINTR when (call == 2 or call == 4) and caller("fetch")</rule>
END
scenario '... are tried in the order in which they stand' '2:EINTR 4:EINTR' <<'END'
<rule>read:EINTR when (call == 2 or call == 4) and caller("fetch")</rule>
<include file="parts/rules" />
END

echo '<scenario><function name="read" errno="EIO"><reftrigger ref="lat" /></function></scenario>' >bad.xml
run run bad.xml -- ./target
refused 'a trigger that is not declared' "bad.xml:1:62: trigger 'lat' is not declared"

# Alternatives below a condition must not cost each other: 60 of them took longer than anybody waits.
run run --explain --fail "read:EIO when size > 1 and ($(seq -s ' or size == ' 100 300 | sed 's/^/size == /'))" -- ./target
holds 'a condition with 200 alternatives' test "$status" = 0

# What murphy check thinks is not handled: the write's result is looked at, that of the reads is not.
"$MURPHY" check --scenario none ./target >none.xml 2>err
"$MURPHY" check --scenario some ./target >some.xml 2>>err
run run --explain none.xml -- ./target
holds 'scenarios of murphy check can be run' grep -q '^    caller' out

finish

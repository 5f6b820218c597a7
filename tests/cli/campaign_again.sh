#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Findings and experiments once more: what murphy says of them must not depend on how it looks at them.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

needs_sandbox
unset MURPHY_CAMPAIGN

# ask EXPRESSION: of the JSON that was printed last, as R.
ask() { python3 -c 'import json, sys; r = json.load(open("out")); sys.exit(not eval(f"({sys.argv[1]})"))' "$1"; }

# --- a program with a sanitizer that does not bear to be traced -----------------------------------------------------------

cat >leaky.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  FILE *f = fopen("out.txt", "w");
  char *a = malloc(10), *b = malloc(20);
  if (!f) return 1;
  if (!a) { b = 0; fputs("no memory\n", stderr); return 2; }
  fputs("hello\n", f);
  fclose(f);
  free(a);
  free(b);
  return 0;
}
END
cc -g -O0 -w -fsanitize=address -o leaky leaky.c
run test --function fclose,malloc --errno ENOSPC,ENOMEM --format json -- ./leaky
holds 'a silent failure and a leak' ask '{f["kind"] for f in r["findings"]} == {"silent", "sanitizer"}'
holds '... come again in every repeat' ask 'all(f["precision"] == 1 for f in r["findings"])'
run replay 1
holds '... and in a replay' test "$status" = 1
run replay 2
holds '... each of them' test "$status" = 1

cat >beyond.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static int table[4];
static void put(int at) { table[at] = 1; }
int main(int n, char **arguments) {
  char *p = malloc(10);
  put(p && n < 2 ? 3 : 4);
  free(p);
  return 0;
}
END
cc -g -O0 -w -fsanitize=address -o beyond beyond.c
run test --campaign beyond.c1 --function malloc -- ./beyond
holds 'of a report of a sanitizer, the error is shown' grep -qx '      AddressSanitizer: global-buffer-overflow' out
holds '... and where it came' grep -q '^ *#0 put .*beyond.c:4$' out
run report --campaign beyond.c1 --format json
holds '... in JSON, too' ask 'r["findings"][0]["difference"].startswith("AddressSanitizer: global-buffer-overflow\nWRITE ")'
run report --campaign beyond.c1 --format sarif
holds '... and the error in SARIF' grep -q 'ENOMEM: AddressSanitizer: global-buffer-overflow; again' out
run test --campaign beyond.c2 --function malloc -- ./beyond more
holds '... it is what a command says that fails without any fault' grep -q 'it says: AddressSanitizer: global-buffer-overflow' err

# --- order of modules -----------------------------------------------------------------------------------------------------

cat >victim.c <<'END'
#include <stdlib.h>
int main(void) {
  char *p = malloc(10);
  *p = 1;
  return 0;
}
END
cc -g -O0 -w -o victim victim.c
run test --function malloc --format json -- ./victim
python3 - <<'END'
import json
path = '.murphy/findings/1/finding.json'
f = json.load(open(path))
f['modules'].reverse()
f['modules'].insert(0, {'path': '/bin/other', 'build_id': '1234'})
json.dump(f, open(path, 'w'))
END
run replay 1
holds 'modules in another order are the same ones' test "$status" = 1
holds '... nothing has changed' test "$(grep -c 'has changed' err)" = 0
sed -i 's/"build_id": "/"build_id": "0/g' .murphy/findings/1/finding.json
run replay 1
holds '... unless something has' grep -q 'has changed since' err

# --- another environment -------------------------------------------------------------------------------------------------

export LANG=C.UTF-8 SECRET=word
run test --function malloc --campaign env.murphy -- ./victim
run replay --campaign env.murphy 1
holds 'in the same environment nothing is said of it' test "$(grep -c environment err)" = 0
holds 'of what is no setting of the system only the name is kept' \
  grep -qE '"SECRET": *\{\}' env.murphy/findings/1/finding.json
LANG=C SECRET=other MORE=1 run replay --campaign env.murphy 1
holds 'replay says in what the environment differs' \
  grep -qxF "murphy: the environment differs from that of the finding: LANG (was C.UTF-8), MORE (was not set)" err
CI_JOB=1 GITHUB_SHA=2 run replay --campaign env.murphy 1
holds '... and not which job of a server it is in' test "$(grep -c environment err)" = 0
LANG=C run verify --campaign env.murphy
holds '... verify too, once' test "$(grep -c 'differs from that of the finding: LANG (was C.UTF-8)' err)" = 1
cat >two.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(void) {
  char *p = malloc(10), *q;
  *p = 1;
  q = strdup("word");
  return q[0] != 'w';
}
END
cc -g -O0 -w -fno-builtin -o two two.c
run test --function malloc,strdup --campaign two.murphy -- ./two
sed 's/C\.UTF-8/de_DE.UTF-8/' two.murphy/findings/2/finding.json >other && mv other two.murphy/findings/2/finding.json
LANG=C run verify --campaign two.murphy
holds 'findings of several environments are each compared with their own' \
  test "$(grep -o 'of the finding: LANG (was [^)]*)' err | sort | tr -d '\n')" = \
  'of the finding: LANG (was C.UTF-8)of the finding: LANG (was de_DE.UTF-8)'
unset LANG
SHLVL=9 run replay --campaign env.murphy 1
holds '... and that something is not set any more' grep -qF 'LANG (was C.UTF-8, is not set)' err
holds '... but not what is of the session only' test "$(grep -c SHLVL err)" = 0
unset SECRET

# --- without the campaign -------------------------------------------------------------------------------------------------

cat >twice.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void) {
  int fd = open("out.txt", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (fd < 0 || write(fd, "x", 1) != 1) return 1;
  if (close(fd) < 0 && close(fd) < 0) *(volatile int *)0 = 1;
  return 0;
}
END
cc -g -O0 -w -o twice twice.c
run test --function close --errno EIO --campaign twice.murphy --format json -- ./twice
holds 'a call that fails after it was made' ask 'r["findings"][0]["kind"] == "crash"'
python3 -c 'import json; print(json.load(open("out"))["findings"][0]["run"].replace("murphy", "exec \"$MURPHY\"", 1))' >line
sh ./line >/dev/null 2>&1
holds '... does so again with the command of the finding' test $? = 139

# --- no time was left -----------------------------------------------------------------------------------------------------

python3 - <<'END'
import sqlite3
db = sqlite3.connect('.murphy/campaign.db')
db.execute("DELETE FROM finding")
db.execute("DELETE FROM frame")
db.execute("DELETE FROM experiment WHERE id > 1")
db.execute("UPDATE experiment SET finding = NULL, precision = NULL, doubt = 'no time was left to make sure of it'")
db.commit()
END
run report
holds 'a failure that was not repeated: the report says how it is made sure of' grep -q 'test --resume makes sure' out
run test --resume --format json
holds '... and it is' ask 'len(r["findings"]) == 1 and r["findings"][0]["precision"] == 1'
holds '... in place of what was not known' ask 'r["unconfirmed"] == 0 and r["experiments"] == r["planned"]'

run test --timeout 3000000h -- ./victim
refused 'a time that is too long to be counted' "--timeout cannot be '3000000h'"

# --- interrupted ----------------------------------------------------------------------------------------------------------

cat >pair.c <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  char *p = malloc(10);
  if (p) return 0;
  usleep(300000);
  p = malloc(20);
  *p = 1;
  return 3;
}
END
name=pair-$$
cc -g -O0 -w -o "$name" pair.c
run test --depth 2 --function malloc --format json -- "./$name"
holds 'a finding with two faults' ask 'len(r["findings"]) == 1 and r["findings"][0]["first"]["function"] == "malloc"'
"$MURPHY" verify >out 2>err </dev/null &
pid=$!
# Until the run with the first fault alone sleeps (230: clock_nanosleep).
while kill -0 $pid 2>/dev/null; do
  at=$(grep -lx "$name" /proc/[0-9]*/comm 2>/dev/null | head -1)
  ! grep -q '^230 ' "${at%comm}syscall" 2>/dev/null || break
done
kill -TERM $pid 2>/dev/null
wait $pid
status=$? last='murphy verify, interrupted'
holds 'verify that is interrupted does not say that it is gone' test "$(grep -c gone out)" = 0 -a $status != 0

# Outside of the sandbox it has another number, and the call does not come.
cat >waits.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
  if (getpid() != 2) for (;;) pause();
  if (fork() == 0) { char *p = malloc(3); *p = 1; _exit(0); }
  wait(NULL);
  return 0;
}
END
name=waits-$$
cc -g -O0 -w -o "$name" waits.c
run test --function malloc --format json -- "./$name"
holds 'a finding in another process' ask 'r["findings"][0]["kind"] == "crash"'
"$MURPHY" replay 1 --gdb >out 2>err </dev/null &
pid=$! at=
while kill -0 $pid 2>/dev/null && [ -z "$at" ]; do
  # 34: pause
  for p in $(grep -lx "$name" /proc/[0-9]*/comm 2>/dev/null); do
    ! grep -q '^34 ' "${p%comm}syscall" 2>/dev/null || at=$p
  done
done
kill -TERM $pid
wait $pid
status=$? last='murphy replay --gdb, interrupted'
holds 'replay --gdb that waits for a call can be ended' test $status = 143
holds '... and ends the command' test ! -e "${at:-/}"
finish

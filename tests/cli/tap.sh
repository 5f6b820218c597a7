# SPDX-License-Identifier: Apache-2.0
# What the tests of the command line share. A test sources this, calls `run` and then says what must be true of it.
# MURPHY is the binary; the work is done in a folder that goes away, unless a test failed.
set -u

MURPHY=${MURPHY:?the binary to test}
work=$(mktemp -d "${TMPDIR:-/tmp}/murphy-cli.XXXXXX") || exit 1
cd "$work" || exit 1
# Nothing of the user's, and no profiles of an earlier build.
export HOME=$work/home XDG_CACHE_HOME=$work/cache LC_ALL=C
unset LD_LIBRARY_PATH NO_COLOR
mkdir -p "$HOME"

count=0 failures=0

result() { # result GOOD NAME
  count=$((count + 1))
  if [ "$1" = 0 ]; then
    echo "ok $count - $2"
  else
    failures=$((failures + 1))
    echo "not ok $count - $2"
    # On standard error: meson shows that, and of standard output only the names of the tests.
    {
      echo "#   $2"
      echo "#   in $work: ${last:-}"
      echo "#   exit status ${status:-}"
      sed 's/^/#   stdout: /' out 2>/dev/null | head -20
      sed 's/^/#   stderr: /' err 2>/dev/null | head -20
    } >&2
  fi
}

skip() {
  count=$((count + 1))
  echo "ok $count - $1 # SKIP $2"
}

# Runs murphy; leaves out, err and $status.
run() {
  last="murphy $*"
  "$MURPHY" "$@" >out 2>err </dev/null
  status=$?
}

# A run that must be refused: exit status 2, nothing on standard output, one line of the right form that has TEXT in it.
refused() { # refused NAME TEXT
  local good=0
  [ "$status" = 2 ] || good=1
  [ ! -s out ] || good=1
  [ "$(wc -l <err)" = 1 ] || good=1
  grep -q '^murphy: .' err || good=1
  grep -qF -- "$2" err || good=1
  result $good "$1"
}

# A run that must succeed without a word on standard error.
accepted() {
  local good=0
  [ "$status" = 0 ] && [ ! -s err ] || good=1
  result $good "$1"
}

# A condition: holds NAME COMMAND...
holds() {
  local name=$1
  shift
  "$@" >/dev/null 2>&1
  result $? "$name"
}

# Runs COMMAND beside this script, at most N of them at once; `wait` waits for the last: at_once N COMMAND...
at_once() {
  while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done
  shift
  "$@" &
}

# Leaves what `run` left in this folder for `resume_run`, which takes it up as if murphy had been run just now.
keep_run() { printf '%s\n' "$status" "$last" >kept; }
resume_run() { { read -r status && read -r last; } <kept; }

library() { # the path of a library that murphy itself needs: library libz
  ldd "$MURPHY" | awk -v name="$1.so" 'index($1, name) == 1 { print $3; exit }'
}

# Nothing of this file can be tested here: plan_skip WHY
plan_skip() {
  echo "1..0 # SKIP $1"
  cd /
  rm -rf "$work"
  exit 0
}

# What is tested here runs in sandboxes, which need namespaces that some machines refuse.
needs_sandbox() {
  export XDG_RUNTIME_DIR=$work/run
  mkdir -m 700 "$XDG_RUNTIME_DIR"
  PATH=/usr/sbin:/usr/bin:/sbin:/bin
  run test --budget 1runs --campaign probe -- true
  if [ "$status" = 3 ] && grep -q namespaces err; then
    plan_skip 'no namespaces here'
  fi
}

finish() {
  echo "1..$count"
  cd /
  [ $failures != 0 ] || rm -rf "$work"
  exit $((failures != 0))
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Variables by their names in the debug information: those of C++ with namespaces, classes and bases, arrays of several
# dimensions, structures that another file defines. What is asked is compared with what the program itself says.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

export XDG_RUNTIME_DIR=$work/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=/usr/sbin:/usr/bin:/sbin:/bin

cat >names.cc <<'END'
#include <unistd.h>
struct Hidden;
extern Hidden *hidden;
namespace net {
namespace detail { int level = 7; }
namespace { volatile int quiet = 8; }
enum class Mode : unsigned char { Off, On, Auto };
struct Base { virtual ~Base() {} int id = 42, twice = 1; };
struct Deep { int far = 9, twice = 3; };
struct Middle : Deep { int middle = 4; };
struct Options { unsigned a : 3, b : 9; int negative : 4; Mode mode; union { int number; float real; }; struct { short x, y; }; };
struct Server : Middle, Base {
  static int count;
  int twice = 2;
  Options options{};
  int grid[2][3][2] = {};
  char lines[3][8] = {"one", "two", "three"};
  __attribute__((noinline)) int serve(int fd, const char *what) { return put(what, fd + 3) + fd; }
  __attribute__((noinline)) int put(const char *text, long n) { return (int)(close((int)n) + text[0] - text[0]); }
};
int Server::count = 3;
struct Other { static int count; };
int Other::count = 5;
typedef int row[3];
row rows[2] = {{1, 2, 3}, {4, 5, 6}};
struct Virtual : virtual Base { int own = 6; } shared;
Server server, *the = &server, &alias = server;
}
template <typename T> struct Box {
  T v;
  __attribute__((noinline)) int go(T t) { v = t; return net::the->serve((int)t, "hello") + 1; }
};
int main(int argc, char **argv) {
  net::server.options.a = 5;
  net::server.options.b = 300;
  net::server.options.negative = -3;
  net::server.options.mode = net::Mode::Auto;
  net::server.options.number = -9;
  net::server.options.y = -2;
  net::server.grid[1][2][0] = 99;
  Box<long> b{};
  return argv && b.go(argc + 4095) + net::detail::level + net::quiet + net::Server::count + net::Other::count + net::shared.own + net::rows[argc][argc] == 77 ? (int)((char *)hidden - (char *)0) : 0;
}
END
cat >hidden.cc <<'END'
struct Hidden { long before; int value; };
Hidden one = {1, 55};
Hidden *hidden = &one;
END

# What must be true of the one call of close, whatever the compiler.
cat >always <<'END'
global("net::detail::level") == 7
global("detail::level") == 7
global("level") == 7
global("net::quiet") == 8
global("net::(anonymous namespace)::quiet") == 8
global("net::Server::count") == 3
global("Other::count") == 5
global("net::the->id") == 42
global("net::the->twice") == 2
global("net::the->far") == 9
global("net::server.middle") == 4
global("net::alias.options.a") == 5
global("net::the->options.b") == 300
global("net::the->options.negative") == -3
global("net::the->options.mode") == 2
global("net::the->options.number") == -9
global("net::the->options.y") == -2
global("net::the->grid[1][2][0]") == 99
global("net::the->grid[1][1][1]") == 0
global("net::the->lines[2]") == "three"
global("net::the->lines[1][1]") == 119
global("net::rows[1][2]") == 6
global("hidden->value") == 55
END
# ... and if it was not told to optimize.
cat >plainly <<'END'
local("net::Server::put", "text") == "hello"
arg("put", 3) == 4099
arg("net::Server::serve", 2) == 4096
arg("serve", 1) == global("net::the")
local("serve", "this->options.b") == 300
END

# holds_there CONDITION: it does, in the call that is meant.
holds_there() {
  run run --log log --fail "close:EIO when int(arg(1)) == 4099 and ($1)" -- ./names
  [ -s log ]
  local r=$?
  rm -f log
  return $r
}

# check NAME FILE: each condition of FILE holds, and its opposite does not.
check() {
  local condition good=0
  if ! holds_there "$(sed 's/.*/(&)/; $! s/$/ and/' "$2" | tr '\n' ' ')" ||
    holds_there "$(sed 's/.*/not (&)/; $! s/$/ or/' "$2" | tr '\n' ' ')"; then
    good=1
    while read -r condition; do
      holds_there "$condition" || echo "# $condition: $(cat err)"
    done <"$2"
  fi
  result $good "$1"
}

for compiler in 'g++ -O0' 'g++ -O2' 'g++ -O0 -gdwarf-4' 'clang++ -O0 -fstandalone-debug' 'clang++ -O2 -gdwarf-4'; do
  command -v ${compiler%% *} >/dev/null || { skip "$compiler" 'there is no such compiler'; continue; }
  $compiler -std=c++17 -g -w -o names names.cc hidden.cc || exit 1
  check "$compiler" always
  case $compiler in *-O0*) check "$compiler: of functions" plainly ;; esac
done

run run --fail 'close:EIO when global("web::level") == 7' -- ./names
refused 'a namespace that it is not in' "--fail:23: no global variable 'web::level'"
run run --fail 'close:EIO when global("net::Base::count") == 7' -- ./names
refused 'a class that it is not in' "--fail:23: no global variable 'net::Base::count'"
run run --fail 'close:EIO when global("net::the->grid[1][3][0]") == 7' -- ./names
refused 'an index of the second dimension' "--fail:23: 'net::the->grid[1][3][0]' has an index that is too large (there are [0] to [2])"
run run --fail 'close:EIO when global("net::the->grid[1][1]") == 7' -- ./names
refused 'one dimension too few' "--fail:23: 'net::the->grid[1][1]' is an array"
run run --fail 'close:EIO when global("net::shared.id") == 7' -- ./names
refused 'a virtual base' "--fail:23: 'net::shared.id' is in a virtual base"
run run --fail 'close:EIO when arg("serve", 4) == 7' -- ./names
refused 'an argument that there is not' "--fail:20: serve has no argument 4 (it has 3)"

run run --fail 'close:EIO when global("options") == 7' -- ./names
refused 'a member is no variable' "--fail:23: no global variable 'options'"

# Functions by the names that they were written with; templates have what they are made for in theirs.
cat >made.cc <<'END'
#include <unistd.h>
namespace ns {
template <typename T> __attribute__((noinline)) int made(T t) { return close((int)t) + 1; }
struct Kind { __attribute__((noinline)) int method(int t) { return close(t) + 1; } };
}
int main(int argc, char **) { ns::Kind k; return ns::made<long>(argc + 4000) + k.method(argc + 50); }
END
g++ -g -O1 -o program made.cc || exit 1
run run --log log --fail 'close:EIO when stack("made<long int>")' -- ./program
holds 'a template by its name' test "$(wc -l <log)" = 1
near() { # near NAME WANTED
  run run --fail "close:EIO when stack(\"$1\")" -- ./program
  refused "did you mean: $1" "'$1' in $work/program and its libraries (did you mean $2?)"
}
near made 'made<long int>'
near 'made<long>' 'made<long int>'
near 'ns::made<char>' 'ns::made<long int>'
near 'mdae<long int>' 'made<long int>'
near 'Kind::methdo' 'Kind::method'
near methode method
run run --fail 'close:EIO when stack("wholly<other>")' -- ./program
refused '... if there is one' "'wholly<other>' in $work/program and its libraries"
holds '... no other' test "$(grep -c 'did you mean' err)" = 0

run run --follow --fail 'close:EIO when caller("elsewhere")' -- ./program
holds 'a name that a program may have which is followed into' test "$status" != 139 -a "$(grep -c 'did you mean' err)" = 0

# Debug information that is in a file of its own, which is gone.
mkdir split && cd split || exit 1
cat >apart.c <<'END'
int close(int);
static int level = 3;
static __attribute__((noinline)) int inner(int n) { return close(n) + level++; }
int main(int argc, char **argv) { return argv ? inner(argc + 50) == 77 : 1; }
END
cc -g -gsplit-dwarf -O1 -c apart.c && cc -o ../apart apart.o || exit 1
cd ..
run run --log log --fail 'close:EIO when global("level") == 3 and caller("apart.c")' -- ./apart
holds 'debug information in a .dwo file' test "$(wc -l <log)" = 1
rm split/*.dwo
for what in 'global("level") == 3' 'local("inner", "n") == 51' 'stack("innr")'; do
  run run --fail "close:EIO when $what" -- ./apart
  refused "... that is not there: $what" "; debug information of apart is in $work/split/"
done

# Two files with a variable of one name, as static ones may have.
echo 'static int used = 5; int one(void) { return used++; }' >one.c
cat >two.c <<'END'
int close(int);
int one(void);
static int used = 9;
int main(void) { one(); used++; return close(-7) == 3; }
END
cc -g -o twice one.c two.c || exit 1
run run --fail 'close:ret=3 when global("used") == 6' -- ./twice
holds 'the first of two variables' test "$status" = 1
holds '... which is said' grep -q "note: --fail:25: there are several variables 'used'; this is the one of one.c (write \"two.c::…\"" err
run run --fail 'close:ret=3 when global("two.c::used") == 10 and global("one.c::used") == 6' -- ./twice
holds 'each by its file' test "$status" = 1 -a ! -s err
run run --fail 'close:ret=3 when global("three.c::used") == 10' -- ./twice
refused 'a file that there is not' "--fail:25: no global variable 'used' in three.c"

finish

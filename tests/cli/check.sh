#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy check on programs that are compiled here: verdicts, forms of output, selection, baselines, comments, exit status.
. "$(dirname "$0")/tap.sh"
[ -z "${MURPHY_AGAIN:-}" ] || plan_skip 'was run with the other compiler'

cat >prog.c <<'C'
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int count(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}
char *copy(const char *s)
{
	char *p = malloc(strlen(s) + 1);
	if (!p)
		return NULL;
	return strcpy(p, s);
}
void save(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	write(fd, text, strlen(text));
	close(fd);
}
long fetch(int fd, char *p, long n)
{
	long r;
	while ((r = read(fd, p, n)) == -1 && errno == EINTR)
		;
	p[r] = 0;
	return r;
}
int show(const char *path)
{
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	close(fd);
	return unlink(path); /* returned */
}
int main(int argc, char **argv)
{
	char buffer[100];
	save(argv[1], copy(argv[0]));
	fetch(0, buffer, 99);
	if (show(argv[1]))
		return 1;
	return count(argv[1]) + argc;
}
C
${CC:-cc} -O2 -g -w prog.c -o prog || exit 1

# json EXPRESSION: true if the Python expression over the JSON in out is; d is all of it, at(FUNCTION, IN) one site.
json() {
  python3 -c 'import json, sys
d = json.load(open("out"))
def at(function, inside):
    found = [s for s in d["sites"] if s["function"] == function and
             inside in [s["in"]] + [f["function"] for f in s["inlined"]]]
    return found[0] if found else None
sys.exit(not ('"$1"'
))'
}

run check --format json prog
accepted 'JSON'
holds 'it has what was promised' json '
  "program" in d and all(k in s for s in d["sites"] for k in ("function", "module", "offset", "in", "file", "line",
    "verdict", "use", "checked", "missing", "recovery_blocks"))'
holds 'verdicts and uses are the words of the design' json '
  all(s["verdict"] in ("all", "some", "none") and s["use"] in ("ignored", "used", "dereferenced", "returned")
      for s in d["sites"])'
holds 'opendir is dereferenced' json 'at("opendir", "count")["use"] == "dereferenced"'
holds 'malloc is checked' json 'at("malloc", "copy")["verdict"] == "all" and at("malloc", "copy")["checked"] == [0]'
holds 'write is ignored' json 'at("write", "save")["verdict"] == "none" and at("write", "save")["use"] == "ignored"'
holds 'read is checked for EINTR only' json '
  at("read", "fetch")["verdict"] == "some" and at("read", "fetch")["checked"] == ["EINTR"]
  and "EIO" in at("read", "fetch")["missing"]'
holds 'what is returned is checked by the caller' json 'at("unlink", "show")["verdict"] == "all"'
holds 'the line is right' json 'at("opendir", "count")["line"] == 11 and at("opendir", "count")["file"].endswith("prog.c")'
holds 'recovery code is counted' json 'at("open", "save")["recovery_blocks"] >= 1'
holds 'the worst comes first' json 'd["sites"][0]["function"] == "opendir"'
cp out first.json
run check --format json -j 1 prog
holds 'one thread finds the same' cmp out first.json
strip -o stripped prog
run check --format json stripped
holds 'a stripped program has the same verdicts' python3 -c 'import json
a, b = json.load(open("first.json")), json.load(open("out"))
key = lambda d: sorted((s["offset"], s["function"], s["verdict"], s["use"]) for s in d["sites"])
assert key(a) == key(b)'
for flags in '-static-pie' '-static'; do
  ${CC:-cc} $flags prog.c -w -o static 2>/dev/null || continue
  run check static
  refused "a program linked with $flags" 'statically linked'
done
for flags in '-no-pie -fno-pie' '-fno-plt' '-fcf-protection=full' '-D_FORTIFY_SOURCE=2' '-D_FILE_OFFSET_BITS=64' '-Wl,-z,now'; do
  ${CC:-cc} -O2 -g -w $flags prog.c -o other || continue
  run check --format json other
  accepted "compiled with $flags"
  holds "the verdicts are the same with $flags" json '
    at("opendir", "count")["use"] == "dereferenced" and at("write", "save")["verdict"] == "none"
    and at("open", "save")["verdict"] == "all" and at("read", "fetch")["verdict"] == "some"'
done

# A library calls what it exports through its PLT: its own checks and ends count.
cat >own.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
void die(void) { abort(); }
int check_fd(int fd) { if (fd < 0) die(); return fd; }
void *xm(size_t n) { return malloc(n); }
int use(const char *n)
{
	int fd = check_fd(open(n, O_RDONLY));
	char *p = xm(10);
	if (!p)
		die();
	p[0] = 1;
	return fd + p[0];
}
C
for flags in '' '-fno-plt'; do
  ${CC:-cc} -O2 -g -w -fPIC -shared -fno-inline $flags own.c -o own.so || exit 1
  run check --format json own.so
  holds "a library's own functions check $flags" json '
    at("open", "use")["verdict"] == "all" and at("malloc", "xm")["verdict"] == "all"'
done

# A function that is nothing but a jump through the GOT is a function, and one that only a table names is reached.
cat >table.c <<'C'
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) static int my_rmdir(const char *p) { return rmdir(p); }
static int a(int fd) { write(fd, "abc", 3); return 0; }
static int b(int fd) { return my_rmdir("b") < 0; }
static const struct { const char *n; int (*f)(int); } t[] = {{"a", a}, {"b", b}};
int main(int c, char **v)
{
	for (int i = 0; i < 2; i++)
		if (!strcmp(v[1], t[i].n))
			return t[i].f(c);
	return 3;
}
C
for flags in '-fno-plt' '-no-pie -fno-pie' '-fno-plt -no-pie -fno-pie'; do
  ${CC:-cc} -O2 -g -w $flags table.c -o table || continue
  run check --format json table
  holds "a jump that is a function with $flags" json '
    at("rmdir", "my_rmdir")["in"] == "my_rmdir" and at("rmdir", "my_rmdir")["verdict"] == "all"'
  holds "functions in a table with $flags" json 'at("write", "a")["reachable"]'
done

# What a function that returns nothing leaves behind is nobody's result. Debug information tells which those are.
cat >nothing.c <<'C'
#include <unistd.h>
void drop(const char *path) { unlink(path); }
int leave(const char *path) { return unlink(path); }
struct thing { int a; };
void forget(struct thing *t) { rmdir((char *)t); }
C
${CC:-cc} -O2 -g -w -fPIC -shared nothing.c -o nothing.so || exit 1
run check --format json nothing.so
holds 'nothing is returned' json '
  at("unlink", "drop")["use"] == "ignored" and at("rmdir", "forget")["use"] == "ignored"
  and at("unlink", "leave")["use"] == "returned"'
strip -o nothing2.so nothing.so
run check --format json nothing2.so
holds '... which cannot be seen without' json '{s["use"] for s in d["sites"]} == {"returned"}'
# Where no types were recorded, a function without one may return anything.
${CC:-cc} -O2 -g1 -w -fPIC -shared nothing.c -o nothing3.so || exit 1
run check --format json nothing3.so
holds '... and not with functions and lines only' json '{s["use"] for s in d["sites"]} == {"returned"}'
cat >few.c <<'C'
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int drop(const char *path) { return unlink(path); }
__attribute__((noinline)) void *take(size_t n) { return malloc(n); }
int main(int argc, char **argv)
{
	char *p = take(argc);
	return drop(argv[0]) || !p ? 1 : p[1];
}
C
${CC:-cc} -O2 -g1 -w few.c -o few || exit 1
run check --format json few
holds 'what is returned is checked by the caller with -g1' json '
  at("unlink", "drop")["verdict"] == "all" and at("malloc", "take")["verdict"] == "all"'

# An alias whose own errors are not found has those of what was written.
cat >fortified.c <<'C'
#include <stdio.h>
int main(int c, char **v) { char b[100]; size_t n = fread(b, 1, c * 2, stdin); b[n] = 0; return b[0]; }
C
${CC:-cc} -O2 -g -w -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 fortified.c -o fortified || exit 1
run check --format json fortified
holds 'fortified fread has the errors of fread' json 'at("fread", "main")["verdict"] == "none"'

# Faults for experiments are those that the function itself is known for; what cannot fail is not shown.
cat >faults.c <<'C'
#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int c, char **v)
{
	struct in_addr a;
	fsync(c);
	unlink(v[0]);
	mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mbtowc(NULL, NULL, 0);
	inet_pton(AF_INET, "127.0.0.1", &a);
	return a.s_addr;
}
C
${CC:-cc} -O2 -g -w faults.c -o faults || exit 1
run check --scenario none faults
holds 'fsync fails with EIO' grep -q 'name="fsync" retval="-1" errno="EIO"' out
holds 'anonymous memory with ENOMEM' grep -q 'name="mmap" retval="-1" errno="ENOMEM"' out
holds 'unlink not for want of space' eval '! grep -q "name=\"unlink\".*ENOSPC" out'
cat >ties.c <<'C'
#include <stdio.h>
#include <unistd.h>
void work(int fd, char *p, FILE *f)
{
	write(fd, p, 1);
	read(fd, p, 1);
	fclose(f);
	*p = 0;
}
int main(int c, char **v) { work(c, v[0], (FILE *)v); }
C
${CC:-cc} -O2 -g -w -fno-inline ties.c -o ties || exit 1
run check --scenario none ties
holds 'a fault that stays before one that passes' grep -q 'name="write" retval="-1" errno="ENOSPC"' out
holds '... for read too' grep -q 'name="read" retval="-1" errno="EIO"' out
holds 'an errno where the code shows none' grep -q 'name="fclose" retval="-1" errno="ENOSPC"' out
run check faults
holds 'a constant address and no string cannot fail' eval '! grep -q "inet_pton\|mbtowc" out'
holds 'files are named from the working folder' grep -q '^  faults.c:8 in main ' out

# One that cannot be checked does not take the others away.
run check /etc/passwd faults
holds 'a bad program among good ones is told of' eval '[ $status = 2 ] && grep -q "not an ELF file" err'
holds '... whose results are there' grep -q "fsync's -1 is ignored" out
cat >one.c <<'C'
#include <unistd.h>
int main(int c, char **v) { return unlink(v[0]) < 0; }
C
${CC:-cc} -O2 -g -w one.c -o one || exit 1
run check one
holds 'one is one' grep -q '^one: 1 call that can fail: 1 checks all errors' out

# Whether anything was written decides what close and fclose can lose: flags in part known, what the function writes to.
cat >written.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define N __attribute__((noinline))
N int put(int fd, char *b) { return write(fd, b, 10) == 10; }
N int flags(char *p, char *b, int r) { int fd = open(p, O_WRONLY | O_CREAT | (r ? 0 : O_TRUNC), 0600); if (fd < 0) return 1; if (!put(fd, b)) puts("bad"); close(fd); return 0; }
N int merged(char *p, char *b, int r) { int fd = -1; if ((fd = open(p, O_WRONLY | O_CREAT | (r ? 0 : O_TRUNC), 0600)) == -1) goto out; while (r--) if (!put(fd, b)) break; out: if (fd != -1) close(fd); return 0; }
N int mode(char *p, char *b, char *m) { FILE *f = fopen(p, m); if (!f) return 1; if (fputs(b, f) < 0) exit(3); fclose(f); return 0; }
N int given(int fd, char *b) { if (write(fd, b, 5) != 5) exit(1); close(fd); return 0; }
N int both(char *p, char *b) { int fd = open(p, O_RDWR); if (fd < 0) return 1; if (write(fd, b, 4) != 4) exit(1); close(fd); return 0; }
N int handed(char *p, char *b) { int fd = open(p, O_RDWR); if (fd < 0) return 1; if (!put(fd, b)) exit(1); close(fd); return 0; }
N int null(char *p) { int fd = open("/dev/null", O_RDWR); if (fd < 0) return 1; if (dup2(fd, 0) < 0) return 2; close(fd); return 0; }
N int null2(char *p) { int fd = open("/dev/null", O_WRONLY); if (fd < 0) return 1; if (dup2(fd, 1) < 0) return 2; close(fd); return 0; }
N int only_read(char *p, char *b) { int fd = open(p, O_RDWR); if (fd < 0) return 1; if (read(fd, b, 4) != 4) b[0] = 0; close(fd); return 0; }
N int later(int fd, char *b) { if (read(fd, b, 4) != 4) b[0] = 0; close(fd); fd = open(b, O_RDWR); if (fd < 0 || write(fd, b, 4) != 4) exit(1); return fd; }
int main(int c, char **v)
{
	char b[20];
	return flags(v[0], b, c) + merged(v[0], b, c) + mode(v[0], b, v[1]) + given(c, b) + both(v[0], b) + handed(v[0], b)
	       + null(v[0]) + null2(v[0]) + only_read(v[0], b) + later(c, b);
}
C
for level in 0 2; do
  ${CC:-cc} -O$level -g -w written.c -o written || exit 1
  run check --function close,fclose written
  for name in flags merged mode given both handed; do
    holds "what was written is closed unchecked in $name at -O$level" grep -q "in $name " out
  done
  for name in null null2 only_read later; do
    holds "nothing was written in $name at -O$level" eval "! grep -q 'in $name ' out"
  done
done

# A function of a library that calls nothing only answers questions about its arguments.
cat >getter.c <<'C'
#include <stdlib.h>
struct thing { int kind; void *data; };
void *thing_data(struct thing *t) { return t && t->kind == 1 ? t->data : NULL; }
void *thing_make(struct thing *t) { void *p = malloc(100); return p && t ? p : NULL; }
C
cat >gets.c <<'C'
struct thing;
char *thing_data(struct thing *t);
char *thing_make(struct thing *t);
int main(int c, char **v) { return *thing_data((struct thing *)v) + *thing_make((struct thing *)v); }
C
${CC:-cc} -O2 -shared -fPIC -Wl,-soname,libgetter.so getter.c -o libgetter.so || exit 1
${CC:-cc} -O2 -g gets.c ./libgetter.so -o gets || exit 1
LD_LIBRARY_PATH=. run check --format json gets
holds 'what calls nothing does not fail for want of something' json '
  at("thing_data", "main")["quiet"] and not at("thing_make", "main")["quiet"]
  and at("thing_data", "main")["use"] == at("thing_make", "main")["use"] == "dereferenced"'

# What was asked before, and answered, need not be asked whether it is there again.
cat >again.c <<'C'
#include <stdlib.h>
#include <string.h>
size_t tested(void) { return getenv("HOME") ? strlen(getenv("HOME")) : 0; }
size_t given(const char *n) { if (!getenv(n)) abort(); return strlen(getenv(n)); }
size_t other(void) { return getenv("HOME") ? strlen(getenv("PATH")) : 0; }
size_t behind(int c) { if (c && !getenv("HOME")) abort(); return strlen(getenv("HOME")); }
size_t failed(void) { return getenv("HOME") ? 0 : strlen(getenv("HOME")); }
size_t removed(int c) { if (!getenv("HOME")) abort(); if (c) unsetenv("HOME"); return strlen(getenv("HOME")); }
size_t cleared(void) { if (!getenv("HOME")) abort(); clearenv(); return strlen(getenv("HOME")); }
size_t removed2(void) { if (!getenv("HOME")) abort(); unsetenv("PATH"); return strlen(getenv("HOME")); }
size_t before(void) { unsetenv("X"); clearenv(); return getenv("HOME") ? strlen(getenv("HOME")) : 0; }
size_t changed(int c) { if (!getenv("HOME")) { unsetenv("HOME"); abort(); } setenv("HOME", "", c); return strlen(getenv("HOME")); }
size_t members(char **v) { return getenv(v[1]) ? strlen(getenv(v[2])) : 0; }
int main(int c, char **v) {
  return (int)(tested() + given(*v) + other() + behind(c) + failed() + removed(c) + cleared() + removed2() + before() +
               changed(c) + members(v));
}
C
cat >again2.c <<'C'
#include <pwd.h>
extern char *next(void);
int same(void) { char *n = next(); if (!getpwnam(n)) return 0; return (int)getpwnam(n)->pw_uid; }
int new(void) { char *n = next(); if (!getpwnam(n)) return 0; n = next(); return (int)getpwnam(n)->pw_uid; }
int main(void) { return same() + new(); }
C
cat >again3.c <<'C'
char *next(void) { static char *n[] = {"a", "b"}; static int i; return n[i++ % 2]; }
C
${CC:-cc} -O2 -g -fno-inline again2.c again3.c -o again2 || exit 1
run check --format json --verdict none again2
holds 'a register that holds the same asks the same' json '
  at("getpwnam", "same")["quiet"] and not at("getpwnam", "new")["quiet"]'
${CC:-cc} -O0 -g again.c -o again || exit 1
run check --format json --verdict none again
holds 'what was answered before is not shown' json '
  all(at("getenv", f)["use"] == "dereferenced" for f in ("tested", "given", "other", "behind", "failed", "removed"))
  and all(at("getenv", f)["quiet"] for f in ("tested", "given", "removed2", "before", "changed"))
  and not any(at("getenv", f)["quiet"] for f in ("other", "behind", "failed", "removed", "cleared", "members"))'

# The current time is a date; others may be none.
cat >dates.c <<'C'
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
int result(void) { time_t t = time(NULL); return localtime(&t)->tm_year; }
int behind(void) { time_t t; time(&t); return localtime(&t)->tm_year; }
int input(void) { time_t t; return scanf("%ld", &t) == 1 ? localtime(&t)->tm_year : 0; }
int either(long n) { time_t t = time(NULL); if (n) t = n; return gmtime(&t)->tm_year; }
int clock_of(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return localtime(&t.tv_sec)->tm_year; }
int twice(long n) { time_t t = n; return localtime(&t) ? localtime(&t)->tm_year : 0; }
int stored(long n, long k) { time_t t = n; if (!localtime(&t)) return 0; t = k; return localtime(&t)->tm_year; }
int filled(long n) { time_t t = n; if (!localtime(&t)) return 0; return scanf("%ld", &t) + localtime(&t)->tm_year; }
int two(long n, long k) { time_t t = n, u = k; return localtime(&t) ? localtime(&u)->tm_year : 0; }
int behind_it(time_t *t, long k) { if (!localtime(t)) return 0; *t = k; return localtime(t)->tm_year; }
time_t all;
int fixed(long k) { if (!localtime(&all)) return 0; all = k; return localtime(&all)->tm_year; }
int kept(void) { all = time(NULL); return localtime(&all)->tm_year; }
int kept_behind(void) { time(&all); return localtime(&all)->tm_year; }
int kept_other(long k) { all = time(NULL); all = k; return localtime(&all)->tm_year; }
int kept_later(long k) { all = time(NULL) * k; return localtime(&all)->tm_year; }
int pointer(const time_t *t) { return localtime(t) ? localtime(t)->tm_year : 0; }
int narrow(const unsigned *n) { time_t t = *n; return localtime(&t)->tm_year; }
int sign(const int *n) { time_t t = n[1]; return localtime(&t)->tm_year; }
int preset(void) { time_t t = 0; return scanf("%ld", &t) < 0 ? 0 : localtime(&t)->tm_year; }
int wide(const long *n) { time_t t = n[1]; return localtime(&t)->tm_year; }
int file(const char *p) { struct stat st; return stat(p, &st) < 0 ? 0 : localtime(&st.st_mtime)->tm_year; }
int size(const char *p) { struct stat st; return stat(p, &st) < 0 ? 0 : localtime(&st.st_size)->tm_year; }
int copied(const char *p) {
  struct stat st;
  if (stat(p, &st) < 0) return 0;
  time_t t = st.st_ctime;
  return localtime(&t)->tm_year;
}
int several(const unsigned *n, int k) {
  time_t t;
  int sum = 0;
  for (int i = 0; i < k; i++) {
    t = n[i];
    sum += localtime(&t)->tm_year;
  }
  return sum;
}
int main(int c, char **v) {
  time_t t = c;
  return result() + behind() + input() + either(c) + clock_of() + twice(c) + stored(c, **v) + filled(c) + two(c, **v) +
         behind_it(&t, **v) + fixed(c) + pointer(&t) + narrow((void *)v) + sign((void *)v) + preset() + wide((void *)v) +
         file(*v) + size(*v) + copied(*v) + several((void *)v, c) + kept() + kept_behind() + kept_other(c) + kept_later(c);
}
C
for level in 0 2; do
  ${CC:-cc} -O$level -g -fno-inline dates.c -o dates || exit 1
  run check --format json --verdict none dates
  holds "localtime of 32 bits and of a file does not fail at -O$level" json '
    all(at("localtime", f)["quiet"] for f in ("narrow", "sign", "file", "copied", "several"))
    and not any(at("localtime", f)["quiet"] for f in ("preset", "wide", "size"))'
  holds "localtime of now does not fail at -O$level" json '
    all(at("localtime", f)["use"] == "dereferenced" for f in ("result", "behind", "input"))
    and all(at("localtime", f)["quiet"] for f in ("result", "behind", "clock_of", "twice", "pointer"))
    and not any(at("localtime", f)["quiet"] for f in ("stored", "filled", "two", "behind_it", "fixed"))
    and not at("localtime", "input")["quiet"] and not at("gmtime", "either")["quiet"]'
  holds "so it is with a variable of the program at -O$level" json '
    all(at("localtime", f)["quiet"] for f in ("kept", "kept_behind"))
    and not any(at("localtime", f)["quiet"] for f in ("kept_other", "kept_later"))'
done

# A temporary file is open for both; who has not written to it loses nothing.
cat >temporary.c <<'C'
#include <stdio.h>
int unwritten(char *to) { FILE *f = tmpfile(); if (!f || !fread(to, 1, 8, f)) return -1; fclose(f); return 0; }
int written(const char *s) { FILE *f = tmpfile(); if (!f || fputs(s, f) < 0) return -1; fclose(f); return 0; }
int main(int c, char **v) { return unwritten(v[0]) + written(v[c - 1]); }
C
${CC:-cc} -O2 -g -fno-inline temporary.c -o temporary || exit 1
run check --format json --verdict none temporary
holds 'a temporary file that nothing was written to is closed' json '
  at("fclose", "unwritten")["quiet"] and not at("fclose", "written")["quiet"]'

# A failure that the next call notices is noticed.
cat >next.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
int refused(const char *p, struct stat *st) { int fd = open(p, O_RDONLY), r = fstat(fd, st); close(fd); return r < 0; }
FILE *stream(const char *p) { FILE *f = fdopen(open(p, O_RDONLY), "r"); if (!f) perror(p); return f; }
char *made(const char *p) { int fd = open(p, O_RDONLY); char *m = malloc((size_t)fd + 1); if (m) m[0] = 1; return m; }
int ignored(const char *p) { struct stat st; int fd = open(p, O_RDONLY); fstat(fd, &st); close(fd); return st.st_mode; }
int maybe(const char *p, int c) {
  struct stat st; char b[9];
  int fd = open(p, O_RDONLY);
  if (c && fstat(fd, &st) < 0) return -1;
  return read(fd, b, 9) < 0 ? 0 : b[0];
}
int branch(const char *p, int c) {
  struct stat st;
  int fd = open(p, O_RDONLY);
  if (c) puts(p);
  return fstat(fd, &st) < 0 ? -1 : (int)st.st_size;
}
int main(int c, char **v) {
  struct stat s;
  return c + refused(v[1], &s) + !stream(v[1]) + ignored(v[1]) + !made(v[1]) + maybe(v[1], c) + branch(v[1], c);
}
C
for level in 0 2; do
  ${CC:-cc} -O$level -g -fno-inline next.c -o next || exit 1
  run check --format json --verdict none next
  holds "what the next call notices is not shown at -O$level" json '
    all(at("open", f)["verdict"] == "none" and at("open", f)["quiet"] for f in ("refused", "stream", "branch"))
    and not any(at("open", f)["quiet"] for f in ("ignored", "made", "maybe"))'
done

# What a call would have set may have a value that the caller gave it before.
cat >preset.c <<'C'
#include <stdio.h>
int set(const char *s) { int a = -1, b = 0; sscanf(s, "%d %d", &a, &b); return a + b; }
int part(const char *s) { int a = -1, b; sscanf(s, "%d %d", &a, &b); return a + b; }
int unset(const char *s) { int a; sscanf(s, "%d", &a); return a; }
int main(int c, char **v) { return c + set(v[1]) + part(v[1]) + unset(v[1]); }
C
for level in 0 2; do
  ${CC:-cc} -O$level -g -w -fno-inline preset.c -o preset || exit 1
  run check --format json --verdict none preset
  holds "outputs that were set before are not shown at -O$level" json '
    at("sscanf", "set")["verdict"] == "none" and at("sscanf", "set")["quiet"]
    and not any(at("sscanf", f)["quiet"] for f in ("part", "unset"))'
done

# Functions of libc that its headers inline are shown as they were written.
cat >inlined.c <<'C'
#include <stdio.h>
int main(void) { int c = getchar(); return c == EOF ? 1 : putchar(c) == EOF; }
C
${CC:-cc} -O2 -g inlined.c -o inlined || exit 1
run check --format json --verdict all inlined
holds 'functions of headers have the names that were written' json '
  [at(f, "main")["reason"] for f in ("getchar", "putchar")] ==
  ["all errors of getchar are checked", "all errors of putchar are checked"]'

# What was written is at stake when a stream or a descriptor is closed, unless it was brought out and that was looked at,
# or something has failed already; the terminal keeps nothing.
cat >ends.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
FILE *out(const char *n) { FILE *f = fopen(n, "w"); if (!f) _exit(1); return f; }
void plain(const char *n) { FILE *f = out(n); unlink(n); fputs(n, f); fclose(f); }
int flushed(const char *n) { FILE *f = out(n); fputs(n, f); if (fflush(f)) return -1; fclose(f); return 0; }
int asked(const char *n) { FILE *f = out(n); fputs(n, f); fflush(f); if (ferror(f)) _exit(1); fclose(f); return 0; }
int more(const char *n) { FILE *f = out(n); if (fflush(f)) return -1; fputs(n, f); fclose(f); return 0; }
int unseen(const char *n) { FILE *f = out(n); fputs(n, f); fflush(f); fclose(f); return 0; }
int perhaps(const char *n) { FILE *f = out(n); fputs(n, f); if (*n && fflush(f)) return -1; fclose(f); return 0; }
int synced(const char *n) {
  int fd = creat(n, 0600);
  if (fd < 0 || write(fd, n, 3) != 3 || fsync(fd) < 0) return -1;
  close(fd);
  return 0;
}
int failed(const char *n) {
  FILE *f = out(n);
  if (fputs(n, f) < 0) { fclose(f); return -1; }
  return fclose(f);
}
int told(const char *n) {
  FILE *f = out(n);
  fputs(n, f);
  if (ferror(f)) { fclose(f); unlink(n); return -1; }
  return fclose(f);
}
void end_if(int bad) { if (bad) _exit(1); }
int passed(const char *n) { FILE *f = out(n); fputs(n, f); fflush(f); end_if(ferror(f)); return 0; }
int left(const char *n) { FILE *f = out(n); fputs(n, f); fflush(f); _exit(ferror(f)); }
int printed(const char *n) { FILE *f = out(n); fputs(n, f); return printf("%d", ferror(f)) < 0; }
int ended(const char *n) {
  FILE *f = out(n);
  for (int c; (c = getchar()) != EOF;) putc(c, f);
  fclose(f);
  return 0;
}
int made(const char *n) {
  if (rename("a", n) < 0) { FILE *f = out(n); fputs("none", f); fclose(f); return 1; }
  return 0;
}
void terminal(const char *n) { FILE *f = fopen("/dev/tty", "w"); if (f) { fputs(n, f); fclose(f); } }
int main(int c, char **v)
{
  plain(*v); terminal(*v);
  return flushed(*v) + asked(*v) + more(*v) + unseen(*v) + perhaps(*v) + synced(*v) + failed(*v) + told(*v) + ended(*v)
    + made(*v) + passed(*v) + printed(*v) + (c > 2 ? left(*v) : 0);
}
C
for level in 0 2; do
  ${CC:-cc} -O$level -g -w -fno-inline ends.c -o ends || exit 1
  run check --format json --verdict none ends
  holds "an end that tells nothing new is not shown at -O$level" json '
    all(s["quiet"] for f in ("flushed", "asked", "failed", "told", "terminal")
        for s in d["sites"] if (s["function"], s["in"], s["use"]) == ("fclose", f, "ignored")) and at("close", "synced")["quiet"]
    and at("unlink", "told")["quiet"]'
  holds "whoever is given the answer of ferror may look at it, but not who prints it, at -O$level" json '
    sorted({s["in"] for s in d["sites"] if s["function"] == "fputs" and s["in"] in ("passed", "left", "printed")})
    == ["printed"]'
  holds "an end that may tell of lost data is shown at -O$level" json '
    not any(at("fclose", f)["quiet"] for f in ("plain", "more", "unseen", "perhaps", "ended", "made"))
    and not at("unlink", "plain")["quiet"]'
done

# Who reads what is stored in an object on the heap is not known: no finding, and no check either.
cat >stored.c <<'C'
#include <stdlib.h>
#include <unistd.h>
struct s { char *name; long rc; struct s *next; } *head;
void fill(const char *p) { struct s *n = head->next; n->name = malloc(100); n->rc = write(3, p, 100); }
int told(void) { return head->next->rc < 0 || !head->next->name; }
int main(int c, char **v) { fill(v[1]); return told(); }
C
${CC:-cc} -O2 -g -w -fno-inline stored.c -o stored || exit 1
run check --format json stored
holds 'what is stored in an object is not shown' json '
  all(at(f, "fill")["verdict"] == "none" and at(f, "fill")["quiet"] for f in ("malloc", "write"))
  and "not followed" in at("write", "fill")["reason"]'

# Two calls of one macro are two calls.
cat >macro.c <<'C'
#include <stdlib.h>
#include <unistd.h>
#define BOTH(a, b, p) do { write(a, p, 3); if (write(b, p, 3) != 3) abort(); } while (0)
int main(int c, char **v)
{
	BOTH(c, c + 1, v[0]);
	return 0;
}
C
for flags in '' '-gno-column-info'; do
  ${CC:-cc} -O2 -g -w $flags macro.c -o macro 2>/dev/null || continue
  run check --format json macro
  holds "two calls of one macro $flags" json 'sorted(s["verdict"] for s in d["sites"]) == ["all", "none"]'
done

# A library that is not there.
echo 'int gone(int x) { return x < 0 ? -1 : 0; }' >gone.c
echo 'int gone(int); int main(int c, char **v) { return gone(c); }' >needs.c
${CC:-cc} -shared -fPIC -Wl,-soname,libgone.so.1 gone.c -o libgone.so.1 || exit 1
${CC:-cc} needs.c ./libgone.so.1 -o needs || exit 1
run check needs
accepted 'a library is missing'
holds '... and it says so' grep -q 'libgone.so.1 was not found.*LD_LIBRARY_PATH' out
run check --format json needs
holds '... in JSON too' json 'd["missing_libraries"] == ["libgone.so.1"]'
run check --fail-on none needs
holds '... and is no success with --fail-on' [ "$status" = 2 ]
holds '... for which there is a message' grep -q '^murphy: needs: needs libgone.so.1, which was not found' err
LD_LIBRARY_PATH=. run check --fail-on none --format json needs
accepted 'with LD_LIBRARY_PATH it is found'
holds '... and none is missing' json 'd["missing_libraries"] == []'

run check prog
accepted 'text'
holds 'it says why' grep -q "prog.c:11 in .*opendir's NULL goes to readdir unchecked" out
holds 'a close after reading is not shown' bash -c '! grep -q "prog.c:48" out'
run check --all prog
holds '... but with --all' grep -q "prog.c:48.*close's -1 is ignored" out
run check --verdict all prog
holds 'all' grep -q "malloc are checked" out
holds '... and nothing else' bash -c '! grep -q opendir out'
cat >skips.c <<'C'
#include <fcntl.h>
#include <unistd.h>
int main(int n, char **v) { int fd = open(v[n - 1], O_RDONLY); if (fd != -1) close(fd); return 0; }
C
${CC:-cc} -O2 -g skips.c -o skips || exit 1
run check --recovery --verdict all skips
holds 'a failure that has no code of its own' grep -q '^      no block of its own runs when it fails' out
run check --recovery --verdict all prog
holds 'recovery code with lines' grep -qE '^      0x[0-9a-f]+-0x[0-9a-f]+  .*prog.c:29' out
run check --function opendir,write --format json prog
holds 'two functions' json '{s["function"] for s in d["sites"]} == {"opendir", "write"}'
cat >shared.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int c, char **v)
{
	char *p = malloc(100);
	int fd = -1;
	if (!p)
		goto failed;
	fd = open(v[1], O_RDONLY);
	if (fd < 0)
		goto failed;
	p[0] = 1;
	return p[0];
failed:
	puts(v[0]);
	close(fd);
	return 7;
}
C
${CC:-cc} -O1 -g -w shared.c -o shared || exit 1
run check --recovery --format json shared
holds 'recovery code that two sites share' json 'at("malloc", "main")["recovery_blocks"] >= 2'
cp out shared.json
run check --recovery --format json --function malloc shared
holds '... does not depend on which is asked for' python3 -c 'import json
all = {s["offset"]: s["recovery"] for s in json.load(open("shared.json"))["sites"]}
one = json.load(open("out"))["sites"]
assert [s["function"] for s in one] == ["malloc"] and one[0]["recovery"] == all[one[0]["offset"]], (one, all)'
cat >bare.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define STEP(n, next) static __attribute__((noinline)) int step##n(int x) { return next(x + n) + 1; }
static __attribute__((noinline)) int last(int x) { return fsync(x), x; }
STEP(9, last) STEP(8, step9) STEP(7, step8) STEP(6, step7) STEP(5, step6)
STEP(4, step5) STEP(3, step4) STEP(2, step3) STEP(1, step2)
static int by_size(const void *a, const void *b) { return write(1, a, 1), 0; }
static void at_start(void) { chdir("/"); }
__attribute__((section(".init_array"), used)) static void (*start)(void) = at_start;
int main(int c, char **v)
{
	v[0] = malloc(strlen(v[0]));
	v[0][0] = 1;
	qsort(v, c, sizeof *v, by_size);
	return step1(c);
}
C
for link in -pie -no-pie; do
	flags="-O2 -s -w -fno-asynchronous-unwind-tables -fno-unwind-tables"
	[ $link = -no-pie ] && flags="$flags -fno-pie" || flags="$flags -fPIE"
	${CC:-cc} $flags $link bare.c -o bare && objcopy -R .eh_frame -R .eh_frame_hdr bare || exit 1
	run check --all --format json bare
	holds "functions that no table tells of ($link)" json \
		'{s["function"] for s in d["sites"] if s["verdict"] == "none"} >= {"malloc", "write", "fsync", "chdir"}'
done
cat >address.c <<'C'
#include <stdlib.h>
void *(*volatile taken)(size_t) = malloc;
int main(void) { return taken == 0; }
C
${CC:-cc} -O1 address.c -o address || exit 1
run check address
accepted 'no call of what can fail'
holds '... it says so' grep -q 'no call was found of the 1 function that can fail' out
run check --fail-on none address
holds '... which is no proof that all is well' grep -q 'no call of any was found' err
holds '... so that it ends with 2' [ "$status" = 2 ]
run check --function malloc,clsoe --format json bare
holds 'a function that the program does not import' grep -q "bare: does not import a function 'clsoe'" err
holds '... the others are told' json '[s["function"] for s in d["sites"]] == ["malloc"]'
run check --function malloc,clsoe bare address
holds '... of several programs' grep -q "no program given imports a function 'clsoe'" err
run check --function malloc,clsoe --fail-on none bare
holds '... is no proof that all is well' [ "$status" = 2 ]
run check --format json bare nowhere
holds 'JSON of several programs is an array, even if one is not there' python3 -c 'import json
assert [d["program"] for d in json.load(open("out"))] == ["bare"]'
cat >tail.c <<'C'
#include <unistd.h>
void __attribute__((noinline)) sync_it(int fd) { fdatasync(fd); }
int main(int c, char **v) { sync_it(c); fsync(c); return 0; }
C
${CC:-cc} -O2 -w tail.c -o tail || exit 1
run check --scenario none tail
holds 'a jump is no frame of a scenario' bash -c 'grep -q "jumps to fdatasync" out && ! grep -q "name=.fdatasync" out'
holds '... a call is one' grep -q 'name="fsync"' out
cp out tail.xml
run run tail.xml -- ./tail
holds '... and it can be run' [ "$status" -lt 2 ]
{
	printf '#include <fcntl.h>\n#include <unistd.h>\n#include <stdlib.h>\nint main(int c, char **v) {\n'
	printf 'int fd = open(v[1], O_RDWR);\nif (fd < 0) return 1;\n'
	for i in $(seq 520); do echo "srand($i);"; done
	printf 'if (write(fd, v[0], 1) != 1) return 1;\nclose(fd);\nreturn 0; }\n'
} >long.c
${CC:-cc} -O1 -g -w long.c -o long || exit 1
run check long
holds 'what was not looked at may have written' grep -q "close's -1 is ignored" out
cat >callers.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
APART int two(int fd, int x)
{
	int r = fsync(fd);
	if (x) {
		puts("x");
		return r;
	}
	return r;
}
APART int good(int fd) { return two(fd, fd) < 0 ? (puts("bad"), 1) : 0; }
APART void bad(int fd) { two(fd, fd + 1); puts("done"); }
int main(int c, char **v)
{
	char *a = malloc(c), *b, *d;
	if (!a) goto fail;
	b = malloc(c + 1);
	if (!b) goto fail;
	d = malloc(c + 2);
	if (!d) goto fail;
	bad(c);
	return good(c) + a[0] + b[0] + d[0];
fail:
	write(2, "no memory", 9);
	return 2;
}
C
${CC:-cc} -O0 -g -w callers.c -o callers || exit 1
run check --all callers
holds 'each caller counts once' grep -q "fsync's -1 is returned, and 1 of 2 callers do not check" out
run check --recovery --verdict all --function malloc callers
holds 'a block that several checks lead to counts once' python3 -c 'import re
text = open("out").read()
blocks = re.findall(r"^      (0x\S+)", text, re.M)
assert len(blocks) > len(set(blocks)) and " %d block" % len(set(blocks)) in text, text'
run check --verdict all callers
holds 'findings that are not asked for are not counted as not shown' bash -c '! grep -q "little weight" out'
cat >loops.c <<'C'
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int copy(int in, int out)
{
	char b[4096];
	ssize_t n;
	while ((n = read(in, b, sizeof b)) > 0)
		if (write(out, b, n) != n) {
			perror("write"); /* 12 */
			return 1;
		}
	puts("copied"); /* 15 */
	return 0;
}
int head(int in)
{
	int word[2];
	if (read(in, word, sizeof word) != sizeof word) {
		puts("no head"); /* 22 */
		return -1;
	}
	return word[1];
}
int list(const char *path)
{
	DIR *d = opendir(path);
	if (!d) {
		perror(path); /* 31 */
		return -1;
	}
	errno = 0;
	while (readdir(d))
		errno = 0;
	if (errno) {
		perror(path); /* 38 */
		return -1;
	}
	puts("listed"); /* 41 */
	return 0;
}
int home(FILE *f)
{
	char line[100];
	const char *h = getenv("HOME");
	if (!h)
		h = "/"; /* 49 */
	while (fgets(line, sizeof line, f))
		puts(h);
	puts("read"); /* 52 */
	if (!isatty(1))
		puts("no terminal"); /* 54 */
	return 0;
}
int main(int c, char **v)
{
	return copy(0, 1) + head(3) + list(v[1]) + home(stdin);
}
C
${CC:-cc} -O1 -g -w loops.c -o loops || exit 1
run check --recovery --all --verdict all,some,none loops
holds 'recovery code runs only if a check says failure: the end of the input and answers are none' python3 -c 'import re
blocks = re.findall(r"^      0x.*loops.c:(\d+)(?:-(\d+))?$", open("out").read(), re.M)
lines = {n for first, last in blocks for n in range(int(first), int(last or first) + 1)}
assert lines >= {12, 22, 31, 38} and not lines & {15, 41, 49, 52, 54}, sorted(lines)'

# A wrapper hands the error on: what runs only then is in the caller.
cat >wrapper.c <<'C'
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
static __attribute__((noinline)) long fetch(int fd, void *p, long n)
{
	long k;
	do
		k = read(fd, p, n);
	while (k < 0 && errno == EINTR);
	return k;
}
static __attribute__((noinline)) void drop(int fd)
{
	long k;
	char c;
	do
		k = fetch(fd, &c, 1);
	while (k < 0 && errno == EAGAIN);
}
int main(int c, char **v)
{
	if (fetch(c, v[0], 1) < 0) {
		puts("failed");
		return 1;
	}
	drop(c);
	return 0;
}
C
${CC:-cc} -O1 -g -w wrapper.c -o wrapper || exit 1
run check --recovery --verdict all,some --all wrapper
holds 'recovery code in a caller' grep -qE '^      0x[0-9a-f]+-0x[0-9a-f]+  .*wrapper.c:2[34]' out
holds 'a caller that knows one errno only does not check' grep -q "wrapper.c:8 in fetch .*callers do not check\|wrapper.c:8 in fetch .*taken for success" out

# Nothing is known of a function that leaves behind what its last call returned.
cat >keep.c <<'C'
static char *slots[8];
__attribute__((noinline)) void *find(const char *name)
{
	__asm__ volatile("");
	for (int i = 0; i < 8; i++)
		if (slots[i] && *slots[i] == *name)
			return slots[i];
	return 0;
}
void keep(const char *name)
{
	slots[*name & 7] = (char *)name;
	find(name);
}
C
cat >keeper.c <<'C'
void keep(const char *), *find(const char *);
int main(int c, char **v)
{
	keep(v[0]);
	keep(v[1]);
	return !find(v[0]);
}
C
${CC:-cc} -O2 -fPIC -shared -fno-semantic-interposition -w keep.c -o libkeep.so &&
  ${CC:-cc} -O2 -w keeper.c -L. -lkeep -Wl,-rpath,"$PWD" -o keeper || exit 1
run check --all --verdict none,unknown keeper
holds 'a function that may return nothing is no finding' grep -q 'keep may return nothing' out

# On a terminal, lines are wrapped to its width.
cat >wide.py <<'PY'
import fcntl, os, pty, struct, subprocess, sys, termios
main, end = pty.openpty()
fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 80, 0, 0))
murphy = subprocess.Popen([sys.argv[1], "check", "--all", "prog"], stdout=end, stderr=subprocess.DEVNULL)
os.close(end)
text = b""
while True:
    try:
        more = os.read(main, 65536)
    except OSError:
        break
    if not more:
        break
    text += more
murphy.wait()
import re
lines = re.sub(r"\x1b\[[0-9;]*[mK]", "", text.decode()).replace("\r", "").split("\n")
assert any("opendir" in line for line in lines), lines
assert max(map(len, lines)) <= 80, [line for line in lines if len(line) > 80]
PY
holds 'lines of 80 columns on a terminal' python3 wide.py "$MURPHY"

run check --function opendri prog
refused 'a function that is not there' "did you mean 'opendir'?"
run check --verdict nonne prog
refused 'a verdict that is none' 'none, some, all or unknown'
run check --verdict unknown --format json prog
accepted 'unknown functions'

run check --scenario none prog
accepted 'a scenario'
holds 'it is XML, as in the paper' python3 -c 'import xml.etree.ElementTree as E
root = E.parse("out").getroot()
assert root.tag == "scenario"
triggers = {t.get("id"): t for t in root.findall("trigger")}
assert all(t.get("class") == "CallStackTrigger" for t in triggers.values())
for f in root.findall("function"):
    t = triggers[f.find("reftrigger").get("ref")]
    assert t.find("args/frame/module").text == "prog" and t.find("args/frame/offset").text.startswith("0x")
names = {f.get("name"): f for f in root.findall("function")}
assert names["opendir"].get("retval") == "0" and names["opendir"].get("errno")
assert names["write"].get("retval") == "-1" and "read" not in names'
run check --scenario some prog
holds 'the one for some' grep -q '<function name="read" retval="-1" errno="E' out
run check --scenario none --format json prog
refused 'a scenario is no JSON' 'leave out --format'

run check --format sarif prog
accepted 'SARIF'
holds 'it is as the schema says' python3 "$MURPHY_SOURCE/tests/check/sarif.py" out
holds 'files below the working folder are relative to it' python3 -c 'import json, os
run = json.load(open("out"))["runs"][0]
base = run["originalUriBaseIds"]["WORKDIR"]["uri"]
assert base == "file://" + os.getcwd() + "/", base
at = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in run["results"]]
assert {"uri": "prog.c", "uriBaseId": "WORKDIR"} in at, at'
mkdir elsewhere && cd elsewhere
"$MURPHY" check --format sarif ../prog >../out
cd ..
holds 'others are absolute' python3 -c 'import json, os
run = json.load(open("out"))["runs"][0]
at = [r["locations"][0]["physicalLocation"]["artifactLocation"] for r in run["results"]]
assert {"uri": "file://" + os.getcwd() + "/prog.c"} in at, at'
run check --format sarif stripped
holds 'so it is without lines' python3 "$MURPHY_SOURCE/tests/check/sarif.py" out

run check --fail-on none prog
holds 'findings make it fail if asked to' [ "$status" = 1 ]
run check --function malloc --fail-on some prog
holds 'no findings do not' [ "$status" = 0 ]
run check --function read --fail-on none prog
holds 'some is not none' [ "$status" = 0 ]
run check --function read --fail-on some prog
holds 'some is some' [ "$status" = 1 ]
run check --function read --verdict none --fail-on some prog
holds 'what --verdict leaves out does not count' [ "$status" = 0 ]
run check --format baseline -o accepted prog
accepted 'a baseline'
run check --baseline accepted --fail-on some --all prog
holds 'what is in it does not fail' [ "$status" = 0 ]
holds '... and is counted' grep -q 'accepted by the baseline' out
sed -i 's/int main/__attribute__((noinline)) int more(int fd) { fsync(fd); return 0; }\nint main/; s/fetch(0,/more(1);\n\tfetch(0,/' prog.c
${CC:-cc} -O2 -g -w prog.c -o changed
sed 's/\tprog\t/\tchanged\t/' accepted >accepted2
run check --baseline accepted2 --fail-on none changed
holds 'what is new does' [ "$status" = 1 ]
holds '... alone' bash -c '[ "$(grep -c "is ignored\|goes to" out)" = 1 ] && grep -q fsync out'
sed -i 's/fsync(fd);/fsync(fd); \/* murphy: ignore *\//' prog.c
${CC:-cc} -O2 -g -w prog.c -o changed
run check --baseline accepted2 --fail-on none changed
holds 'a comment accepts it' [ "$status" = 0 ]
run check --baseline accepted2 --function opendir changed
holds 'other functions are not missed' bash -c '! grep -q "no longer there" out'
printf '1\tgone\tnone\tchanged\tmain\tprog.c\n' >>accepted2
run check --baseline accepted2 changed
holds 'what is gone is counted' grep -q '^  1 of the baseline is no longer there' out
echo nonsense >bad
run check --baseline bad prog
refused 'a baseline with a mistake' 'bad:1: '
run check --baseline nowhere prog
refused 'a baseline that is not there' 'nowhere'

cat >twice.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static inline __attribute__((always_inline)) void flush(int fd) { fsync(fd); }
int a(int fd) { flush(fd); return 1; }
int b(int fd) { flush(fd); return 2; }
pthread_t t;
int main(int argc, char **argv) { pthread_create(&t, 0, (void *)a, argv); return a(argc) + b(argc); }
C
${CC:-cc} -O1 -g -w twice.c -o twice
run check --all twice
holds 'copies of a line are one line' bash -c '
  grep -c "twice.c:4 " out | grep -qx 1 && grep -q "twice.c:4 .*fsync.* ([0-9]* times in the code)" out &&
  grep -q "^none: .* ([0-9]* in [0-9]* lines*)" out'
holds 'several values are, not is' bash -c '! grep -q "more is\|, [0-9]* is" out'
run check --format json twice
holds 'an inlined function has no offset' json '
  all((s["in_offset"] is None) == bool(s["inlined"]) for s in d["sites"])
  and all(s["missing"] == sorted(s["missing"]) for s in d["sites"])'
holds 'JSON has all copies' json 'sum(s["function"] == "fsync" for s in d["sites"]) >= 2'
run check --all --recovery twice
holds 'two copies of a line are told apart where recovery code is shown' bash -c '
  grep -q "inlined at .*twice.c:5 in a)" out && grep -q "inlined at .*twice.c:6 in b[,)]" out'
holds 'a body that is inlined wherever it is called is not run' bash -c '! grep -q "twice.c:6 in b)" out'
run check --scenario none twice prog twice
holds 'triggers have names of their own' python3 -c 'import xml.etree.ElementTree as E
root = E.parse("out").getroot()
ids = [t.get("id") for t in root.findall("trigger")]
assert len(ids) == len(set(ids)) and len(ids) > 3
assert all(f.get("errno") is None and f.get("retval") == "11" for f in root.findall("function[@name=\"pthread_create\"]"))
assert {f.find("reftrigger").get("ref") for f in root.findall("function")} == set(ids)'
run check --format sarif --all twice prog twice
holds 'SARIF of several programs is as the schema says' python3 "$MURPHY_SOURCE/tests/check/sarif.py" out
cp twice "$(printf 'ev\033[31mil')"
run check "$(printf 'ev\033[31mil')"
holds 'names cannot write to the terminal' bash -c 'grep -qF "ev\x1b[31mil:" out && ! grep -q "$(printf "\033")" out'

cat >open.xml <<'X'
<profile><function name="opendir"></function></profile>
X
run check --profile open.xml --format json --function opendir --verdict unknown prog
accepted 'a profile that says that opendir cannot fail'
holds 'it is no finding then' json '[s["verdict"] for s in d["sites"]] == ["unknown"]'

mkdir bin && cp prog bin/found-by-name
PATH=$PWD/bin:$PATH run check --format json found-by-name
accepted 'a program by name'
holds '... is the one that a shell would run' json 'd["program"].endswith("/bin/found-by-name")'
run check found-by-name
refused 'a name that is nowhere' 'found-by-name: does not exist'
printf '#!/usr/bin/env -S X=1 found-by-name -v\n' >script
PATH=$PWD/bin:$PATH run check script
refused 'a script' "is a script for found-by-name (check that instead: murphy check $PWD/bin/found-by-name)"
printf '#! /bin/sh -e\n' >script
run check ./script
refused 'a script for a shell' 'script: is a script for /bin/sh (check that instead: murphy check /bin/sh)'

objcopy --only-keep-debug prog prog.debug && strip -o apart prog && objcopy --add-gnu-debuglink=prog.debug apart || exit 1
run check --format json apart
holds 'lines of a separate file' json 'at("opendir", "count")["line"] == 11'

run check prog stripped
accepted 'two programs'
holds 'both are there' bash -c 'grep -q "^prog:" out && grep -q "^stripped:" out'
run check --format json prog stripped
holds 'as a list in JSON' json '[p["program"] for p in d] == ["prog", "stripped"]'

# What returns nothing, or ends the program instead of failing, has no errors to check.
echo 'void *thing; void *g_malloc(unsigned long n) { return n ? &thing : 0; }' >ends.c
echo '#include <stdio.h>
int *g_malloc(unsigned long);
int main(int c, char **v) { (void)v; setlinebuf(stdout); *g_malloc((unsigned long)c) = 1; return 0; }' >calls_ends.c
cc -shared -fPIC -o libends.so ends.c && cc -o calls_ends calls_ends.c ./libends.so || exit 1
"$MURPHY" check --format json ./calls_ends >out
last=$(cat out)
holds 'no finding for a function that does not fail' json '[s for s in d["sites"] if s["verdict"] != "all"] == []'

# What is left in a register that is no argument of the next function is not given to it.
echo '.text
.globl left; .type left, @function; left: .cfi_startproc; push %rbx; mov %rdi, %rbx
call strdup@PLT; mov %rax, %r8; mov %rbx, %rdi; call unlink@PLT; pop %rbx; ret; .cfi_endproc; .size left, .-left
.globl given; .type given, @function; given: .cfi_startproc; push %rbx
call strdup@PLT; mov %rax, %rdi; call unlink@PLT; pop %rbx; ret; .cfi_endproc; .size given, .-given
.section .note.GNU-stack,"",@progbits' >left.s
echo 'int left(char *), given(char *); int main(int c, char **v) { return left(v[c - 1]) + given(v[0]); }' >left_main.c
cc -o left left_main.c left.s || exit 1
"$MURPHY" check --format json ./left >out
last=$(cat out)
holds 'a left-over in a register is not given' json 'at("strdup", "left")["use"] == "ignored"'
holds '... and an argument is' json 'at("strdup", "given")["use"] == "used"'

# Who gives a function to a library is asked, however many there are; one that does not look is one too many.
walkers() { # walkers STATEMENT
  printf '#define _GNU_SOURCE\n#include <ftw.h>\n#include <unistd.h>\n'
  echo 'static int cb(const char *p, const struct stat *s, int f, struct FTW *w) { return unlink(p); }'
  for ((i = 1; i <= 40; i++)); do
    echo "int w$i(const char *p) { return nftw(p, cb, $i, 0) < 0 ? $i : 0; }"
  done
  echo "int main(int c, char **v) { $1; return w1(v[c - 1]) + w39(v[0]); }"
}
walkers '' >walkers.c && walkers 'nftw(v[0], cb, 40, 0)' >walkers2.c || exit 1
${CC:-cc} -w walkers.c -o walkers && ${CC:-cc} -w walkers2.c -o walkers2 || exit 1
run check --format json --function unlink walkers
holds 'what forty walks are told is asked of all' json '[s["verdict"] for s in d["sites"]] == ["all"]'
run check --format json --function unlink walkers2
holds '... and one that ignores it is found' json '[s["verdict"] for s in d["sites"]] == ["none"]'

# Calls that all stand in one function: four times as many take four times as long, not sixteen times.
in_one_function() { # in_one_function CALLS
  echo '.text; .globl main; .type main, @function; main: .cfi_startproc; push %rbx'
  for ((i = 0; i < $1; i++)); do
    echo 'mov (%rbx), %rdi; call unlink@PLT; test %eax, %eax; js 9f'
  done
  echo 'mov $1, %eax; 9: pop %rbx; ret; .cfi_endproc; .size main, .-main; .section .note.GNU-stack,"",@progbits'
}
processor_time() { # in milliseconds, of the quickest of three
  for _ in 1 2 3; do
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=open("out", "w"), check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int(1000 * (used.ru_utime + used.ru_stime)))' "$MURPHY" check --jobs 1 --format json "$1"
  done | sort -n | head -1
}
for calls in 1500 6000; do
  in_one_function $calls >one.s && cc -o "one.$calls" one.s || exit 1
done
few=$(processor_time ./one.1500) many=$(processor_time ./one.6000)
last="$few ms, $many ms"
holds '6000 calls in one function take no more than nine times as long as 1500' test "$many" -le $((9 * few))
holds '... and are all there' json '[s["verdict"] for s in d["sites"]] == ["all"] * 6000'
finish

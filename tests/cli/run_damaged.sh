#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A plan that is damaged, of another version or without its area: the program runs as if murphy were not there. And a
# program that damages the area itself: murphy stays alive and passes its exit status on.
. "$(dirname "$0")/tap.sh"
PATH=/usr/sbin:/usr/bin:/sbin:/bin

# Exit status 10: mkdir() failed as told; 11: it did not; 12: something else.
cat >target.c <<'C'
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	if (rmdir("made") != 0 && errno != ENOENT)
		return 12;
	if (mkdir("made", 0700) == 0)
		return 11;
	return errno == ENOSPC ? 10 : 12;
}
C
cc -O1 target.c -o target || exit 1

# Puts the sum of a shim's plan right, with the code that makes it.
cat >resum.c <<'C'
#include "wire/wire.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	static char bytes[1 << 24];
	FILE *f = fopen(argv[argc - 1], "r+b");
	size_t n = fread(bytes, 1, sizeof(bytes), f);
	char *p = memmem(bytes, n, "MRPHPLAN", 8);
	struct wire_plan *plan = (void *)p;
	size_t start = offsetof(struct wire_plan, sum) + sizeof(plan->sum);
	plan->sum = wire_sum(p + start, plan->size - start);
	rewind(f);
	return fwrite(bytes, 1, n, f) != n || fclose(f) != 0;
}
C
cc -D_GNU_SOURCE -I"$MURPHY_SOURCE/src" resum.c "$MURPHY_SOURCE"/src/wire/*.c -o resum || exit 1

# Runs under murphy; takes its shim from its own memory map, damages copies, and runs the target with them.
cat >damage.py <<'PY'
import glob, os, random, re, shutil, struct, subprocess, sys

def shim_path():
    for line in open("/proc/self/maps"):
        path = line.split(None, 5)[-1].strip()
        # Not the runtime, which knows what a plan starts with.
        if path.startswith(os.environ["XDG_RUNTIME_DIR"]) and b"MRPHPLAN" in open(path, "rb").read():
            return path
    sys.exit("no shim is mapped")

original = open(shim_path(), "rb").read()
at = original.index(b"MRPHPLAN")
version, header, size = struct.unpack_from("<IIQ", original, at + 8)
number, failed = 0, 0

def run(data, resum=False):
    open("copy.so", "wb").write(data)
    if resum:
        subprocess.run(["./resum", "copy.so"], check=True)
    try:
        done = subprocess.run(["./target"], env={"LD_PRELOAD": os.path.abspath("copy.so")}, timeout=20,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return "hangs"
    return done.returncode if not done.stdout else done.stdout.decode(errors="replace")

def ok(good, name, detail=""):
    global number, failed
    number += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {number} - {name}")
    if not good:
        print(f"# {detail}")

def put(offset, data):
    changed = bytearray(original)
    changed[at + offset:at + offset + len(data)] = data
    return bytes(changed)

ok(run(original) == 10, "a copy of the shim works as the shim does", run(original))
ok(run(original, True) == 10, "and with its sum made anew", run(original, True))

random.seed(11)
bad = {}
for i in range(150):
    where = random.randrange(size)
    result = run(put(where, bytes([original[at + where] ^ (1 << random.randrange(8))])))
    if result != 11:
        bad[where] = result
ok(not bad, "a flipped bit anywhere in the plan: the program runs as without murphy", bad)

for name, offset, value in [("older", 8, version - 1), ("newer", 8, version + 1), ("no", 8, 0), ("header too large for a", 12, 1 << 20),
                            ("header too small for a", 12, 8)]:
    data = put(offset, struct.pack("<I", value))
    for resum in (False, True):
        ok(run(data, resum) == 11, f"{name} version of the plan, sum {'right' if resum else 'as it was'}", run(data, resum))
for value in (0, 8, size - 8, size + 8, size * 2, 1 << 40, (1 << 64) - 1):
    ok(run(put(16, struct.pack("<Q", value))) == 11, f"size {value} of the plan", run(put(16, struct.pack("<Q", value))))
ok(run(put(0, b"\0" * 64)) == 11, "a plan of zeros at its start", run(put(0, b"\0" * 64)))
ok(run(put(size // 2, b"\0" * (size - size // 2))) == 11, "a plan that ends with zeros")
ok(run(put(32, os.urandom(size - 32))) == 11, "a plan of noise behind its header")

shim_at = original.index(b"MRPHSHIM")
for name, offset, value in [("magic", 0, b"NRPHSHIM"), ("version", 8, struct.pack("<I", 99)), ("number of functions", 12, struct.pack("<I", 1 << 30))]:
    changed = bytearray(original)
    changed[shim_at + offset:shim_at + offset + len(value)] = value
    ok(run(bytes(changed)) == 11, f"a table with another {name}", run(bytes(changed)))

# The area: its path is in the plan, and another of the same length is put there.
area = None
for match in re.finditer(rb"/[!-~]+", original[at:at + size]):
    path = match.group().decode()
    if os.path.isfile(path) and open(path, "rb").read(8) == b"MRPHAREA":
        area, area_at = path, match.start()
if not area:
    sys.exit("no area is named in the plan")
good_area = open(area, "rb").read()

def with_area(content):
    name = os.path.abspath("a")
    name = "/" * (len(area) - len(name)) + name
    if len(name) != len(area):
        return "path too long"
    if os.path.lexists("a"):
        os.remove("a")
    if content == "folder":
        os.symlink("/", "a")  # mkdir() fails here
    elif content is not None:
        open("a", "wb").write(content)
    return run(put(area_at, name.encode()), True)

ok(with_area(good_area) == 10, "a copy of the area is as good", with_area(good_area))
cut = {"no area": None, "a folder for an area": "folder", "an empty area": b"", "an area of 8 bytes": good_area[:8],
       "half an area": good_area[:len(good_area) // 2], "an area without its last page": good_area[:-4096],
       "an area of zeros": bytes(len(good_area)), "an area of noise": os.urandom(len(good_area)),
       "an area of another version": good_area[:8] + struct.pack("<I", 99) + good_area[12:],
       "noise behind a good start": good_area[:12] + os.urandom(200) + good_area[212:]}
for name, content in cut.items():
    result = with_area(content)
    ok(result == 11, f"{name}: the program runs as without murphy", result)
print(f"1..{number}")
sys.exit(failed > 0)
PY

# A short path, so that one of the same length can be made.
export XDG_RUNTIME_DIR=$work/a-folder-with-a-rather-long-name-for-runs
mkdir -m 700 "$XDG_RUNTIME_DIR"
last='murphy run --fail mkdir:ENOSPC -- python3 damage.py'
timeout 300 "$MURPHY" run --fail 'mkdir:ENOSPC when call>=1' -- /usr/bin/python3 damage.py >tap 2>err </dev/null
status=$?
sed -n 's/^\(ok\|not ok\) [0-9]* - \(.*\)/\1|\2/p; s/^# /#|/p' tap >lines
while IFS='|' read -r word name; do
  case $word in
  ok) count=$((count + 1)) && echo "ok $count - $name" ;;
  'not ok') result 1 "$name" ;;
  *) echo "#   $name" ;;
  esac
done <lines
holds 'all of it was tried' grep -q '^1\.\.' tap

# --- a program that damages the area under murphy ---------------------------------------------------------------------

cat >hostile.py <<'PY'
import glob, os, subprocess, sys
top = os.environ["XDG_RUNTIME_DIR"]
area = next(path for path in glob.glob(top + "/**", recursive=True)
            if os.path.isfile(path) and open(path, "rb").read(8) == b"MRPHAREA")
size = os.path.getsize(area)
what = sys.argv[1]
if what == "truncate":
    os.truncate(area, 0)
elif what == "page":
    os.truncate(area, 4096)
elif what == "noise":
    with open(area, "r+b") as f:
        f.write(os.urandom(size))
elif what == "ones":
    with open(area, "r+b") as f:
        f.write(b"\xff" * size)
elif what == "counters":
    with open(area, "r+b") as f:
        data = f.read(400)
        f.seek(16)
        f.write(b"\xff" * 300)
elif what == "remove":
    os.remove(area)
elif what == "folder":
    import shutil
    shutil.rmtree(os.path.dirname(area))
status = subprocess.run(["/bin/true"], check=False).returncode
os._exit(7 if status == 0 else 8)
PY
for what in truncate page noise ones counters remove folder; do
  last="murphy run … -- python3 hostile.py $what"
  timeout 60 "$MURPHY" run --fail 'mkdir:ENOSPC when call==1000000' --log log -- /usr/bin/python3 hostile.py $what >out 2>err </dev/null
  status=$?
  # 7: passed on. 3: the experiment could not be made, which murphy may say; dying of it or waiting for ever is neither.
  good=1
  [ $status = 7 ] || { [ $status = 3 ] && grep -q '^murphy: ' err; } && good=0
  result $good "a program that damages the area ($what)"
done
holds 'nothing is left behind' test -z "$(ls -A "$XDG_RUNTIME_DIR")"

finish

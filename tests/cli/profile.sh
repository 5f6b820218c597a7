#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy profile on the libraries of this machine: formats, selection, profiles loaded back and put over others.
. "$(dirname "$0")/tap.sh"

lib=$(library libz)

# json EXPRESSION: true if the Python expression over the JSON in out, d, is.
json() {
  python3 -c 'import json, sys
d = json.load(open("out"))
functions = {f["name"]: f for l in d["libraries"] for f in l["functions"]}
sys.exit(not ('"$1"'
))'
}

run profile --no-cache --format json "$lib"
accepted 'JSON'
holds 'it is valid and has what was promised' json '
  all(k in l for l in d["libraries"] for k in ("name", "path", "build_id", "functions"))'
holds 'its name is the soname' json '[l["name"] for l in d["libraries"]] == ["libz.so.1"]'
holds 'errors have what was promised' json '
  all(k in e for f in functions.values() for e in f["errors"]
      for k in ("retval", "errno", "side", "confidence", "evidence"))'
holds 'functions are in order' json 'list(functions) == sorted(functions)'
holds 'inflate is there' json '"inflate" in functions'
cp out first.json
run profile --no-cache --format json -j 1 "$lib"
holds 'one thread finds the same' cmp out first.json

run profile --format json "$lib"
accepted 'with the cache empty'
holds 'the same comes out' cmp out first.json
run profile --format json "$lib"
accepted 'with the cache full'
holds 'the same comes out again' cmp out first.json
find "$XDG_CACHE_HOME" -type f -exec sh -c 'echo spoilt >"$1"' sh {} \;
run profile --format json "$lib"
accepted 'with the cache spoilt'
holds 'a spoilt cache changes nothing' cmp out first.json
XDG_CACHE_HOME=/proc/nowhere run profile --format json "$lib"
accepted 'with a cache that cannot be written'
holds 'that changes nothing either' cmp out first.json

run profile --no-cache --format xml --output first.xml "$lib"
accepted 'XML'
run profile --profile first.xml --format xml
accepted 'XML loaded back'
holds 'XML loaded back is the same' cmp out first.xml
run profile --profile first.json --format json
accepted 'JSON loaded back'
holds 'JSON loaded back is the same' cmp out first.json

run profile --no-cache --format json --function inflate,deflate "$lib"
accepted 'two functions'
holds 'they are all that is printed' json 'list(functions) == ["deflate", "inflate"]'
run profile --no-cache --format json -f inflate -f deflate -f inflate "$lib"
holds 'an option for each is the same' json 'list(functions) == ["deflate", "inflate"]'
run profile --no-cache --function zlibVersion "$lib"
accepted 'a function that cannot fail'
holds 'asked for by name, it is shown' grep -q zlibVersion out
run profile --no-cache --function infalte "$lib"
refused 'a function that is not there' "did you mean 'inflate'"
run profile --no-cache "$lib"
holds 'text leaves out functions without errors' sh -c '! grep -qw zlibVersion out'
run profile --no-cache --all "$lib"
holds 'all of them with --all' grep -qw zlibVersion out
holds 'no colour where there is no terminal' sh -c '! grep -q "$(printf "\033")" out'

# A profile over what was found: one function replaced, one new, one new library.
cat >over.json <<'END'
{"libraries": [
  {"name": "libz.so.1", "path": "", "build_id": "", "functions": [
    {"name": "aaa_new", "errors": [
      {"retval": -7, "errno": ["EIO"], "side": [], "confidence": "certain", "evidence": []}], "unknown": false},
    {"name": "inflate", "errors": [
      {"retval": -99, "errno": [], "side": [], "confidence": "certain", "evidence": []}], "unknown": false}]},
  {"name": "libother.so.1", "path": "", "build_id": "", "functions": [
    {"name": "other", "errors": [
      {"retval": 0, "errno": ["ENOMEM"], "side": [], "confidence": "likely", "evidence": []}], "unknown": false}]}
]}
END
run profile --no-cache --format json --profile over.json "$lib"
accepted 'a profile over what was found'
holds 'its function replaces the one found' json '[e["retval"] for e in functions["inflate"]["errors"]] == [-99]'
holds 'its new function is there' json '[e["errno"] for e in functions["aaa_new"]["errors"]] == [["EIO"]]'
holds 'its new library is there' json '[l["name"] for l in d["libraries"]] == ["libz.so.1", "libother.so.1"]'
holds 'the others are as they were' json '
  functions["deflate"] in json.load(open("first.json"))["libraries"][0]["functions"]'
holds 'functions are still in order' json '
  all(n == sorted(n) for n in ([f["name"] for f in l["functions"]] for l in d["libraries"]))'
run profile --profile first.json --profile over.json --format json
accepted 'a profile over a profile'
holds 'the last one counts' json '[e["retval"] for e in functions["inflate"]["errors"]] == [-99]'

cat >paper.xml <<'END'
<profile>
  <function name="inflate"><error-codes retval="-98">
    <side-effect type="TLS" module="libc.so.6" offset="12FFF4">-9</side-effect>
  </error-codes></function>
  <function name="aaa_nowhere"><error-codes retval="-7"/></function>
</profile>
END
run profile --no-cache --format json --profile paper.xml "$lib"
accepted 'a profile without libraries, as in the LFI papers'
holds 'its function replaces the one found' json '
  [(e["retval"], e["errno"]) for e in d["libraries"][0]["functions"] if e["name"] == "inflate" for e in e["errors"]]
  == [(-98, ["EBADF"])]'
holds 'what no library has stands apart' json '[f["name"] for f in d["libraries"][1]["functions"]] == ["aaa_nowhere"]'

run profile --no-cache --format json libz.so.1
accepted 'a library by its soname'
holds 'it is the same library' json '"inflate" in functions'
run profile --no-cache --format json --for "$MURPHY"
accepted 'all libraries of a program'
holds 'those that libraries need are among them' json '
  {"libc.so.6", "libz.so.1"} <= {l["name"] for l in d["libraries"]}'
run profile --no-cache --why inflate "$lib"
accepted 'why'
holds 'why shows the instruction' grep -Eq '^ +0x[0-9a-f]+: .* the value that is returned' out
run profile --no-cache --why no_such "$lib"
refused 'why of what is not there' "exports no function 'no_such'"
run profile --no-cache --why infalte "$lib"
refused 'why of a function that is not there' infalte

finish

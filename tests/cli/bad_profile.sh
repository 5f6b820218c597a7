#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A profile with a mistake is refused with its line and column.
. "$(dirname "$0")/tap.sh"

lib=$(library libz)
"$MURPHY" profile --no-cache --format xml --output good.xml "$lib" 2>err || {
  echo "Bail out! no profile to spoil: $(cat err)"
  exit 1
}
"$MURPHY" profile --no-cache --format json --output good.json "$lib"

# try NAME FILE TEXT
try() {
  run profile --profile "$2" --output result.xml --format xml
  refused "$1" "$3"
  holds "$1 leaves no file" test -z "$(find . -name '*result.xml*')"
}

run profile --profile good.xml
accepted 'a good profile'

# The library that reads XML is loaded only for that.
xml=$(sed -n 's/.*MURPHY_LIBXML "\(.*\)".*/\1/p' "$(dirname "$MURPHY")/config.h" 2>/dev/null)
mkdir broken
echo 'not a library' >"broken/${xml:-libxml2.so.2}"
LD_LIBRARY_PATH=$PWD/broken run profile --profile good.xml
refused 'a library for XML that cannot be loaded' 'install libxml2'
LD_LIBRARY_PATH=$PWD/broken run profile --profile good.json
accepted 'a profile without XML needs no library for XML'

try 'a profile that does not exist' nowhere.xml nowhere.xml
mkdir folder
try 'a directory as profile' folder folder
: >empty.xml
try 'an empty profile' empty.xml empty.xml
printf '<?xml version="1.0"?>\n<profile>\n  <function name="a">\n</profile>\n' >tag.xml
try 'a tag that is not closed' tag.xml 'tag.xml:4:'
lines=$(wc -l <good.xml)
head -n $((lines / 2)) good.xml >half.xml
try 'half a profile' half.xml 'half.xml:'
printf '<?xml version="1.0"?>\n<html/>\n' >html.xml
try 'another kind of XML' html.xml 'html.xml:2:'
sed '0,/retval="[^"]*"/s//retval="minus one"/' good.xml >value.xml
line=$(grep -n 'minus one' value.xml | cut -d: -f1)
try 'a value that is no number' value.xml "value.xml:$line:"
sed '0,/<error-codes/s//<error-cods/;0,/<\/error-codes/s//<\/error-cods/' good.xml >element.xml
line=$(grep -n 'error-cods' element.xml | head -n 1 | cut -d: -f1)
try 'an element with a slip' element.xml "element.xml:$line:"
printf '\377\376\000\001' >bytes.xml
try 'bytes that are no text' bytes.xml bytes.xml
# Entities that would grow without end, or read files.
{
  echo '<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a0 "aaaaaaaaaaaaaaaa">'
  for i in 1 2 3 4 5 6 7 8; do
    last="&a$((i - 1));"
    echo "<!ENTITY a$i \"$last$last$last$last$last$last$last$last\">"
  done
  echo ']><profile>&a8;</profile>'
} >laughs.xml
try 'entities that grow' laughs.xml laughs.xml

printf '{"libraries": [\n  {"name": }\n]}\n' >syntax.json
try 'JSON with a mistake' syntax.json 'syntax.json:2:'
printf '{"libraries": 3}\n' >type.json
try 'JSON of another form' type.json type.json
head -c $(($(stat -c %s good.json) / 2)) good.json >half.json
try 'half of a JSON profile' half.json half.json

run profile --profile good.xml --function nosuchfunction
refused 'a function that is not in the profile' nosuchfunction

finish

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where results go: whole or not at all, and never over what is not a file.
. "$(dirname "$0")/tap.sh"

lib=$(library libz)

run profile --no-cache "$lib"
accepted 'a profile to standard output'
cp out expected
holds 'it is not empty' test -s expected
run profile --no-cache --output result "$lib"
accepted 'a profile to a file'
holds 'nothing on standard output then' test ! -s out
holds 'the file is what would have been printed' cmp result expected
run profile --no-cache -o - "$lib"
holds 'a dash is standard output' cmp out expected

echo precious >kept
run profile --no-cache --output kept ./nowhere.so
refused 'a failed run' ./nowhere.so
holds 'a failed run leaves an old file alone' grep -qx precious kept
run profile --no-cache --output kept --function nosuchfunction "$lib"
refused 'a function that is not there' nosuchfunction
holds 'that leaves an old file alone too' grep -qx precious kept

ln -s target link
echo old >target
run profile --no-cache --output link "$lib"
accepted 'through a symbolic link'
holds 'the link is still one' test -L link
holds 'its target is the result' cmp target expected

mkdir folder
run profile --no-cache --output folder "$lib"
refused 'a directory as output' folder
run profile --no-cache --output nowhere/result "$lib"
refused 'a folder that does not exist' nowhere/result
run profile --no-cache --output /dev/full "$lib"
refused 'a full disk as output' 'No space left on device'
holds 'a device is still a device' test -c /dev/full
run profile --no-cache --output /dev/null "$lib"
accepted 'nowhere as output'
holds 'nowhere is still there' test -c /dev/null
mkfifo pipe
timeout 30 cat pipe >piped &
run profile --no-cache --output pipe "$lib"
wait $!
accepted 'a pipe as output'
holds 'all of it came through' cmp piped expected

last='murphy profile >/dev/full'
"$MURPHY" profile --no-cache "$lib" >/dev/full 2>err
status=$?
: >out
refused 'standard output on a full disk' 'No space left on device'

holds 'no temporary files are left' test -z "$(find . -name '.*' -type f -o -name '*.tmp*' -o -name 'result?*')"

finish

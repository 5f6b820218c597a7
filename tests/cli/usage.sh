#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bad usage is refused with a way out; what is asked for is printed, or its loss is noticed.
. "$(dirname "$0")/tap.sh"

run
refused 'no command' 'murphy --help'
run profil
refused 'an unknown command' "did you mean 'profile'"
run xyzzyplugh
refused 'an unknown command that is near to none' 'murphy --help'
run --hepl
refused 'an unknown option' 'did you mean --help'
run profile --functoin close libc.so.6
refused 'an unknown option of a command' 'did you mean --function'
run profile -q libc.so.6
refused 'an unknown letter' 'unknown option -q'
run profile
refused 'no library' '--for PROG'
run profile --format yaml libc.so.6
refused 'an unknown format' 'text|json|xml'
run profile --format
refused 'an option without its argument' '--format needs an argument'
run profile --all=yes libc.so.6
refused 'an argument that is not wanted' '--all takes no argument'
run profile --jobs 0 libc.so.6
refused 'no threads' 'from 1 to'
run profile --jobs many libc.so.6
refused 'a number that is none' "'many'"
run profile --function close,,read libc.so.6
refused 'an empty name in a list' 'a name is missing'
run profile --why close
refused 'why without a library' 'needs the library'
run profile --why close --format json libc.so.6
refused 'why as JSON' 'text for people'
run help profil
refused 'help for an unknown command' "did you mean 'profile'"
run --completion zsh
refused 'a shell without completion' 'bash'
run "$(printf 'new\nline')"
refused 'a message stays one line' 'new?line'

run --version
accepted 'version'
holds 'version has a number' grep -qx 'murphy [0-9][0-9.]*' out
run profile --help libc.so.6
accepted 'help of a command, whatever follows'
run --help
accepted 'help'

for command in --help --version 'help profile' '--completion bash'; do
  last="murphy $command >/dev/full"
  # shellcheck disable=SC2086
  "$MURPHY" $command >/dev/full 2>err
  status=$?
  : >out
  refused "$command to a full disk" 'No space left on device'
  last="murphy $command >&-"
  # shellcheck disable=SC2086
  "$MURPHY" $command >&- 2>err
  status=$?
  refused "$command to a closed output" 'Bad file descriptor'
done

last='murphy profil 2>&-'
"$MURPHY" profil >out 2>&-
status=$?
holds 'a closed standard error changes nothing else' test "$status" = 2 -a ! -s out

"$MURPHY" --completion bash | head -n 1 >out
status=("${PIPESTATUS[@]}")
holds 'a reader that goes away is no error' test "${status[0]}" = 0 -o "${status[0]}" = 141
status=${status[0]}

finish

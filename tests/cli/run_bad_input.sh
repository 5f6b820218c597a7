#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# murphy run with rules, scenarios and commands that are wrong: one message with its place, nothing is run, exit status 2.
. "$(dirname "$0")/tap.sh"
PATH=/usr/sbin:/usr/bin:/sbin:/bin
# The command that must not be run.
printf '#!/bin/sh\n: >%s/was-run\nread x\n' "$work" >command
chmod +x command
command=./command

# bad NAME TEXT OPTIONS...: refused as it must be, with TEXT in the message; the command has not run.
bad() {
  local name=$1 text=$2 good=0 colour=$'\x1b'
  shift 2
  rm -f was-run
  last="murphy run $*"
  timeout 60 "$MURPHY" run "$@" -- "$command" >out 2>err </dev/null
  status=$?
  [ $status = 2 ] && [ ! -s out ] && [ ! -e was-run ] || good=1
  # Notes may come before; the error is the last line, and says where.
  tail -n 1 err | grep -q '^murphy: .' || good=1
  grep -qiE -- "$text" err || good=1
  ! grep -q "$colour" err || good=1
  [ "$(wc -c <err)" -lt 3000 ] || good=1
  result $good "$name"
}

rule() { bad "rule $(printf %s "${1:0:60}" | tr '\n' ' ')" "$2" --fail "$1"; }

# --- rules ------------------------------------------------------------------------------------------------------------

at='--fail:[0-9]+:'
rule '' "$at"
rule ' ' "$at"
rule ':' "$at"
rule 'read' "$at"
rule 'read:' "$at"
rule ':EIO' "$at"
rule 'read EIO' "$at"
rule 'read:EIOO' "$at.*EIO[^O]"
rule 'read:eio' "$at.*EIO"
rule 'rread:EIO' "$at.*read"
rule 'read:EIO EIO' "$at"
rule 'read:EIO when' "$at"
rule 'read:EIO if call==1' "$at"
rule 'read:EIO when call==' "$at"
rule 'read:EIO when call=1' "$at"
rule 'read:EIO when ==1' "$at"
rule 'read:EIO when (call==1' "$at"
rule 'read:EIO when call==1)' "$at"
rule 'read:EIO when call==1 and' "$at"
rule 'read:EIO when cal==1' "$at.*call"
rule 'read:EIO when 1 < call < 5' "$at"
rule 'read:EIO when call & 1 == 0' "$at"
rule 'read:EIO when "text"' "$at"
rule 'read:EIO when call=="3"' "$at"
rule 'read:EIO when call==99999999999999999999999' "$at"
rule 'read:EIO when call==0x' "$at"
rule 'read:EIO when call==1abc' "$at"
rule 'read:EIO when caller' "$at"
rule 'read:EIO when caller()' "$at"
rule 'read:EIO when caller("")' "$at"
rule 'read:EIO when caller("no_such_function_anywhere")' "$at.*no_such_function_anywhere"
rule 'read:EIO when caller(read)' "$at"
rule 'read:EIO when caller("sh"' "$at"
rule 'read:EIO when caller("sh' "$at"
rule 'read:EIO when stack()' "$at"
rule 'read:EIO when random()' "$at"
rule 'read:EIO when random(2)' "$at"
rule 'read:EIO when random(-1)' "$at"
rule 'read:EIO when random("x")' "$at"
rule 'read:EIO when once()' "$at"
rule 'read:EIO when nonsense(3)' "$at"
rule 'read:EIO when path =~ "\w+"' '--fail:24:.*\[a-z\]'
rule 'read:EIO when path =~ "a\d"' '--fail:25:.*\[a-z\]'
rule 'read:EIO when path =~ "\\s"' '--fail:24:.*\[a-z\]'
rule 'read:EIO when caller("a\n")' "$at.*backslash"
rule 'read:EIO when call==1 and arg(9)==1' '--fail:27:.*read has no argument 9 \(it has 3\)'
rule 'read:EIO when arg(4)=="x"' '--fail:15:.*read has no argument 4'
rule 'read:ret=' "$at"
rule 'read:ret=x' "$at"
rule 'read:ret=-1 errno=' "$at"
rule 'read:ret=-1 errno=EIOO' "$at.*EIO[^O]"
rule 'read:ret=-1 errno=EIO errno=EIO' "$at"
rule 'read:ret=99999999999999999999999999' "$at"
rule 'read:then' "$at"
rule 'read:then when call==1' "$at"
rule $'read:EIO\nwhen call==1 $' "$at"
rule $'read:\x1b[31mEIO' "$at"
rule $'\xff\xfe\x80:EIO' "$at"
rule $'read:EIO when caller("\x1b[31m")' "$at"
rule "read:EIO when $(printf '(%.0s' $(seq 20000))call==1" "$at"
rule "read:EIO when $(printf 'not %.0s' $(seq 20000))once" "$at"
rule "$(printf 'r%.0s' $(seq 100000)):EIO" "$at"

# What cannot be intercepted is refused with the reason.
cat >special.c <<'C'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
jmp_buf buffer;
int main(int argc, char **argv)
{
	if (setjmp(buffer) == 0 && vfork() == 0)
		_exit(0);
	fclose(fopen(WAS_RUN, "w"));
	if (argc > 5)
		abort();
	exit(div(argc, 2).quot + (int)strtod(argv[0], NULL));
}
C
cc -fno-builtin "-DWAS_RUN=\"$work/was-run\"" special.c -o special || exit 1
command=./special
rule '_setjmp:ret=1' 'twice'
rule 'setjmp:ret=1' 'twice'
rule 'vfork:EAGAIN' 'twice'
rule 'div:ret=0' 'structure'
rule 'exit:ret=0' 'return'
rule 'abort:ret=0' 'return'
rule 'operator new:throw' "$at.*mangled.*_Znwm"
rule 'operator new[]:throw' "$at.*mangled.*_Znam"
echo "int main(int n, char **a) { delete[] new char[n]; return fclose(fopen(\"$work/was-run\", \"w\")); }" >new.cc
if ${CXX:-c++} -O0 -include cstdio new.cc -o new 2>/dev/null; then
  command=./new
  rule '_Znam:ENOMEM' "$at.*throws.*\(write throw\)"
  rule '_Znam:profile' "$at.*throws.*\(write throw\)"
fi
command=./command
rule 'no_such_function_anywhere:EIO' 'no_such_function_anywhere'
rule 'no_such_function_anywhere:ret=-1 errno=EIO' 'no_such_function_anywhere'

# --- scenarios --------------------------------------------------------------------------------------------------------

xml() { # xml NAME TEXT CONTENT
  printf '%s' "$3" >bad.xml
  bad "scenario $1" "bad.xml:[0-9]+.*$2" bad.xml
}

good_trigger='<trigger id="t" class="CallCountTrigger"><args><n>3</n></args></trigger>'
function='<function name="read" return="-1" errno="EIO">'
xml 'that ends too early' '' '<scenario><trigger id="t" class'
xml 'that ends too early, without an element open' '' '<'
xml 'with another root' 'scenario' '<html></html>'
xml 'with two roots' '' '<scenario></scenario><scenario></scenario>'
xml 'with an unknown element' 'function' "<scenario><funktion name='read'/></scenario>"
xml 'with an unknown attribute' 'errno' '<scenario><function name="read" return="-1" erno="EIO"/></scenario>'
xml 'with an unknown class' 'CallCountTrigger' '<scenario><trigger id="t" class="CalCountTrigger"/></scenario>'
xml 'with an unknown errno' 'EIO' '<scenario><function name="read" return="-1" errno="EIOO"/></scenario>'
xml 'that sets what nobody exports' 'exports a variable .no_such' '<scenario><function name="read" return="-1" errno="EIO"><side kind="global" name="no_such" value="1"/></function></scenario>'
side() { # side NAME TEXT ATTRIBUTES: of a function that has three arguments, the first of them a descriptor
  xml "$1" ":[0-9]+: $2" "<scenario><function name='read' errno='EIO'><side $3 value='1'/></function></scenario>"
}
side 'that sets what an argument that there is not points to' 'read has no argument 4 [(]it has 3[)]' "kind='arg' argument='4'"
side '... that would be on the stack' 'read has no argument 9 [(]it has 3[)]' "kind='arg' argument='9'"
side '... as a stream' 'read has no argument 4 [(]it has 3[)]' "kind='stream' argument='4'"
side '... as a name' 'read has no argument 4 [(]it has 3[)]' "kind='misnamed' argument='4'"
side 'that sets what a descriptor points to' 'argument 1 of read is a descriptor' "kind='arg' argument='1'"
side 'that sets what a size points to' 'argument 3 of read is a size' "kind='arg' argument='3'"
xml 'with an unknown function' 'read' '<scenario><function name="rread" return="-1" errno="EIO"/></scenario>'
xml 'with an unknown argument' 'from' \
  "<scenario><trigger id='t' class='CallCountTrigger'><args><form>3</form></args></trigger>$function<reftrigger ref='t'/></function></scenario>"
xml 'with a reference to nothing' 't2' "<scenario>$good_trigger$function<reftrigger ref='t2'/></function></scenario>"
xml 'with two triggers of one name' 't' "<scenario>$good_trigger$good_trigger$function<reftrigger ref='t'/></function></scenario>"
xml 'with no name' 'name' '<scenario><function return="-1" errno="EIO"/></scenario>'
xml 'with a return value that is none' 'abc' '<scenario><function name="read" return="abc" errno="EIO"/></scenario>'
xml 'with a number too large' '' '<scenario><function name="read" return="99999999999999999999999" errno="EIO"/></scenario>'
xml 'with a probability too large' '' \
  "<scenario><trigger id='t' class='RandomTrigger'><args><probability>3</probability></args></trigger>$function<reftrigger ref='t'/></function></scenario>"
xml 'with a count that is none' '' \
  "<scenario><trigger id='t' class='CallCountTrigger'><args><n>three</n></args></trigger>$function<reftrigger ref='t'/></function></scenario>"
xml 'that includes itself' '' '<scenario><include file="bad.xml"/></scenario>'
xml 'that includes what is not there' 'not-there.xml' '<scenario><include file="not-there.xml"/></scenario>'
xml 'with rules that are wrong' '' 'nonsense without sense'
xml 'with a rule that is wrong' 'EIO' $'# comment\nread:EIO when call==1\nread:EIOO\n'
holds '... in its line and column' grep -q 'bad.xml:3:6:' err
xml 'with other bytes' '' $'\xff\xfe<\x00s\x00>\x00'
xml 'that grows when it is read' '' '<?xml version="1.0"?><!DOCTYPE s [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;"><!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;">]><scenario><function name="&g;"/></scenario>'
echo secret-text >secret
xml 'that reads other files' '' "<?xml version='1.0'?><!DOCTYPE s [<!ENTITY x SYSTEM 'file://$work/secret'>]><scenario><function name='&x;' return='-1' errno='EIO'/></scenario>"
holds '... does not get them' bash -c '! grep -q secret-text err'
xml 'with very deep elements' '' "<scenario>$(printf '<a>%.0s' $(seq 50000))"
: >empty.xml
bad 'scenario that is empty' 'empty.xml' empty.xml
bad 'scenario that is not there' 'not-there.xml' not-there.xml
bad 'scenario that is a folder' 'murphy' .
head -c 100000 /dev/urandom >noise.xml
bad 'scenario of noise' 'noise.xml' noise.xml
(printf '<scenario>' && head -c 100000 /dev/urandom) >noise.xml
bad 'scenario of noise behind a good start' 'noise.xml' noise.xml
bad 'no scenario at all' 'scenario|--fail'

# --- any rule at all --------------------------------------------------------------------------------------------------

# Pieces of rules in any order: accepted or refused, and nothing else. --explain runs nothing.
pieces=(read write malloc close : EIO ENOMEM 'ret=-1' 'errno=EIO' then when call == '>=' '%' 3 0 10 '(' ')' and or not once
  'random(' '0.5)' 'caller("' 'libc.so.6' '")' 'stack("main")' profile '<' '<<' '~' '-' '"' ' ' ' ' ' ' $'\t' '&&' '||' '!')
RANDOM=5
strange=0
for _ in $(seq 60); do
  text=read:
  for _ in $(seq $((RANDOM % 12 + 1))); do text+="${pieces[RANDOM % ${#pieces[@]}]} "; done
  last="murphy run --explain --fail '$text'"
  timeout 60 "$MURPHY" run --explain --fail "$text" -- ./command >out 2>err </dev/null
  status=$?
  [ $status = 0 ] || [ $status = 2 ] || { strange=$((strange + 1)) && echo "# $last: exit status $status"; }
done
holds 'any mixture of words is accepted or refused' test $strange = 0
holds '... and never runs anything' test ! -e was-run

# --- commands ---------------------------------------------------------------------------------------------------------

rule='read:EIO when call==1'
refused_command() { # refused_command NAME TEXT COMMAND...: not run, with TEXT in the message; exit status 2 or 3
  local name=$1 text=$2 good=0
  shift 2
  last="murphy run --fail '$rule' -- $*"
  timeout 60 "$MURPHY" run --fail "$rule" -- "$@" >out 2>err </dev/null
  status=$?
  { [ $status = 2 ] || [ $status = 3 ]; } && [ ! -s out ] && grep -q '^murphy: .' err && grep -qi -- "$text" err || good=1
  result $good "$name"
}
printf 'int main(void) { return 0; }\n' >t.c
cp "$(command -v cat)" privileged
# The loader drops preloads only if the program gets rights that its user does not have.
[ "$(id -u)" != 0 ] || chown 65534:65534 privileged
if [ "$(id -u)" = 0 ]; then
  chmod u+s privileged
  refused_command 'a program with the setuid bit' 'setuid' ./privileged
  chmod u-s,g+s privileged
  refused_command 'a program with the setgid bit' 'setgid' ./privileged
else
  skip 'a program with the setuid bit' 'only root can give a program to somebody else'
fi
# Root has all capabilities anyway, so another user is needed, who can reach murphy.
other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
cp "$(command -v cat)" capable
if setcap cap_net_raw+ep capable 2>/dev/null && chmod 755 "$work" && "${other[@]}" "$MURPHY" --version >/dev/null 2>&1; then
  mkdir -m 777 -p cache
  last="${other[*]} murphy run -- ./capable"
  "${other[@]}" timeout 60 "$MURPHY" run --fail 'read:EIO when call==1' -- ./capable >out 2>err </dev/null
  status=$?
  holds 'a program with capabilities is refused' grep -qi 'capabilit' err
  holds '... and not run' bash -c "[ $status = 2 ] || [ $status = 3 ]"
else
  skip 'a program with capabilities' 'no other user, or no setcap'
fi
cc -static t.c -o static 2>/dev/null && refused_command 'a static program' 'static' ./static
refused_command 'a program that is not there' 'not-there' not-there
refused_command 'a file that is no program' 't.c' ./t.c
: >empty && chmod +x empty
refused_command 'an empty program' 'empty' ./empty
head -c 300 "$(command -v cat)" >torn && chmod +x torn
refused_command 'a torn program' 'torn' ./torn
printf '#!/no/such/interpreter\n' >lost && chmod +x lost
refused_command 'a script whose interpreter is not there' 'interpreter' ./lost
refused_command 'a folder' '' .
bad 'no function that the program calls' 'getaddrinfo' --fail 'getaddrinfo:ret=-3'
bad 'a log that cannot be written' 'log' --fail "$rule" --log /no/such/folder/log
bad 'a replay of no log' 'murphy' --replay noise.xml
printf '{"event":"inject"}\n' >half.log
bad 'a replay of half a log' 'half.log' --replay half.log
printf '{"event":"inject","function":"read","call":"x","retval":[],"errno":5}\n' >wrong.log
bad 'a replay of a wrong log' 'wrong.log' --replay wrong.log
bad 'a number for a seed' 'seed|number' --seed x --fail "$rule"

finish

# SPDX-License-Identifier: Apache-2.0
"""Table IV: how often a trigger hits the one close that matters, in runs of a program with MySQL's double unlock."""
import os
import signal
import subprocess

from .measure import HERE, MURPHY, Failed, build_trigger, run

NEEDS = ["cc"]

RANDOM = '<trigger id="tenth" class="RandomTrigger"><args><probability>0.1</probability></args></trigger>'
FUNCTION = '<function name="close" return="-1" errno="EIO">{}</function>'
SCENARIOS = {
    "random, 10 %": RANDOM + FUNCTION.format('<reftrigger ref="tenth" />'),
    "random, 10 %, in the file of the bug":
        RANDOM + '<trigger id="file" class="CallStackTrigger"><args><frame><file>merge.c</file></frame></args></trigger>' +
        FUNCTION.format('<reftrigger ref="file" /><reftrigger ref="tenth" />'),
    # It is asked about other calls too, so that they count.
    "the next call after an unlock":
        '<trigger id="next" class="AfterTrigger"><args><function>pthread_mutex_unlock</function><calls>1</calls></args>'
        "</trigger>" + FUNCTION.format('<reftrigger ref="next" />') +
        "".join(f'<function name="{f}" return="unused"><reftrigger ref="next" /></function>'
                for f in ("write", "fsync", "open", "unlink")),
    "at most 2 lines behind an unlock":
        '<trigger id="near" class="AfterTrigger"><args><function>pthread_mutex_unlock</function><lines>2</lines></args>'
        "</trigger>" + FUNCTION.format('<reftrigger ref="near" />'),
    "shortly after an unlock, in code":
        '<trigger id="unlock" class="CloseAfterUnlock"><args><bytes>32</bytes></args></trigger>' +
        FUNCTION.format('<reftrigger ref="unlock" />') +
        '<function name="pthread_mutex_unlock" return="unused"><reftrigger ref="unlock" /></function>',
}


def table(folder, options):
    source = os.path.join(HERE, "unlock")
    program = f"{folder}/merge"
    triggers = f"{folder}/triggers"
    os.makedirs(triggers)
    build_trigger(triggers, "after_unlock")
    run(["cc", "-g", "-O1", "-pthread", "-o", program, f"{source}/main.c", f"{source}/merge.c"])
    work = f"{folder}/work"
    os.makedirs(work)
    if subprocess.run([program], cwd=work, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        raise Failed("the program fails without murphy, too")
    print(f"table IV: runs of {options.runs} in which the double unlock comes out; seeds 1 to {options.runs}")
    for name, text in SCENARIOS.items():
        path = f"{folder}/scenario.xml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"<scenario>{text}</scenario>")
        hits = handled = 0
        for seed in range(1, options.runs + 1):
            status = subprocess.run([MURPHY, "run", "--seed", str(seed), "--triggers", triggers, path, "--", program],
                                    cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
                                    check=False).returncode
            hits += status == 128 + signal.SIGABRT
            handled += status == 1
            if status not in (0, 1, 128 + signal.SIGABRT):
                raise Failed(f"{name}, seed {seed}: exit status {status}")
        print(f"  {name:40} {hits:4} hits, {handled:4} errors handled, {options.runs - hits - handled:4} without either",
              flush=True)

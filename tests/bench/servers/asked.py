# SPDX-License-Identifier: Apache-2.0
"""What it costs to ask: a trigger of one's own that does nothing, and a hub that says no."""
import os
import subprocess

from .measure import HERE, MURPHY, build_trigger, run, wait_until

NEEDS = ["cc"]
SCENARIO = ('<scenario><trigger id="t" class="{}" /><function name="rand_r" return="-1"><reftrigger ref="t" />'
            "</function></scenario>")


def table(folder, _options):
    triggers = f"{folder}/triggers"
    os.makedirs(triggers)
    build_trigger(triggers, "nothing")
    loop = f"{folder}/loop"
    run(["cc", "-O2", "-fno-builtin", "-o", loop, f"{HERE}/loop.c"])
    socket = f"unix:{folder}/hub"

    def under(name, count):
        path = f"{folder}/{name}.xml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(SCENARIO.format(name))
        return float(run([MURPHY, "run", "--triggers", triggers, "--hub", socket, path, "--", loop, str(count)]))

    plain = float(run([loop, "500000"]))
    print(f"what asking costs, over a call of {plain:.1f} ns: the fastest of 20 rounds")
    print(f"  a trigger of one's own: {under('Nothing', 100000) - plain:8.0f} ns")
    with open(f"{folder}/hub.out", "w", encoding="utf-8") as out:
        hub = subprocess.Popen([MURPHY, "hub", "--policy", "never", socket], stdout=out)
    try:
        wait_until("the hub", lambda: os.path.exists(f"{folder}/hub"))
        print(f"  a hub, local socket:    {under('DistributedTrigger', 500) - plain:8.0f} ns", flush=True)
    finally:
        hub.terminate()
        hub.wait()

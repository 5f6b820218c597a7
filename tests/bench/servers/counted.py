# SPDX-License-Identifier: Apache-2.0
"""
What a request of a static page takes that can be counted, and is the same on every machine: instructions of the program
and system calls. One process of Apache httpd (-X), with the scenarios of table VIII.
"""
import os
import re
import signal
import subprocess

from .apache import SETS, answers, build, configure, scenario
from .measure import MURPHY, Failed, children, free_port, program, run, wait_until

NEEDS = ["apache2", "ab", "apxs", "valgrind", "strace", "setpriv"]
FEW, MANY = 50, 150


def as_user():
    """valgrind writes when the server is not root any more, so that it must not be root at all."""
    return ["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups"] if os.getuid() == 0 else []


def ask(port, requests):
    run([program("ab"), "-q", "-n", str(requests), "-c", "1", f"http://127.0.0.1:{port}/index.html"])


class One:
    """A server in one process; WRAP before its command, MORE in its environment."""

    def __init__(self, folder, prefix, wrap=(), more=None):
        place, self.port = f"{folder}/{free_port()}", free_port()
        os.makedirs(place)
        config = configure(place, self.port, None, change_user=False)
        os.chmod(place, 0o777)
        self.log = f"{place}/log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*as_user(), *prefix, *wrap, program("apache2"), "-X", "-f", config], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "HOME": place, **(more or {})})
        wait_until("apache2", self.ready, 60)

    def ready(self):
        if self.process.poll() is not None:
            raise Failed(f"the server has ended: {self.text()[-1500:]}")
        return answers(self.port)

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def pid(self):
        return next(p for p in children(self.process.pid) if re.search("apache2|valgrind|callgrind",
                                                                       os.readlink(f"/proc/{p}/exe")))

    def stop(self):
        # A server that is just going to wait for the next request sleeps through one signal.
        for _ in range(60):
            if self.process.poll() is None:
                os.kill(self.pid(), signal.SIGTERM)
            try:
                self.process.wait(1)
                return
            except subprocess.TimeoutExpired:
                pass
        raise Failed("the server does not end")


def system_calls(server):
    """Of FEW requests, as strace counts them."""
    path = f"{os.path.dirname(server.log)}/strace"
    tracer = subprocess.Popen(["strace", "-f", "-c", "-o", path, "-p", str(server.pid())], stderr=subprocess.PIPE)
    tracer.stderr.readline()  # attached
    ask(server.port, FEW)
    tracer.send_signal(signal.SIGINT)
    tracer.communicate()
    with open(path, encoding="utf-8") as f:
        return next(int(line.split()[3]) for line in f if line.rstrip().endswith("total"))


def instructions(folder, requests, environment):
    server = One(folder, [], ["valgrind", "--tool=callgrind", "--vgdb=no", "--callgrind-out-file=/dev/null"], environment)
    ask(server.port, requests)
    server.stop()
    return int(re.search(r"Collected : (\d+)", server.text()).group(1))


def count(folder, triggers, sets):
    """(instructions, system calls) of a request."""
    prefix = []
    if sets is not None:
        path = f"{folder}/scenario.xml"
        with open(path, "w", encoding="utf-8") as f:
            f.write(sets)
        # Followed, since valgrind is between the variable and the server.
        prefix = [MURPHY, "run", "--follow", "--triggers", triggers, path, "--"]
    server = One(folder, prefix)
    try:
        calls = system_calls(server) / FEW
        with open(f"/proc/{server.pid()}/environ", encoding="utf-8") as f:
            own = dict(entry.split("=", 1) for entry in f.read().split("\0") if "=" in entry)
        # The same shim in a server under valgrind, as long as this murphy lives.
        environment = {"LD_PRELOAD": own["LD_PRELOAD"]} if prefix else {}
        few, many = (instructions(folder, n, environment) for n in (FEW, MANY))
    finally:
        server.stop()
    return (many - few) / (MANY - FEW), calls


def table(folder, _options):
    triggers = build(folder)
    idle = '<scenario><function name="apr_initialize" return="-1" when="call == 1000000" /></scenario>'
    print("a request of the static page, counted: instructions of the program, and system calls")
    base = None
    for name, text in [("no triggers", None), ("a rule that no call meets", idle), *((s, scenario(s)) for s in SETS)]:
        executed, calls = count(folder, triggers, text)
        base = base or executed
        print(f"  {name:28} {executed:8.0f} ({executed - base:+7.0f}) {calls:8.1f}", flush=True)

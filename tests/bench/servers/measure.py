# SPDX-License-Identifier: Apache-2.0
"""Servers that are started, found, measured in turn and ended again; by pid, and only what was started here."""
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
MURPHY = os.environ.get("MURPHY", os.path.join(ROOT, "build", "murphy"))
HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    pass


def missing(programs):
    paths = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in programs if not shutil.which(name, path=paths)]


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    return done.stdout


def build_trigger(folder, name, *flags):
    """A trigger of this folder, as a user would build it."""
    out = os.path.join(folder, f"{name}.so")
    run(["cc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}/include", "-o", out,
         os.path.join(HERE, f"{name}.c"), *flags])
    return out


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what, condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what} did not come up within {seconds} s")
        time.sleep(0.05)


def children(pid):
    """PID and all processes below it."""
    found = [pid]
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as f:
                for child in f.read().split():
                    found += children(int(child))
        except OSError:
            pass
    return found


def cpu_seconds(pids):
    """What processes have used of the processors, all threads, in seconds; fine to the nanosecond."""
    total = 0
    for pid in pids:
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as f:
                    total += int(f.read().split()[0])
        except OSError:
            pass
    return total / 1e9


class Server:
    """A server, under murphy if there is a scenario."""

    def __init__(self, name, command, scenario, folder, triggers=None):
        self.name = name
        self.log = os.path.join(folder, "server.log")
        prefix = []
        if scenario:
            path = os.path.join(folder, "scenario.xml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(scenario)
            prefix = [MURPHY, "run", *(["--triggers", triggers] if triggers else []), path, "--"]
        with open(self.log, "w", encoding="utf-8") as log:
            # apache2 ends its whole process group: that must not be ours.
            self.process = subprocess.Popen([*prefix, *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            start_new_session=True)
        self.under = bool(scenario)

    def pids(self):
        """Of the server, without murphy."""
        all_of_them = children(self.process.pid)
        return all_of_them[1:] if self.under else all_of_them

    def check(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                raise Failed(f"{self.name} has ended: {f.read()[-1500:]}")

    def stop(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            for pid in reversed(children(self.process.pid)):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()


# --- figures ----------------------------------------------------------------------------------------------------------

BASE, AGAIN = "no triggers", "no triggers, again"


def quiet(values):
    """The mean of the fastest quarter: what else the machine does makes rounds longer, and never shorter."""
    return statistics.mean(sorted(values)[:max(1, len(values) // 4)])


def in_turn(servers, rounds, measure):
    """ROUNDS times all servers, in another order each time: name -> what MEASURE returned for it, by round."""
    found = {s.name: [] for s in servers}
    order, random_order = list(servers), random.Random(1)
    for _ in range(rounds):
        random_order.shuffle(order)
        for server in order:
            found[server.name].append(measure(server))
    return found


def overheads(starts, index):
    """
    STARTS: for each start of the servers what in_turn found; of each measurement, number INDEX. For each name, what it
    takes more than the two servers without triggers, in percent: the mean over the starts, and its standard error.
    """
    result = {}
    for name in starts[0]:
        each = []
        for start in starts:
            base = (quiet([m[index] for m in start[BASE]]) + quiet([m[index] for m in start[AGAIN]])) / 2
            each.append(100 * (quiet([m[index] for m in start[name]]) / base - 1))
        error = statistics.stdev(each) / len(each) ** 0.5 if len(each) > 1 else float("nan")
        result[name] = (statistics.mean(each), error)
    return result


def print_table(title, starts, scale=1.0):
    """Two figures were measured in each round: on the clock, and of the processors; in microseconds after SCALE."""
    clock, used = overheads(starts, 0), overheads(starts, 1)

    def each(name, index):
        return scale * statistics.mean(quiet([m[index] for m in start[name]]) for start in starts)
    print(f"  {title:38} {'clock, us':>10} {'overhead':>16}   {'processor, us':>13} {'overhead':>16}")
    for name in starts[0]:
        over = [f"{mean:+.1f} \u00b1 {error:.1f} %" for mean, error in (clock[name], used[name])]
        print(f"    {name:36} {each(name, 0):10.1f} {over[0]:>16}   {each(name, 1):13.1f} {over[1]:>16}", flush=True)

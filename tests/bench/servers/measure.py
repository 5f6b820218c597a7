# SPDX-License-Identifier: Apache-2.0
"""Servers that are started, found, measured in turn and ended again; by pid, and only what was started here."""
import os
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


def spread(values):
    """Half of the middle half: what the median is good for."""
    quarters = statistics.quantiles(values, n=4)
    return (quarters[2] - quarters[0]) / 2


def quiet(values):
    """The mean of the fastest tenth: what it takes while nobody else uses the machine."""
    return statistics.mean(sorted(values)[:max(1, len(values) // 10)])


def over(value, baseline):
    return f"{100 * (value / baseline - 1):+.1f} %"


def print_table(title, unit, figures, processor):
    """FIGURES and PROCESSOR: name → what was measured in each round; the first is the baseline."""
    base = next(iter(figures))
    faster = {name: [-v for v in values] for name, values in figures.items()} if unit.endswith("/s") else figures
    print(f"  {title:36} {unit:>16} {'fastest':>9} {'overhead':>9}  {'processor, ms each':>18} {'fastest':>9} {'overhead':>9}")
    for name, values in figures.items():
        best, used = abs(quiet(faster[name])), quiet(processor[name])
        # A rate that is lower is a time that is longer.
        times = (1 / best, 1 / abs(quiet(faster[base]))) if unit.endswith("/s") else (best, quiet(faster[base]))
        first, second = ("", "") if name == base else (over(*times), over(used, quiet(processor[base])))
        print(f"    {name:34} {f'{statistics.median(values):.3f} ± {spread(values):.3f}':>16} {best:9.3f} {first:>9}  "
              f"{f'{statistics.median(processor[name]):.4f} ± {spread(processor[name]):.4f}':>18} {used:9.4f} {second:>9}",
              flush=True)

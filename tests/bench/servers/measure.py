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


def one_processor():
    """
    Where a server and who asks it run, one after the other: what goes from one processor to another takes as long as it
    likes. Whatever else there is has the others, murphy as well.
    """
    return {max(os.sched_getaffinity(0))}


def run_beside(command):
    """A load for a server that has been settled."""
    return run(command, preexec_fn=lambda: os.sched_setaffinity(0, one_processor()))


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

    def settle(self):
        """All threads of all its processes go to one processor; those that they start stay there."""
        for pid in self.pids():
            for task in os.listdir(f"/proc/{pid}/task"):
                try:
                    os.sched_setaffinity(int(task), one_processor())
                except OSError:
                    pass  # has ended

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

BASES = ["no triggers", "no triggers, too"]
AGAIN = "no triggers, again"
CLOCK, PROCESSOR = 0, 1
WHAT = {CLOCK: "clock", PROCESSOR: "processor"}


def in_turn(servers, rounds, measure):
    """
    ROUNDS times all servers, with and without triggers in alternation. The first two are without; each of the others,
    in another order each time, comes between a run of the one and a run of the other. Name -> a list of (what MEASURE
    returned for it, the mean of what it returned right before and right behind), by round; for the first two without
    the second.
    """
    bases, order, random_order = servers[:2], list(servers[2:]), random.Random(1)
    found = {s.name: [] for s in servers}
    for _ in range(rounds):
        random_order.shuffle(order)
        random_order.shuffle(bases)
        before = measure(bases[0])
        found[bases[0].name].append((before, None))
        for i, server in enumerate(order):
            own, behind = measure(server), measure(bases[(i + 1) % 2])
            found[bases[(i + 1) % 2].name].append((behind, None))
            found[server.name].append((own, [(a + b) / 2 for a, b in zip(before, behind)]))
            before = behind
    return found


def several_starts(options, once):
    """What ONCE measured in each start of all servers; fewer starts, but two at least, if more would take too long."""
    end, found, longest = time.monotonic() + options.seconds, [], 0.0
    while len(found) < options.starts:
        begun = time.monotonic()
        if len(found) >= 2 and begun + longest > end:
            break
        found.append(once())
        longest = max(longest, time.monotonic() - begun)
    return found


def median_of(values, digits=1, sign="", between="-"):
    """The median, and the quartiles around it, as text."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return f"{middle:{sign}.{digits}f} ({low:{sign}.{digits}f}{between}{high:{sign}.{digits}f})"


def overheads(pairs, index):
    """Of each run, in percent of the runs right before and right behind it."""
    return [100 * (own[index] / beside[index] - 1) for own, beside in pairs]


def error_of_median(starts, name, index):
    """How far the median of the overhead would be another in other starts: from what the medians of these differ."""
    each = [statistics.median(overheads(start[name], index)) for start in starts]
    return 1.25 * statistics.stdev(each) / len(each) ** 0.5 if len(each) > 1 else float("nan")


def print_table(title, starts, scale=1.0):
    """
    STARTS: for each start of the servers what in_turn found. Two figures were measured in each round, on the clock and
    of the processors; in microseconds after SCALE.
    """
    runs = min(len(pairs) for pairs in starts[0].values())
    print(f"  {title}; {len(starts)} starts of {runs} rounds")
    heads = "".join(f"  {what + ', us':>16}  {'overhead, %':>28}" for what in WHAT.values())
    print(f"    {'':18}{heads}")
    for name in starts[0]:
        pairs = [pair for start in starts for pair in start[name]]
        line = f"    {name:18}"
        for index in WHAT:
            line += f"  {median_of([scale * own[index] for own, _ in pairs], 0):>16}"
            over = ""
            if pairs[0][1] is not None:
                median, error = median_of(overheads(pairs, index), 1, "+", " to "), error_of_median(starts, name, index)
                over = f"{median} \u00b1 {error:.1f}"
            line += f"  {over:>28}"
        print(line.rstrip(), flush=True)

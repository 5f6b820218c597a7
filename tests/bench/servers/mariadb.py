# SPDX-License-Identifier: Apache-2.0
"""Table IX: MariaDB under sysbench, read-only and read-write, with up to four triggers."""
import os
import re
import shutil
import subprocess

from .measure import (AGAIN, BASES, Failed, Server, build_trigger, cpu_seconds, in_turn, print_table, program, run,
                      run_beside, several_starts, wait_until)

NEEDS = ["mariadbd", "mariadb-install-db", "mariadb-admin", "sysbench"]
TRANSACTIONS = 50  # a round
ROWS = 10000
SETS = ["1", "1,2", "1,2,3", "1,2,3,4"]
WORKLOADS = {"read-only": "oltp_read_only", "read-write": "oltp_read_write"}
# The paper's function is fcntl, which today's server hardly calls; these are what it calls for each statement.
FUNCTIONS = ["fcntl", "recv", "send", "sendto", "recvfrom", "poll", "pread64", "pwrite64", "fdatasync", "fsync"]

DECLARED = {
    "1": "",
    "2": '<trigger id="2" class="GlobalIs"><args><symbol>THR_thread_count</symbol><above>64</above></args></trigger>',
    "3": '<trigger id="3" class="GlobalIs"><args><symbol>abort_loop</symbol><above>0</above></args></trigger>',
    "4": "",
}


def condition(number, function):
    """F_GETLK is 5; the other one is that the caller is the program itself."""
    argument = 1 if function in ("fsync", "fdatasync") else 2  # they have no second one
    return {"1": f"int(arg({argument})) == 5", "4": 'caller("mariadbd")'}.get(number)


def rule(number, function):
    """Unused: triggers are asked as for a fault, and then the call goes on."""
    when = condition(number, function)
    if when:
        return f"<function name=\"{function}\" return=\"unused\" when='{when}' />"
    return f'<function name="{function}" return="unused"><reftrigger ref="{number}" /></function>'


def scenario(numbers):
    """Each trigger by itself, so that all of them are asked at each call."""
    lines = ["<scenario>", *(DECLARED[x] for x in numbers)]
    return "\n".join([*lines, *(rule(x, f) for x in numbers for f in FUNCTIONS), "</scenario>"])


def server_command(place):
    user = ["--user=mysql"] if os.getuid() == 0 else []
    return [program("mariadbd"), "--no-defaults", *user, f"--datadir={place}/data", f"--socket={place}/socket",
            "--skip-networking", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=2", "--skip-grant-tables", f"--pid-file={place}/pid",
            "--performance-schema=OFF"]


def alive(place):
    return subprocess.run([program("mariadb-admin"), "--no-defaults", f"--socket={place}/socket", "ping"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def launch(place, name, text, triggers):
    server = Server(name, server_command(place), text, place, triggers)
    server.place = place

    def ready():
        server.check()
        return alive(place)
    try:
        wait_until(f"mariadbd ({name})", ready, 60)
    except Failed:
        server.stop()
        raise
    server.settle()
    return server


def sysbench(server, workload, *more):
    return run_beside([program("sysbench"), f"--mysql-socket={server.place}/socket", "--mysql-user=root",
                       "--mysql-db=bench", "--db-driver=mysql", "--tables=1", f"--table-size={ROWS}", "--threads=1",
                       workload, *more])


def make_data(folder):
    """One set of tables, of which each server gets a copy."""
    place = f"{folder}/first"
    os.makedirs(place)
    if os.getuid() == 0:
        shutil.chown(place, "mysql")
    user = ["--user=mysql"] if os.getuid() == 0 else []
    run([program("mariadb-install-db"), "--no-defaults", *user, f"--datadir={place}/data", "--skip-test-db",
         "--auth-root-authentication-method=normal"])
    server = launch(place, "to make tables", None, None)
    try:
        run([program("mariadb-admin"), "--no-defaults", f"--socket={place}/socket", "create", "bench"])
        sysbench(server, "oltp_read_write", "prepare")
    finally:
        server.stop()
    return f"{place}/data"


def copy_data(data, place):
    os.makedirs(place)
    run(["cp", "-a", data, f"{place}/data"])
    if os.getuid() == 0:
        shutil.chown(place, "mysql")


def load(server, workload):
    """Seconds of the clock and of the processors for a transaction."""
    before = cpu_seconds(server.pids())
    text = sysbench(server, workload, "--time=0", f"--events={TRANSACTIONS}", "run")
    server.check()
    count = re.search(r"transactions:\s+(\d+) ", text)
    seconds = re.search(r"total time:\s+([\d.]+)s", text)
    if not count or not seconds or int(count.group(1)) != TRANSACTIONS:
        raise Failed(f"{server.name}: not all transactions were made\n{text[-800:]}")
    return float(seconds.group(1)) / TRANSACTIONS, (cpu_seconds(server.pids()) - before) / TRANSACTIONS


def once(folder, data, triggers, rounds):
    """One start of all servers, each with tables of its own: workload -> what was measured."""
    servers, places = [], []
    try:
        for name in [*BASES, *SETS, AGAIN]:
            place = f"{folder}/server-{len(servers)}"
            places.append(place)
            copy_data(data, place)
            servers.append(launch(place, name, scenario(name.split(",")) if name in SETS else None, triggers))
        found = {}
        for what, workload in WORKLOADS.items():
            for server in servers:
                load(server, workload)
            found[what] = in_turn(servers, rounds, lambda s, w=workload: load(s, w))
        return found
    finally:
        for server in servers:
            server.stop()
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


def table(folder, options):
    triggers = f"{folder}/triggers"
    os.makedirs(triggers)
    build_trigger(triggers, "db_state")
    print(f"table IX: {run([program('mariadbd'), '--no-defaults', '--version']).strip()}")
    data = make_data(folder)
    starts = several_starts(options, lambda: once(folder, data, triggers, (options.rounds + 1) // 2))
    for what in WORKLOADS:
        print_table(f"{what}, {TRANSACTIONS} transactions a round", [found[what] for found in starts], 1e6)

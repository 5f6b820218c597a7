# SPDX-License-Identifier: Apache-2.0
"""Table IX: MariaDB under sysbench, read-only and read-write, with up to four triggers."""
import os
import re
import shutil
import subprocess

from .measure import Failed, Server, build_trigger, cpu_seconds, print_table, program, run, wait_until

NEEDS = ["mariadbd", "mariadb-install-db", "mariadb-admin", "sysbench"]
SECONDS = 1
ROWS = 10000
WORKLOADS = {"read-only": "oltp_read_only", "read-write": "oltp_read_write"}
# The paper's function is fcntl, which today's server hardly calls; these are what it calls for each statement.
FUNCTIONS = ["fcntl", "recv", "send", "sendto", "recvfrom", "poll", "pread64", "pwrite64", "fdatasync", "fsync"]

DECLARED = {
    "1": "",
    "2": '<trigger id="2" class="GlobalIs"><args><symbol>THR_thread_count</symbol><above>64</above></args></trigger>',
    "3": '<trigger id="3" class="GlobalIs"><args><symbol>abort_loop</symbol><above>0</above></args></trigger>',
    "4": "",
}


# F_GETLK is 5; the other one is that the caller is the program itself.
CONDITIONS = {"1": "int(arg(2)) == 5", "4": 'caller("mariadbd")'}


def rule(number, function):
    """Unused: triggers are asked as for a fault, and then the call goes on."""
    if number in CONDITIONS:
        return f"<function name=\"{function}\" return=\"unused\" when='{CONDITIONS[number]}' />"
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
    return server


def sysbench(server, workload, *more):
    return run([program("sysbench"), f"--mysql-socket={server.place}/socket", "--mysql-user=root", "--mysql-db=bench",
                "--db-driver=mysql", "--tables=1", f"--table-size={ROWS}", "--threads=1", workload, *more])


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


def measure(server, workload):
    """Transactions a second, and seconds of the processors for each."""
    before = cpu_seconds(server.pids())
    text = sysbench(server, workload, f"--time={SECONDS}", "run")
    server.check()
    found = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", text)
    if not found or int(found.group(1)) == 0:
        raise Failed(f"{server.name}: no transactions\n{text[-800:]}")
    return float(found.group(2)), (cpu_seconds(server.pids()) - before) / int(found.group(1))


def table(folder, options):
    triggers = f"{folder}/triggers"
    os.makedirs(triggers)
    build_trigger(triggers, "db_state")
    print(f"table IX: {run([program('mariadbd'), '--no-defaults', '--version']).strip()}")
    data, servers = make_data(folder), []
    try:
        for numbers in ("", "1", "12", "123", "1234"):
            place = f"{folder}/server-{numbers or 'plain'}"
            copy_data(data, place)
            servers.append(launch(place, ",".join(numbers) or "no triggers", scenario(numbers) if numbers else None,
                                  triggers))
        copy_data(data, f"{folder}/server-again")
        servers.append(launch(f"{folder}/server-again", "no triggers, again", None, None))
        for what, workload in WORKLOADS.items():
            rate, cpu = {s.name: [] for s in servers}, {s.name: [] for s in servers}
            for i in range(options.rounds):
                for server in servers[i % len(servers):] + servers[:i % len(servers)]:
                    transactions, used = measure(server, workload)
                    rate[server.name].append(transactions)
                    cpu[server.name].append(1000 * used)
            print_table(what, "transactions/s", rate, cpu)
    finally:
        for server in servers:
            server.stop()

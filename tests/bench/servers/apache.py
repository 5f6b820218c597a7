# SPDX-License-Identifier: Apache-2.0
"""Table VIII: Apache httpd, a static and a PHP page, with up to five triggers on calls of APR."""
import os
import subprocess
import tempfile

from .measure import (AGAIN, BASES, Failed, Server, build_trigger, cpu_seconds, free_port, in_turn, print_table, program,
                      run, run_beside, several_starts, wait_until)

NEEDS = ["apache2", "ab", "apxs"]
PAGES = {"static": ("index.html", 100), "PHP": ("info.php", 10)}
# What a request calls of APR that has a file or socket as first argument: 11 calls for the static page.
FUNCTIONS = ["apr_file_read", "apr_socket_recv", "apr_socket_sendv", "apr_socket_opt_set"]

DECLARED = {
    "A": '<trigger id="A" class="AprSocket" />',
    "B": '<trigger id="B" class="CallStackTrigger"><args><frame><module>apache2</module></frame></args></trigger>',
    "C": '<trigger id="C" class="CallStackTrigger"><args><frame><function>ap_process_request_internal</function></frame>'
         "</args></trigger>",
    "D": '<trigger id="D" class="MethodIs"><args><method>POST</method></args></trigger>',
    "E": '<trigger id="E" class="MutexHeld" />',
}
SETS = ["A", "A+B", "A+B+C", "A+B+C+D", "A+B+C+D+E", "A,B,C,D,E"]
MUTEX = ("pthread_mutex_lock", "pthread_mutex_unlock")


def rule(letters, function):
    """Unused: triggers are asked as for a fault, and then the call goes on."""
    asked = "".join(f'<reftrigger ref="{x}" />' for x in letters)
    return f'<function name="{function}" return="unused">{asked}</function>'


def scenario(name):
    """A+B: both must be true, as in the paper. A,B: each by itself, so that both are asked at each call."""
    letters = name.replace("+", "").replace(",", "")
    groups = name.split(",")
    lines = ["<scenario>", *(DECLARED[x] for x in letters)]
    lines += [rule(group.split("+"), f) for group in groups for f in FUNCTIONS]
    if "E" in letters:
        lines += [f'<function name="{f}" return="unused"><reftrigger ref="E" /></function>' for f in MUTEX]
    return "\n".join([*lines, "</scenario>"])


CONFIG = """ServerRoot {folder}
DefaultRuntimeDir {folder}
PidFile {folder}/pid
Listen 127.0.0.1:{port}
ServerName localhost
ErrorLog {folder}/error.log
DocumentRoot {folder}/pages
{user}
LoadModule mpm_prefork_module {modules}/mod_mpm_prefork.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule mime_module {modules}/mod_mime.so
LoadModule dir_module {modules}/mod_dir.so
{php}
TypesConfig /etc/mime.types
ExtendedStatus On
EnableSendfile Off
EnableMMAP Off
StartServers 2
MinSpareServers 2
MaxSpareServers 2
MaxRequestWorkers 2
ServerLimit 2
MaxConnectionsPerChild 0
KeepAlive Off
"""


def modules_folder():
    return run([program("apxs"), "-q", "LIBEXECDIR"]).strip()


def configure(folder, port, php, change_user=True):
    os.makedirs(f"{folder}/pages")
    with open(f"{folder}/pages/index.html", "w", encoding="ascii") as f:
        f.write("<html><body>" + "A line of a static page.\n" * 200 + "</body></html>\n")
    with open(f"{folder}/pages/info.php", "w", encoding="ascii") as f:
        f.write("<?php phpinfo(); ?>\n")
    path = f"{folder}/apache.conf"
    user = "User www-data\nGroup www-data" if change_user and os.getuid() == 0 else ""
    load = f"LoadModule php_module {php}\nAddType application/x-httpd-php .php" if php else ""
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG.format(folder=folder, port=port, modules=modules_folder(), user=user, php=load))
    for place in (folder, f"{folder}/pages"):
        os.chmod(place, 0o755)
    return path


def answers(port):
    return subprocess.run([program("ab"), "-q", "-n", "1", f"http://127.0.0.1:{port}/index.html"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def load(server, page, requests):
    """Seconds of the clock and of the processors for a request."""
    before = cpu_seconds(server.pids())
    text = run_beside([program("ab"), "-q", "-n", str(requests), "-c", "1", f"http://127.0.0.1:{server.port}/{page}"])
    server.check()
    found = {line.split(":")[0]: line.split(":")[1].split()[0] for line in text.splitlines() if ":" in line and
             line.split(":")[1].strip()}
    if int(found["Complete requests"]) != requests or "Non-2xx responses" in found:
        raise Failed(f"{server.name}: not all requests were answered\n{text[-800:]}")
    return 1 / float(found["Requests per second"]), (cpu_seconds(server.pids()) - before) / requests


def start(folder, name, triggers, php):
    """A server with the triggers that its name says."""
    place = tempfile.mkdtemp(dir=folder)
    os.chmod(place, 0o755)
    port = free_port()
    config = configure(place, port, php)
    server = Server(name, [program("apache2"), "-D", "FOREGROUND", "-f", config],
                    scenario(name) if name in SETS else None, place, triggers)
    server.port = port

    def ready():
        server.check()
        return answers(port)
    try:
        wait_until(f"apache2 ({name})", ready)
    except Failed:
        server.stop()
        raise
    server.settle()
    return server


def build(folder):
    triggers = f"{folder}/triggers"
    os.makedirs(triggers)
    apr = run(["apxs", "-q", "INCLUDEDIR"]).strip()
    build_trigger(triggers, "apr_state", f"-I{apr}", *run(["apr-config", "--includes", "--cppflags"]).split())
    return triggers


def once(folder, triggers, php, pages, rounds):
    """One start of all servers: page -> what was measured."""
    servers = []
    try:
        for name in [*BASES, *SETS, AGAIN]:
            servers.append(start(folder, name, triggers, php))
        found = {}
        for what in pages:
            page, requests = PAGES[what]
            for server in servers:
                load(server, page, requests)
            found[what] = in_turn(servers, rounds, lambda s, p=page, n=requests: load(s, p, n))
        return found
    finally:
        for server in servers:
            server.stop()


def table(folder, options):
    triggers = build(folder)
    php = next((p for p in [f"{modules_folder()}/libphp{v}.so" for v in ("8.2", "8.3", "8.4", "7.4")]
                if os.path.exists(p)), None)
    print(f"table VIII: {run([program('apache2'), '-v']).splitlines()[0]}")
    pages = [what for what in PAGES if what != "PHP" or php]
    starts = several_starts(options, lambda: once(folder, triggers, php, pages, options.rounds))
    for what in pages:
        requests = PAGES[what][1]
        print_table(f"{what}, {requests} requests a round", [found[what] for found in starts], 1e6)
    if not php:
        print("  PHP: not measured, there is no libapache2-mod-php")

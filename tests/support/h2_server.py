"""H2 as a server of its own, which two processes can reach, and a study that reads it by a monitor."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from steelyard.subjects.drivers.connection import jars, java

H2 = "com.h2database:h2:2.3.232"
BY_JDBC = """
name = "own"
question = "What does it count?"
[subject]
kind = "jdbc"
dsn = "{url}"
[workload]
kind = "sql"
driver = "com.h2database:h2:2.3.232"
driver_heap_mib = 64
driver_properties = {{ user = "sa" }}
[workload.statements.hit]
sql = "update hit set n = n + 5 where id = 1"
[monitors.hits]
sql = "{sql}"
counters = ["n"]
every_s = 0.3
[monitors.sessions]
sql = "select count(*) as sessions from information_schema.sessions"
gauges = ["sessions"]
[plan]
clients = [2]
warm_up_s = 0
measure_s = 1
cool_down_s = 0
blocks = 1
"""


@contextmanager
def h2_server(folder: Path) -> Generator[str]:
    """Its URL, of a database with a table `hit` of one row."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (jar,) = jars(H2, Path())
    server = subprocess.Popen(
        [java(), "-Dh2.bindAddress=127.0.0.1", "-cp", jar, "org.h2.tools.Server", "-tcp",
         "-tcpPort", str(port), "-ifNotExists", "-baseDir", folder],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            time.sleep(0.1)
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
        url = f"jdbc:h2:tcp://127.0.0.1:{port}/./own"
        script = "create table hit (id int primary key, n bigint); insert into hit values (1, 0)"
        shell = [java(), "-cp", jar, "org.h2.tools.Shell", "-url", url, "-user", "sa", "-password", ""]
        subprocess.run([*shell, "-sql", script], check=True, capture_output=True, timeout=60)
        yield url
    finally:
        server.kill()
        server.wait()

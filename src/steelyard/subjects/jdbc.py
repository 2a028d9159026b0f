"""Any server by its JDBC driver: at an address, or a database in the engine's own process.

`{folder}` in the URL is a folder of the lab's: the database in it is the study's own, made anew for each run
by the statements of the workload. Any other database is used as it is.
"""

import re
import shutil

from steelyard.errors import InputError
from steelyard.study.passwords import VARIABLE, from_environment
from steelyard.study.study import Option, Options, Study
from steelyard.study.workloads.statements import StatementWorkload
from steelyard.subjects import Bench, Kind, Load, Server, SharedSubject
from steelyard.subjects.drivers.connection import IN_PROCESS, by_driver, connection_of, driven, prepared
from steelyard.workloads import Work, work_of

_PREPARE_S = 60.0
# by the beginning of the URL: SQL that sets one setting of a session
_SET = {
    "jdbc:oracle:": "alter session set {} = {}",
    "jdbc:sybase:": "set {} {}",
    "jdbc:jtds:": "set {} {}",
    "jdbc:sqlserver:": "set {} {}",
}
# jdbc:oracle:thin:@//db.example:1521/sales, jdbc:sqlserver://db.example:1433;..., jdbc:jtds:sybase://db:5000
_HOST = re.compile(r"(?:@|//)+([^:/;?@]+)(?::(\d+))?")

# databases in the process that connects, in memory or in files
_EMBEDDED = re.compile(r"jdbc:(h2|hsqldb|derby|sqlite):(?!//|(tcp|ssl|hsqls?|https?):)")
# a second process that connects to these finds an empty database
_IN_MEMORY = re.compile(r":mem(ory)?:")


def check(study: Study, options: Options) -> None:
    """Raises InputError for an option without a URL or a driver, and for data that a driver cannot load."""
    for option in options:
        if (workload := driven(option)) is None:
            hint = 'driver = "GROUP:ARTIFACT:VERSION" by Maven, or the path of a jar'
            raise InputError("the subject jdbc needs workload.driver in every option", hint, ("workload",))
        if not (url := _url(study, option)):
            hint = 'dsn = "jdbc:postgresql://HOST/DATABASE?user=NAME&password=${PASSWORD}"'
            raise InputError("the subject jdbc needs the URL of its server", hint, ("subject",))
        if not url.startswith("jdbc:"):
            raise InputError(f"{url}: a URL of JDBC begins with jdbc:", at=("subject",))
        if study.fleet is not None and (IN_PROCESS in url or not _HOST.search(url)):
            raise InputError(
                f"{url}: a database in the load engine's process is loaded by one host",
                "start the database's own server and give its URL, or leave the fleet out",
                ("fleet", "hosts"),
            )
        if study.sql_monitors and (IN_PROCESS in url or _IN_MEMORY.search(url)):
            raise InputError(
                "monitors by SQL: a database in the load engine's process has no second connection",
                "start the database's own server (H2: org.h2.tools.Server -tcp) and give its URL",
                ("monitors", *study.sql_monitors)[:2],
            )
        if work_of(option.workload).script and IN_PROCESS not in url and _EMBEDDED.match(url):
            raise InputError(
                f"{url}: schema_sql is run only in a database of the lab's own, whose URL has {IN_PROCESS}",
                f"write jdbc:h2:{IN_PROCESS}/NAME, or leave schema_sql out: the database is used as it is",
                ("workload", "driver_url") if workload.driver_url else ("subject", "dsn"),
            )
    work = work_of(study.workload)
    if work.data is not None or work.directory is not None:
        hint = "schema_sql and schema_file take statements that end in ;"
        raise InputError("a JDBC driver loads no data files", hint, ("workload", "kind"))


class _Jdbc(SharedSubject):
    """The server at a URL, as it is; or a database of the study's own in the engine's process."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._folder = bench.folder / "database"

    def start(self, option: Option) -> Load:
        """Connects once: makes data where they are ours, reads facts. Raises InputError, SubjectFailed."""
        study = self._bench.study
        shown_url = _url(study, option)
        url = VARIABLE.sub(lambda name: from_environment(name[1], "the URL"), shown_url)
        own = IN_PROCESS in url
        if own:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()
            url = url.replace(IN_PROCESS, str(self._folder))
        connection = connection_of(option, url, self._bench.study_folder, {})
        limit_s = study.plan.set_up_limit_s if own else _PREPARE_S
        statements = load_statements(self._bench.work) if own else []
        found = prepared(connection, statements, study.subject.facts, limit_s, shown_url)
        facts = {
            "origin": "a database in the load engine's process" if own else "a running server at an address",
            "version": found["version"],
            "build": found["driver"],
            "settings": {
                **{f"driver.{name}": value for name, value in found["properties"].items()},
                **{f"fact.{name}": value for name, value in found["facts"].items()},
            },
        }
        form = next((form for beginning, form in _SET.items() if url.startswith(beginning)), "set {} = {}")
        session = tuple(form.format(name, value) for name, value in option.session.items())
        if own:
            return by_driver(Load(plan={"session": list(session)}, facts=facts), connection)
        # for messages and monitors: the driver itself reads the URL
        at = _HOST.search(url)
        host, port = (at[1], int(at[2] or 0)) if at else ("localhost", 0)
        server = Server(host=host, port=port, user="", database="", protocol="jdbc", session=session)
        return by_driver(Load(server=server, facts=facts), connection)

    def stop(self) -> str:
        """Nothing to do: a database in the engine's process ended with it; no server's log is available."""
        shutil.rmtree(self._folder, ignore_errors=True)
        return ""


def _url(study: Study, option: Option) -> str:
    workload = driven(option)
    return (workload.driver_url if workload else "") or study.subject.dsn or ""


def load_statements(work: Work) -> list[str]:
    """The statements that make and fill the tables, one by one: a driver executes no scripts."""
    # they end in `;`, outside of quotes and comments
    parts = re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|;|[^'\";/-]+|.", work.script, re.DOTALL)
    statements = [""]
    for part in parts:
        if part == ";":
            statements.append("")
        elif not part.startswith(("--", "/*")):
            statements[-1] += part
    return list(filter(None, map(str.strip, statements)))


KIND = Kind(
    "a JDBC server",
    make=_Jdbc,
    check=check,
    takes=(StatementWorkload,),
    lacks={
        **dict.fromkeys(("bindir", "settings"), "set it by driver_properties, or on the server"),
        "writes": "leave it out: what a driver sends is not tried before the first run",
    },
    scopes={
        "session": "settings of a session",
        "client": "the workload's and the driver's",
        "host": "this machine's",
    },
    turns=True,
    set_up_s=0.5,
    statement_errors=("42*", "0A*", "3D*", "3F*"),
    drivers=True,
    sql_monitors=True,
)

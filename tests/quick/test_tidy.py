"""The structure that the design promises, kept by test: arrows, sizes, names, no paths of a machine."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
from collections.abc import Container, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "steelyard"
MODULES = sorted(SOURCE.rglob("*.py"))

# a package may import only from those named after it; every module may import the metadata
ARROWS = {
    "declared_metrics": set[str](),
    "study": set[str](),
    "host": {"study"},
    "workloads": {"study"},
    "monitors": {"declared_metrics", "study", "host"},
    "subjects": {"study", "host", "workloads"},
    # what a run is made of and when it is disturbed: lab, guests included, bundle and analysis agree on it
    "run_tables": set[str](),
    "lab": {"declared_metrics", "study", "host", "workloads", "monitors", "subjects", "run_tables"},
    "fleet": {"study", "monitors", "run_tables", "lab"},
    "bundle": {"declared_metrics", "study", "run_tables"},
    "analysis": {"declared_metrics", "study", "run_tables", "bundle"},
    "report": {"study", "bundle", "analysis"},
    "captures": {"study", "workloads"},
    "recordings": {"declared_metrics", "study", "run_tables", "bundle"},
    "catalog": set[str](),
    "workflow": {
        "declared_metrics",
        "study",
        "host",
        "workloads",
        "monitors",
        "subjects",
        "run_tables",
        "lab",
        "fleet",
        "bundle",
        "analysis",
        "report",
        "recordings",
    },
}
# within a package: a room (a folder or a module) may import only from rooms on the lines above its own
ROOMS = {
    "study": """
        kernel_files key_types
        expressions
        setting_names
        monitors
        fleet host_settings passwords source
        settings_file
        script_study
        workloads
        files
        study
        validation_errors
        factors
        plan
        load_study
        overrides
    """,
    "host": """
        finding kernel mariadb_login
        cpus
        processes
        guests
    """,
    "subjects": """
        drivers servers rehearsal
        postgres
        mariadb sqlite valkey dispatcher guests jdbc latches programs null in_turns
        statements_of_data
    """,
    "fleet": """
        connection
        on_host
        merge up worker
        bus
        engine
        place
    """,
    "monitors": """
        system postgres mariadb valkey
        sql
    """,
    "run_tables": """
        schema disturbance
        rows
        questions
    """,
    "lab": """
        engines observe
        run_parts within_guest
        environment
        machine
        laboratory doctor
        rehearsal
        alone turns
        runner
        reboots
    """,
    "bundle": """
        evidence
        storage
        reader writer
        series export
    """,
    "analysis": """
        judgement
        statistics
        metrics latches kernel
        comparison
        load validity
        verdict
        judge bundles
    """,
    "captures": """
        statements
        entry
        formats selection
        folder
        mix
    """,
    "recordings": """
        cells limits published samples schedule
        headings source
        report
        columns events tables
        lines
        formats
        filing merge registry
        notices runs table_files tables_of_run
        assemble
        importing
    """,
    "report": """
        about drawing table
        presented
        charts tables
        export page terminal
    """,
    "workflow": """
        complaint exit_codes measured_bursts prepare
        runs
        compare measure resolution show
        session
    """,
}
# who may call the extension: what asks and what shows does not; analysis simulates with it
NATIVE = {"host", "workloads", "subjects", "lab", "fleet", "bundle", "recordings", "analysis"}
# modules beside the packages, which import nothing of ours: every package may use them
GROUND = {"errors", "quantities", "printable", "sql_text", "user_cache", "version"}
# the rooms of a crate (folders and modules at the top of src): one may use only those that stand before it
CRATE_ROOMS = {
    "engine": [
        "clock", "columns", "error", "histogram", "listener", "phase", "pinning", "process", "usage",
    ],
    "load": [
        "error", "shared_memory", "plan", "statements", "record", "progress", "io", "protocol", "client",
        "event_loop", "engine", "sqlite", "drivers", "stub",
    ],
    "latch": [
        "error", "primitives", "protocols", "caches", "calibrate", "registry", "plan", "point", "workers",
        "engine", "simulate",
    ],
    "dispatch": [
        "error", "tables", "plan", "machine", "record", "sim", "result", "thread_life", "engine", "calibrate",
    ],
    "probe": [
        "error", "plan", "perf", "symbols", "sources", "tallies", "result", "router", "drain", "collector",
    ],
}  # fmt: skip
LONGEST_MODULE = 300
LONGEST_FUNCTION = 60
UNITS = ("ns", "us", "ms", "s", "bytes", "percent", "per_s", "per_txn", "hz", "total")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            if node.module == "steelyard":
                yield from (f"steelyard.{a.name}" for a in node.names)


def taken(path: Path) -> Iterator[str]:
    """Every name that a module imports, with the module it may be: `from a import b` takes a and a.b."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_package_imports_only_from_its_left() -> None:
    assert not [
        f"{named(path)} imports {name}"
        for package, left in ARROWS.items()
        for path in (SOURCE / package).rglob("*.py")
        for name in imports(path)
        if name.startswith("steelyard.")
        and name.split(".")[1] not in left | GROUND | {package, *(["_core"] if package in NATIVE else [])}
    ]


def test_a_report_computes_nothing_from_a_bundle_by_sql() -> None:
    asks = re.compile(r"\bduckdb\b|\.columns\(")
    assert not [named(path) for path in (SOURCE / "report").rglob("*.py") if asks.search(path.read_text())]


def test_every_package_has_its_arrows_written_down() -> None:
    packages = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").exists()}
    assert packages == ARROWS.keys() | {"cli"}


def upward(package: str, path: Path) -> Iterator[str]:
    """Imports of a module that lead to its own floor or to one above."""
    floors = {room: floor for floor, line in enumerate(ROOMS[package].split("\n")) for room in line.split()}
    room = path.relative_to(SOURCE / package).parts[0].removesuffix(".py")
    for name in imports(path):
        # the definitions of a package itself, in its __init__, are below all of its rooms
        other = name.removeprefix(f"steelyard.{package}.").partition(".")[0]
        if room != "__init__" and other != room and floors.get(other, -1) >= floors[room]:
            yield f"{named(path)} imports {name}"


def test_a_room_imports_only_from_rooms_below_it() -> None:
    modules = [(package, path) for package in ROOMS for path in (SOURCE / package).rglob("*.py")]
    assert not [wrong for package, path in modules for wrong in upward(package, path)]


def test_every_room_has_its_floor() -> None:
    found = {
        # git leaves a package that is gone with what was compiled of it
        package: {
            path.relative_to(SOURCE / package).parts[0].removesuffix(".py")
            for path in (SOURCE / package).rglob("*.py")
        }
        - {"__init__"}
        for package in ROOMS
    }
    assert found == {package: set(rooms.split()) for package, rooms in ROOMS.items()}


def test_no_modules_import_one_another_in_a_circle() -> None:
    names = {
        ".".join(("steelyard", *path.relative_to(SOURCE).with_suffix("").parts)): path for path in MODULES
    }
    below = {name: {used for used in taken(path) if used in names} for name, path in names.items()}
    while free := [name for name, used in below.items() if not used & below.keys()]:
        for name in free:
            del below[name]
    assert not below


def test_an_option_is_resolved_once_when_its_study_is_read() -> None:
    resolvers = {"study.plan.options", "study.factors.changed", "study.factors.changes_of"}
    users = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        if {f"steelyard.{name}" for name in resolvers} & set(taken(path))
    }
    assert users == {"study/plan.py", "study/load_study.py"}


def test_a_module_is_one_idea() -> None:
    rust = {path: path.read_text().partition("#[cfg(test)]")[0] for path in ROOT.glob("crates/*/src/**/*.rs")}
    code = {path: path.read_text() for path in MODULES} | rust
    lines = {named(path): len(text.splitlines()) for path, text in code.items()}
    assert not {path: count for path, count in lines.items() if count > LONGEST_MODULE}


Module = tuple[str, ...]


def rust_modules(crate: str) -> dict[Module, Path]:
    """The files of a crate by module path; lib.rs is the empty one."""
    source = ROOT / "crates" / crate / "src"
    files = {path.relative_to(source).with_suffix("").parts: path for path in source.rglob("*.rs")}
    return {() if module == ("lib",) else module: path for module, path in files.items()}


def rust_paths(tree: str) -> Iterator[str]:
    """The paths of a use tree: `a::{b, c::d}` gives `a::b` and `a::c::d`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        yield tree.split(" as ")[0].strip()
        return
    depth, start = 0, 0
    inner = rest[: rest.rindex("}")] + ","
    for at, character in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield from (head.strip() + path for path in rust_paths(inner[start:at]) if path)
            start = at + 1


def rust_uses(module: Module, path: Path, modules: Container[Module]) -> Iterator[Module]:
    """The modules of the same crate that a file uses."""
    code, *tests = re.split(r"#\[cfg\([^\n]*\btest\b.*\nmod ", re.sub(r"//.*", "", path.read_text()))
    for text, here in [(code, module), ("".join(tests), (*module, "tests"))]:
        trees = re.findall(r"\buse ([^;]+);", text) + re.findall(r"\b(?:crate|super)(?:::\w+)+", text)
        for name in (name for tree in trees for name in rust_paths(tree)):
            first, *rest = name.split("::")
            at = () if first == "crate" else here
            rest = rest if first in {"crate", "self"} else [first, *rest]
            while rest and rest[0] == "super":
                at, rest = at[:-1], rest[1:]
            full = (*at, *rest)
            found = next((full[:n] for n in range(len(full), 0, -1) if full[:n] in modules), ())
            # a path that begins with another crate leads to the file itself
            if found and found != module:
                yield found


def test_a_room_of_a_crate_uses_only_those_before_it() -> None:
    crates = {crate: rust_modules(crate) for crate in CRATE_ROOMS}
    found = {crate: {module[0] for module in modules if module} for crate, modules in crates.items()}
    assert found == {crate: set(rooms) for crate, rooms in CRATE_ROOMS.items()}
    assert not [
        f"{named(path)} uses {'::'.join(used)}"
        for crate, rooms in CRATE_ROOMS.items()
        for module, path in crates[crate].items()
        if module
        for used in rust_uses(module, path, crates[crate])
        if rooms.index(used[0]) > rooms.index(module[0])
    ]


def test_the_modules_of_a_crate_go_in_no_circle() -> None:
    for crate in CRATE_ROOMS:
        modules = rust_modules(crate)
        graph = {module: set(rust_uses(module, path, modules)) for module, path in modules.items() if module}
        graphlib.TopologicalSorter(graph).prepare()


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_a_function_fits_on_a_screen() -> None:
    assert not [
        f"{named(path)}:{f.lineno}: {f.name}"
        for path in MODULES
        for f in functions(path)
        if (f.end_lineno or 0) - f.lineno >= LONGEST_FUNCTION
    ]


def test_a_unit_stands_last_in_a_public_name() -> None:
    inner = re.compile(r"_(ns|us|ms|bytes|percent)_(?!per_|total$|limit$|mean$|max$)")
    wrong = [
        f"{named(path)}: {name}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        for name in [node.target.id]
        if not name.startswith("_") and inner.search(name)
    ]
    assert not wrong


def test_no_place_but_subjects_monitors_and_analysis_names_a_server() -> None:
    servers = {"postgres", "mariadb", "sqlite"}
    wrong = [
        f"{named(path)}:{node.lineno}: {node.value}"
        for path in MODULES
        if path.relative_to(SOURCE).parts[0] not in ("subjects", "monitors", "analysis")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in servers
    ]
    assert not wrong


def test_a_monitor_subject_and_workload_is_one_registered_file() -> None:
    from steelyard.monitors import MONITORS
    from steelyard.subjects import SUBJECTS
    from steelyard.workloads import WORKLOADS

    for registry in (MONITORS, SUBJECTS, WORKLOADS):
        for place in registry.values():
            module = place.partition(":")[0].replace(".", "/")
            assert (ROOT / "src" / f"{module}.py").exists(), place


def test_a_chart_is_one_function_and_its_line() -> None:
    from steelyard.report.charts import CHARTS

    folder = SOURCE / "report" / "charts"
    drawn = {
        f.name
        for path in folder.rglob("*.py")
        for f in functions(path)
        if f.returns and ast.unparse(f.returns) == "Figure | None"
    }
    # each group of gauges is a chart of its own; compare alone shows runs from the start of their load
    assert drawn == {chart.__name__ for chart in CHARTS} | {"since_start"}
    assert len(CHARTS) == len(set(CHARTS)) == 27


def test_no_file_names_a_path_of_a_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    homes = re.compile(r"/(?:home|Users|root)/\w+")
    wrong = [
        f"{name}: {found[0]}"
        for name in filter(None, listed)
        if (path := ROOT / name).suffix in {".py", ".rs", ".md", ".toml", ".j2", ".yaml", ""}
        and path.is_file()
        and path != Path(__file__)
        and (found := homes.search(path.read_text(errors="replace")))
    ]
    assert not wrong

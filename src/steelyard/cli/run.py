"""steelyard run STUDY."""

from pathlib import Path
from typing import Any

import click

from steelyard.cli.completion import PATH, as_json, studies, subjects

# not 100: a server's own timers run at round rates, and would be sampled always or never
_PROFILE_HZ = 99
_DIAGNOSTIC_S = 2.0


@click.command()
@click.argument("study", required=False, shell_complete=studies)
@click.option(
    "--pgbench",
    multiple=True,
    metavar="SCRIPT[@WEIGHT]",
    help="In place of STUDY, a script of pgbench: a file, or tpcb-like, simple-update, select-only. May be"
    " given more than once.",
)
@click.option("--scale", type=click.IntRange(1), help="pgbench's scale factor. Default: 1.")
@click.option(
    "--define",
    "-D",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable of the scripts, as pgbench's -D.",
)
@click.option(
    "--settings",
    "--against",
    multiple=True,
    metavar="FILE",
    type=PATH,
    help="Compare the settings of files (postgresql.conf, my.cnf), in place of the study's factors; of one"
    " file with the server as it is.",
)
@click.option("--bundle", metavar="FOLDER", type=PATH, help="Where to write. Default: NAME-DATE.bundle here.")
@click.option(
    "--blocks", type=click.IntRange(1), help="Number of blocks (runs per option), instead of the plan's."
)
@click.option("--clients", help="Load points (numbers of clients), instead of the plan's: 1,8,64.")
@click.option(
    "--measure", "measure_s", type=click.FloatRange(0.1), help="Seconds measured, instead of the plan's."
)
@click.option(
    "--until",
    help="Stop when every interval of a ratio is this narrow (half-width): 1%. At the end says how long that"
    " takes otherwise.",
)
@click.option(
    "--quick", is_flag=True, help="Fewer blocks, shorter load points, for a first look; says what it loses."
)
@click.option(
    "--subject",
    shell_complete=subjects,
    help="Run the study on another server: `statements --subject mariadb`.",
)
@click.option(
    "--fleet",
    metavar="FILE",
    type=PATH,
    help="Load from the hosts of FILE, which `steelyard fleet up FILE` has started.",
)
@click.option("--profile", is_flag=True, help="CPU profile: 99 stacks per second and CPU.")
@click.option("--locks", is_flag=True, help="Record waits for kernel locks, by lock and call site.")
@click.option(
    "--scheduling-trace",
    is_flag=True,
    help="Trace scheduling in a diagnostic phase of 2 s after each load point.",
)
@click.option(
    "--latch-count",
    is_flag=True,
    help="Count gets of PostgreSQL's latches in a diagnostic phase of 2 s after each load point.",
)
@click.option(
    "--dry-run", is_flag=True, help="Print the plan and all that is missing (then exit code 2); run nothing."
)
@as_json("The judgement as JSON on standard output.")
def command(
    study: str | None,
    pgbench: tuple[str, ...],
    scale: int | None,
    variables: tuple[str, ...],
    bundle: Path | None,
    subject: str | None,
    profile: bool,
    locks: bool,
    scheduling_trace: bool,
    latch_count: bool,
    dry_run: bool,
    as_json: bool,
    **changes: Any,
) -> None:
    """Run STUDY: a built-in study by name (see `steelyard studies`), or a TOML file; or scripts of pgbench.

    Prints the plan first: options, blocks, minutes. Ctrl-C keeps the finished runs; continue with
    `steelyard resume BUNDLE`.
    """
    from steelyard.study.overrides import adjusted
    from steelyard.study.script_study import scripts_study
    from steelyard.workflow.session import run_study

    if (study is None) == (not pgbench):
        raise click.UsageError("give a STUDY, or scripts by --pgbench")
    if (scale or variables) and not pgbench:
        raise click.UsageError("--scale and --define need --pgbench; a study has workload.scale, .variables")
    if subject and pgbench:
        raise click.UsageError("--subject is for built-in studies; other programs: a study's subject.bindir")
    if dry_run and as_json:
        raise click.UsageError("--json: a dry run has no judgement")
    requested = (
        ("profile_hz", profile, _PROFILE_HZ),
        ("locks", locks, True),
        ("scheduling_trace_s", scheduling_trace, _DIAGNOSTIC_S),
        ("latch_count_s", latch_count, _DIAGNOSTIC_S),
    )
    chosen = adjusted(
        study or "--pgbench",
        made=scripts_study(pgbench, scale or 1, variables) if pgbench else "",
        subject=subject,
        probes={key: value for key, enabled, value in requested if enabled},
        **changes,
    )
    run_study(chosen, bundle, dry_run=dry_run, as_json=as_json)

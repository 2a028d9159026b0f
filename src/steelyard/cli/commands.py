"""The list of commands, and how each of them may end."""

import io
import sys
import tempfile
from importlib import import_module
from keyword import iskeyword
from pathlib import Path

import click

from steelyard.errors import InputError, nearest
from steelyard.host.processes.limits import permit_files
from steelyard.host.processes.signals import Interrupts
from steelyard.workflow.complaint import EXHAUSTED, GONE, complain, complain_of, say
from steelyard.workflow.exit_codes import Exit

# by command, one line for --help, so that --help imports none of them
_COMMANDS = {
    "try": "First result: what an index brings, in half a minute.",
    "run": "Run a study, built-in or your own; verdict, bundle, report.",
    "resume": "Continue an interrupted study.",
    "report": "Print the verdict of a bundle and write its report again.",
    "compare": "Compare the same study from two or more bundles.",
    "capture-load": "Read a server's logs as a workload that can be replayed.",
    "import": "Turn measurements made elsewhere into a bundle, to report or compare.",
    "capture": "Print a script that records a run on another machine, for import.",
    "sql": "Query a bundle with SQL.",
    "export": "Export the tables of a bundle as CSV, Parquet or JSON.",
    "studies": "List the built-in studies; `studies NAME` prints a study file.",
    "schema": "JSON Schema of study files, of --json, or the tables of a bundle.",
    "data": "Print the SQL that creates and fills the tables of a study's workload.",
    "fleet": "Load from several machines: start and check them.",
    "dispatch": "Print a dispatch table, or trace a thread under it.",
    "calibrate": "Measure the cost of a context switch and a cache miss on this machine.",
    "doctor": "Check what this machine and user permit, with remedies.",
}

# what other programs call the file that they write
_OUTPUT = ("-o", "-O", "--out", "--output", "--output-file")


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = cmd_name.replace("-", "_") + "_" * iskeyword(cmd_name)
        return import_module(f"steelyard.cli.{module}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        unknown = args and args[0] not in _COMMANDS and not args[0].startswith("-")
        if unknown and not ctx.resilient_parsing:
            raise InputError(f'no command "{args[0]}"{nearest(args[0], _COMMANDS)}', "steelyard --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _version(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        from steelyard.version import VERSION, commit

        found = commit(Path(__file__).parents[1])
        changed = ", changed since" if found.get("package_git_dirty") else ""
        click.echo(f"steelyard {VERSION}, commit {found.get('package_git_commit', 'unknown')[:12]}{changed}")
        context.exit()


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="The version."
)
def cli() -> None:
    """Weigh database servers under load, side by side.

    \b
    steelyard try              what an index brings, in half a minute
    steelyard run demo         four ways of handling statements, in three minutes
    steelyard run my.toml      your own question

    Exit codes: 0 done, 1 study failed, 2 bad input, 3 interrupted (finished runs are kept),
    4 paused: boot the named kernel, then resume.
    """


def _instead(error: click.NoSuchOption) -> str:
    """What to write for an option that does not exist: where output goes, else where options are listed."""
    name, context = error.option_name, error.ctx
    if context is None or Path(name).exists():
        return f"write ./{name} for a file whose name begins with -"
    places = [
        f"{parameter.opts[0]} {parameter.metavar}"
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        and parameter.metavar in ("FILE", "FOLDER")
        # what is read may be given more than once
        and not parameter.multiple
    ]
    if name in _OUTPUT and places:
        return f"{context.command_path} writes elsewhere with {', '.join(places)}; its output, with > FILE"
    if name in _OUTPUT:
        return f"{context.command_path} ... > FILE keeps what it prints"
    return f"{context.command_path} --help lists the options"


def run() -> None:
    """Runs the command line; every failure ends with a message, a hint and a documented exit code.

    Raises KeyboardInterrupt.
    """
    permit_files()
    try:
        # a library may raise its own error for an interrupt, as DuckDB does in a query
        with Interrupts().raised():
            # the variable of shell completion keeps its name however the program is called
            cli(standalone_mode=False, complete_var="_STEELYARD_COMPLETE")
    except InputError as error:
        complain_of(error)
        sys.exit(Exit.BAD_INPUT)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip("\n"))
        if isinstance(error, click.NoSuchOption):
            say(f"hint: {_instead(error)}")
        sys.exit(Exit.BAD_INPUT)
    except BrokenPipeError:
        # the reader of the output has closed the pipe, as `| head` does: no error
        sys.stderr.close()
        sys.exit(Exit.DONE)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            # what was written has a name, or is one of these
            place = error.filename or f"standard output, or a file in {tempfile.gettempdir()}"
            text = f"{place}: {error.strerror}"
            try:
                Path.cwd()
            except FileNotFoundError:
                text = GONE
        if not any(words in text for words in EXHAUSTED):
            raise
        complain(text)
        sys.exit(Exit.BAD_INPUT)

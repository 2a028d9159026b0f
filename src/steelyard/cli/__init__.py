"""The command line: one file a command, loaded when it is called."""

from __future__ import annotations

import io
import sys
from importlib import import_module

import click

from steelyard import __version__
from steelyard.study.errors import InputError
from steelyard.workflow.complaint import complain, say
from steelyard.workflow.exit_codes import Exit

# command: (module, one line for --help), so that --help imports none of them
_COMMANDS = {
    "try": ("try_", "First result in seconds: the null subject, the lab's own cost."),
    "run": ("run", "Run a study, built-in or your own; verdict, bundle, report."),
    "resume": ("resume", "Go on with a study that was interrupted."),
    "report": ("report", "Verdict and report of a bundle, again."),
    "compare": ("compare", "The same study from two or more bundles, side by side."),
    "recording": ("recording", "Published measurements as a bundle, to report or overlay."),
    "sql": ("sql", "Ask a bundle in SQL."),
    "export": ("export", "Tables of a bundle as CSV, Parquet or JSON."),
    "studies": ("studies", "Built-in studies; `studies NAME` prints one to start from."),
    "schema": ("schema", "JSON Schema of study files, of --json, or the tables of a bundle."),
    "data": ("data", "SQL that makes and fills the tables of a study's workload."),
    "dispatch": ("dispatch", "A dispatch table, or what becomes of a thread under it."),
    "calibrate": ("calibrate", "What a context switch and a cache miss cost on this machine."),
    "doctor": ("doctor", "What this machine and user permit, and what to do about it."),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        return import_module(f"steelyard.cli.{_COMMANDS[cmd_name][0]}").command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            from steelyard.study.errors import nearest

            raise InputError(f'no command "{args[0]}"{nearest(args[0], _COMMANDS)}', "steelyard --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="steelyard")
def cli() -> None:
    """Weigh database servers under load, side by side.

    \b
    steelyard try              first result in seconds, nothing installed
    steelyard run demo         four ways of handling statements, in three minutes
    steelyard run my.toml      your own question

    Exit codes: 0 done, 1 study failed, 2 bad input, 3 interrupted (finished runs are kept),
    4 to be booted into another kernel, then resumed.
    """


def main() -> None:
    """Runs the command line; every failure ends in a sentence, a hint and a documented exit code."""
    try:
        cli(standalone_mode=False)
    except InputError as error:
        complain(str(error), error.hint)
        sys.exit(Exit.BAD_INPUT)
    except click.exceptions.Exit as leave:
        sys.exit(leave.exit_code)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip("\n"))
        if isinstance(error, click.NoSuchOption):
            say("hint: a file whose name begins with - is written ./-NAME")
        sys.exit(Exit.BAD_INPUT)
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        sys.exit(Exit.INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output went away, as `| head` does: nothing is wrong
        sys.stderr.close()
        sys.exit(Exit.DONE)

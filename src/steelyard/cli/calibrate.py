"""steelyard calibrate."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from steelyard.cli.completion import as_json
from steelyard.workflow.exit_codes import Exit

if TYPE_CHECKING:
    from steelyard.host.cpus.calibration import Calibration


@click.command()
@click.option("--cpu", type=int, help="CPU to measure on.  [default: the last permitted CPU]")
@click.option("--repetitions", type=click.IntRange(5, 1000), default=15, show_default=True)
@click.option("--quick", is_flag=True, help="Working sets up to 1 MiB only: seconds instead of a minute.")
@as_json("As JSON on standard output.")
def command(cpu: int | None, repetitions: int, quick: bool, as_json: bool) -> None:
    """Measure the cost of a context switch and a cache miss on this machine.

    Two processes on one CPU pass a token, each walking a working set; a pointer chase measures the
    latency of memory. An impossible result (a negative cost) is rejected and named; the exit code is 1
    when the cost of a switch or the latency is rejected.
    """
    from steelyard.errors import InputError
    from steelyard.host.cpus.calibration import calibrate

    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[-1] if cpu is None else cpu
    if chosen not in allowed:
        permitted = ", ".join(map(str, allowed))
        raise InputError(f"CPU {chosen} is not permitted here", f"--cpu: one of {permitted}")
    found = calibrate(chosen, repetitions, quick, lambda step: click.echo(step, err=True))
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
    else:
        _print(found)
    if found.direct is None or found.memory_latency is None:
        sys.exit(Exit.STUDY_FAILED)


def _print(found: Calibration) -> None:
    click.echo(f"{'working set':>12}  {'one switch':>11}  95 % interval of the median (n)")
    for cost in found.switches:
        doubt = "" if cost.verdict == "accepted" else f"  {cost.verdict}"
        size = f"{cost.size_bytes >> 10:,} KiB"
        one = cost.switch
        interval = f"{_us(one.low_ns)} to {_us(one.high_ns)} ({one.n})"
        click.echo(f"{size:>12}  {_us(one.ns):>11}  {interval}{doubt}")
    if found.memory_latency is not None:
        latency = found.memory_latency
        interval = f"{latency.low_ns:.0f} to {latency.high_ns:.0f} ({latency.n})"
        click.echo(f"memory, {found.chase_bytes >> 20} MiB: {latency.ns:.0f} ns per cache line, {interval}")
    if found.direct is not None:
        click.echo(f"switch without cache reload (`switch_cycles` over the clock): {_us(found.direct.ns)}")
    if found.mlp is not None:
        click.echo(f"overlapping misses in a reload (`mlp`): {found.mlp:.2g}")
    for notice in found.notices:
        click.echo(f"note: {notice}", err=True)


def _us(ns: float) -> str:
    return f"{ns / 1e3:,.2f} us"

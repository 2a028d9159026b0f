"""Guests: what they are made of, what becomes of those that fail, and a study of two command lines."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from laboratory import Lab
from needs import GUESTS

from steelyard.bundle.reader import Bundle
from steelyard.errors import InputError
from steelyard.host.guests.kernels import PROBE, Kernel, find_kernel, initramfs, modules_of, package_of
from steelyard.host.guests.qemu import Guest, GuestFailed, boot, program, trial
from steelyard.study.host_settings import boot_arguments
from steelyard.workflow.prepare import PreparedStudy

KERNEL = "6.1"
STUDY = """\
name = "guests"
question = "Which words?"
[subject]
kind = "virtual-machine"
[subject.settings]
"vm.acceleration" = "tcg"
shared_buffers = "16MB"
{settings}
[workload]
kind = "lookup"
rows = 200
[host]
kernel = "{kernel}"
[factors.pages]
scope = "host"
[factors.pages.levels]
never = {{ cmdline.transparent_hugepage = "never" }}
always = {{ cmdline.transparent_hugepage = "always" }}
[plan]
clients = [2]
warm_up_s = 0.05
transactions = 400
measure_s = 60
cool_down_s = 0
blocks = 1
"""


needs_guests = pytest.mark.needs(*GUESTS)


def study(settings: str = "", **changes: str) -> str:
    text = STUDY.format(settings=settings, kernel=KERNEL)
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return find_kernel(KERNEL)


@pytest.fixture
def guest(kernel: Kernel, tmp_path: Path) -> Iterator[Guest]:
    place = tmp_path / "initramfs"
    place.write_bytes(initramfs(kernel, Path(program("busybox"))))
    yield Guest(str(kernel.image), str(place))


def test_a_bare_machine_is_told_what_to_install(lab: Lab) -> None:
    empty = lab.folder / "empty"
    empty.mkdir()
    asked = lab.run("run", "os-kernel", "--dry-run", PATH=str(empty))
    assert asked.returncode == 2
    assert (
        "os-kernel:6: subject.kind: virtual machines need qemu-system-x86 and busybox-static" in asked.stderr
    )
    assert "hint: apt-get install --no-install-recommends qemu-system-x86 busybox-static" in asked.stderr


@needs_guests
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (study('"vm.memroy_mib" = 1'), 'did you mean "vm.memory_mib"?'),
        (study('"vm.cpus" = 2'), "a guest has one CPU"),
        (study('"vm.limit_s" = 0'), "a whole number above 0"),
        (study(**{'"tcg"': '"xen"'}), 'unknown acceleration "xen"'),
        (study(**{'kernel = "6.1"': 'kernel = "4.2"'}), "no package linux-image-4.2*-cloud-amd64"),
        (study(**{'kernel = "6.1"': 'kernel = "/boot/vmlinuz-none"'}), "not a kernel"),
        (study(**{'kernel = "6.1"': "hogs.count = 1"}), "hogs.count cannot be set in a virtual machine"),
        (study(**{'[host]\nkernel = "6.1"\n': ""}), "names no kernel"),
        (study(**{"[plan]": "[monitors]\nhost = 1\n[plan]"}), "a guest has its own monitors"),
    ],
)
def test_what_a_guest_cannot_do_is_refused_before_it_boots(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("*", r"\*").replace("?", r"\?")):
        PreparedStudy.of(text, "a test")


def test_words_of_the_command_line_are_values_names_or_nothing() -> None:
    settings = {"kernel": "6.1", "cmdline.preempt": "full", "cmdline.nosmt": True, "cmdline.quiet": False}
    assert boot_arguments(settings) == ("preempt=full", "nosmt")


@needs_guests
def test_a_version_is_not_the_beginning_of_another() -> None:
    assert package_of("6.1").startswith("linux-image-6.1.")


@needs_guests
def test_a_module_comes_after_those_that_it_needs(kernel: Kernel) -> None:
    names = [name for name, _ in modules_of(kernel, ("virtio_blk", "virtio_pci", "ext4"))]
    assert names.index("virtio_ring") < names.index("virtio") < names.index("virtio_blk")
    assert "ext4" not in names  # built in, by the distribution's configuration
    with pytest.raises(InputError, match="has no module no_such_module"):
        modules_of(kernel, ("no-such-module",))


@needs_guests
def test_the_first_file_system_is_an_archive_that_cpio_reads(guest: Guest) -> None:
    with Path(guest.initramfs).open("rb") as archive:
        listed = subprocess.run(
            [program("busybox"), "cpio", "-tv"], stdin=archive, capture_output=True, text=True, check=True
        ).stdout
    names = {line.split()[-1]: line for line in listed.splitlines()}
    assert names["init"].startswith("-rwxr-xr-x") and names["proc"].startswith("drwxr-xr-x")
    assert str(Path(program("busybox")).resolve().stat().st_size) in names["bin/busybox"]


@needs_guests
def test_a_guest_tells_its_kernel_its_words_and_its_clock(
    guest: Guest, kernel: Kernel, tmp_path: Path
) -> None:
    facts = trial(replace(guest, arguments=("transparent_hugepage=never",)), tmp_path / "console")
    assert facts["release"] == kernel.release
    assert "transparent_hugepage=never" in facts["command_line"].split()
    assert facts["transparent_huge_pages"] == "always madvise [never]"
    assert facts["clock_source"] == "tsc"


@needs_guests
def test_a_panic_and_a_hang_are_told_with_the_last_words(guest: Guest, tmp_path: Path) -> None:
    console = tmp_path / "console"
    with pytest.raises(GuestFailed, match="the guest panicked: Kernel panic"):
        boot(replace(guest, arguments=("rdinit=/nowhere", "root=/dev/none")), console, 120)
    assert "Kernel panic" in console.read_text(errors="replace")
    with pytest.raises(GuestFailed, match=r"the guest hung: not finished after 0\.3 s"):
        boot(replace(guest, arguments=(PROBE,)), console, 0.3)


@needs_guests
@pytest.mark.timeout(900)
def test_two_command_lines_are_weighed_by_instructions(lab: Lab) -> None:
    path = lab.folder / "guests.toml"
    path.write_text(study() + "[probes]\nprofile_hz = 499\nlocks = true\nscheduling_trace_s = 0.2\n")
    process = lab.start("run", path, "--bundle", lab.bundle)
    out, err = process.communicate(timeout=800)
    assert process.returncode == 0, err
    bundle = Bundle(lab.bundle)
    done = bundle.columns(
        "select run, sum(count) as n from throughput"
        " where statement = 'transaction' and second >= 0 group by run"
    )
    assert done["n"].tolist() == [400, 400]
    assert "instruction time per transaction" in out and "their clock counts instructions" in out
    page = (lab.bundle / "report.html").read_text()
    assert "their clock counts instructions" in page and "profile-difference" in page
    assert "Transactions per second" not in page and ">TPS" not in page
    guests = {label: server["guest"] for label, server in bundle.environment["servers"].items()}
    assert "transparent_hugepage=never" in guests["never"]["command_line"]
    assert guests["never"]["clock_source"] == guests["always"]["clock_source"]
    # what the guest's own monitor saw: the server worked, but not more than there was
    rates = bundle.evidence().view("rates")
    cpu = rates["rate_per_s"][(rates["entity"] == "server") & (rates["metric"] == "cpu_ns_total")]
    assert len(cpu) == 2 and (cpu > 1e8).all() and (cpu <= 1.01e9).all()
    # and what its probes saw of its own kernel, by name: a clock of instructions samples in step with the
    # work, so that one run's sixty samples of the server may all miss the kernel
    seen = bundle.columns(
        "select run, role, sum(samples) as n, sum(samples) filter (stack like '%do_syscall_64%') as kernel"
        " from profile group by run, role order by run, role"
    )
    server = seen["role"] == "server"
    assert server.sum() == 2 and (seen["n"][server] >= 20).all()
    assert (seen["kernel"] > 0).any()
    switched = bundle.columns("select run, voluntary from scheduling where role = 'server'")
    assert len(switched["run"]) == 2 and (switched["voluntary"] > 0).all()
    assert not len(bundle.columns("select code from notices where code like 'probe%'")["code"])
    assert not lab.ours() and not lab.traces()


@needs_guests
@pytest.mark.timeout(900)
def test_a_guest_that_fails_is_a_void_run_with_its_console_in_the_bundle(lab: Lab) -> None:
    path = lab.folder / "guests.toml"
    path.write_text(study('work_mem = "nonsense"'))
    process = lab.start("run", path, "--bundle", lab.bundle)
    _, err = process.communicate(timeout=800)
    assert process.returncode == 1
    assert "in the guest, the server did not start" in err and '"work_mem"' in err
    logs = [log.read_text() for log in sorted(lab.bundle.glob("logs/*.log"))]
    assert len(logs) == 2 and all("clock_source tsc" in log and "did not start" in log for log in logs)
    assert not lab.ours() and not lab.traces()


@needs_guests
@pytest.mark.timeout(300)
def test_a_killed_lab_leaves_no_guest(lab: Lab) -> None:
    path = lab.folder / "guests.toml"
    path.write_text(study())
    process = lab.start("run", path, "--bundle", lab.bundle)
    lab.wait_for(lambda: lab.ours("qemu-system"), "a guest", 200)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    lab.wait_for(lambda: not lab.ours(), f"the end of {lab.ours()}")
    lab.wait_for(lambda: not lab.traces(), "the folder's end")

"""Settings of the kernel that no study may set."""

from __future__ import annotations

import pytest
from host_study import study_text
from laboratory import Lab

from steelyard.errors import InputError
from steelyard.study.load_study import parse_study


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vm.drop_caches", "a write starts an action"),
        ("net.ipv6.route.flush", "a write starts an action"),
        ("kernel.modules_disabled", "does not take the old value back"),
        ("kernel.yama.ptrace_scope", "does not take the old value back"),
        ("kernel/shm_next_id", "does not take the old value back"),
        ("kernel.core_pattern", "runs the value as a program"),
        ("kernel.panic_on_oops", "stop the whole machine"),
        ("vm.panic_on_oom", "stop the whole machine"),
        ("net/ipv6/conf/eth0.1/disable_ipv6", "deletes addresses"),
        ("kernel.ns_last_pid", "changes by itself"),
    ],
)
@pytest.mark.parametrize("fixed", [True, False])
def test_a_setting_that_cannot_be_put_back_is_refused_with_its_line(name: str, why: str, fixed: bool) -> None:
    line = f'"sysctl.{name}" = 1' if fixed else f'B = {{ "sysctl.{name}" = 1 }}'
    text = study_text(fixed=line) if fixed else study_text(f"A = {{ server.nice = 1 }}\n{line}")
    with pytest.raises(InputError, match=f"no study can set sysctl.{name}: .*{why}") as refused:
        parse_study(text, "s.toml")
    assert str(refused.value).startswith(f"s.toml:{text.splitlines().index(line) + 1}: ")


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("vm.swappiness", "0", True),
        ("vm.swappiness", "200", True),
        ("vm.swappiness", "201", False),
        ("vm.swappiness", "-1", False),
        ("vm.watermark_scale_factor", "0", False),
        ("vm.swappiness", '"60"', True),
        ("vm.swappiness", '"many"', False),
        # a switch
        ("kernel.sched_autogroup_enabled", "true", True),
        ("kernel.sched_autogroup_enabled", "false", True),
        ("kernel.sched_autogroup_enabled", "2", False),
    ],
)
def test_a_value_beyond_the_range_of_the_kernel_is_refused(name: str, value: str, taken: bool) -> None:
    text = study_text(fixed=f"sysctl.{name} = {value}")
    if taken:
        parse_study(text, "s.toml")
        return
    with pytest.raises(InputError, match=f"sysctl.{name} = .*: the kernel takes whole numbers from"):
        parse_study(text, "s.toml")


def test_a_refused_setting_ends_a_dry_run_and_a_run_with_2(lab: Lab) -> None:
    study = lab.folder / "s.toml"
    study.write_text(study_text(fixed="sysctl.vm.drop_caches = 3"))
    for more in ((), ("--dry-run",)):
        done = lab.run("run", study, "--bundle", lab.bundle, *more)
        assert (done.returncode, lab.bundle.exists()) == (2, False)
        assert "sysctl.vm.drop_caches" in done.stderr and "hint: remove it" in done.stderr

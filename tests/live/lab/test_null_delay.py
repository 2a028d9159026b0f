"""The null subject answers after the option's delay."""

from __future__ import annotations

from laboratory import SMALL, Lab

from steelyard.bundle.reader import Bundle


def test_a_delay_is_the_least_time_of_a_transaction_and_a_fact_of_the_server(lab: Lab) -> None:
    path = lab.folder / "study.toml"
    head, _, rest = SMALL.format(subject="null", blocks=1, measure_s=0.5).partition("[factors")
    factor = '[factors.delay]\nscope = "server"\nsetting = "delay_us"\nlevels = { A = 2000, B = 20000 }\n'
    path.write_text(f"{head}{factor}[plan]{rest.partition('[plan]')[2]}")
    done = lab.run("run", path, "--bundle", lab.bundle)
    assert done.returncode == 0, done.stderr
    assert "on 2 servers" in done.stderr
    bundle = Bundle(lab.bundle)
    points = bundle.evidence().view("points")
    rates = dict(
        zip(
            bundle.evidence().view("runs")["option"].tolist(),
            (points["transactions"] / points["seconds"]).tolist(),
            strict=True,
        )
    )
    # two clients; a machine that is busy adds to the delay
    assert 0 < rates["A"] <= 1000 * 1.02 and 0 < rates["B"] <= 100 * 1.02
    assert rates["A"] > rates["B"]
    versions = bundle.evidence().versions
    assert versions["A"] == "null: answers after 2000 µs"
    assert not lab.ours()

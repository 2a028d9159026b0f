"""A monitor by SQL whose query a JDBC driver refuses."""

from __future__ import annotations

from pathlib import Path

from h2_server import BY_JDBC, h2_server
from java_engine import needs_java
from laboratory import Lab


@needs_java
def test_a_query_that_a_driver_refuses_is_an_error_of_the_study(lab: Lab, tmp_path: Path) -> None:
    file = lab.folder / "study.toml"
    with h2_server(tmp_path) as url:
        file.write_text(BY_JDBC.format(url=url, sql="select m from hit"))
        done = lab.run("run", file, "--bundle", lab.bundle)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "monitors.hits.sql" in said and '"M" not found' in said

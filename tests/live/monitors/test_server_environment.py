import json

import psycopg

from steelyard.lab.environment.redaction import redact
from steelyard.subjects.postgres.facts import facts_of


def test_a_server_tells_all_settings_but_its_secrets(server):
    with server.connect() as connection:
        connection.execute("alter system set primary_conninfo = 'host=x password=Zq7secret7qZ'")
        connection.execute("select pg_reload_conf()")
        count = connection.execute("select count(*) from pg_settings").fetchone()
    try:
        facts = redact(facts_of(lambda: psycopg.connect(server.dsn(), client_encoding="utf8")))
    finally:
        with server.connect() as connection:
            connection.execute("alter system reset primary_conninfo")
    assert count is not None and len(facts["settings"]) >= count[0]
    assert facts["settings"]["shared_buffers"] == "128MB"
    assert facts["sources"]["port"] == "command line"
    assert facts["version"].split(".")[0] in facts["build"]
    assert "Zq7" not in json.dumps(facts)

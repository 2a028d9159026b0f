from dataclasses import replace

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.validity.servers import server_notices

EVIDENCE = evidence_of(study_of({"version": ["V15", "V18"]}), {"V15": Truth(), "V18": Truth()}, blocks=2)


def test_what_a_data_directory_was_made_with_is_said_where_options_differ_in_it():
    fixed = {
        "V18": {"data_checksums": "on", "block_size": "8192"},
        "V15": {"data_checksums": "off", "block_size": "8192"},
    }
    (notice,) = server_notices(replace(EVIDENCE, fixed=fixed))
    assert notice.text == (
        "differs beside the factor (the servers' own defaults for new data):"
        " data checksums on under V18, off under V15"
    )
    assert server_notices(replace(EVIDENCE, fixed={"V18": fixed["V18"], "V15": fixed["V18"]})) == []

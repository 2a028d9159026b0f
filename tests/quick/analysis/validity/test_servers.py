from dataclasses import replace

from evidence import Truth, evidence_of, study_of
from steelyard.analysis.judge import judge
from steelyard.analysis.validity.pace import server_notices

EVIDENCE = evidence_of(study_of({"version": ["V15", "V18"]}), {"V15": Truth(), "V18": Truth()}, blocks=2)


def test_what_a_data_directory_was_made_with_is_said_where_options_differ_in_it():
    fixed = {
        "V18": {"data_checksums": "on", "block_size": "8192"},
        "V15": {"data_checksums": "off", "block_size": "8192"},
    }
    (notice,) = server_notices(replace(EVIDENCE, fixed=fixed))
    unlike = (
        "data checksums on under V18, off under V15 (the servers' own defaults for new data);"
        ' data_checksums = "on" under [subject] makes them the same'
    )
    assert notice.text == f"differs beside the factor: {unlike}"
    # and the first of what the verdict has to say
    said = judge(replace(EVIDENCE, fixed=fixed)).verdict
    assert said.reasons[0] == f"Servers differ beside the factor: {unlike}."
    assert not any("checksums" in reason for reason in judge(EVIDENCE).verdict.reasons)
    assert server_notices(replace(EVIDENCE, fixed={"V18": fixed["V18"], "V15": fixed["V18"]})) == []

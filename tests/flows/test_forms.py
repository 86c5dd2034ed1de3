"""A form carries names and sizes: nothing else gets through, and no path is opened."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from flows.forms import NightForm


@pytest.mark.parametrize(
    "sent",
    [
        {"data": "../bars.csv"},
        {"data": "/etc/passwd"},
        {"data": "A B"},
        {"data": ""},
        {"generations": 0},
        {"population": 3},
        {"population": 1_001},
        {"deadline_minutes": 0},
        {"resume": "../r-1"},
        {"profile": ""},
        {"cage": "reduced"},
        {"home": "/"},
        {"key_env": "HOME"},
    ],
)
def test_what_is_no_name_and_no_size_is_refused(sent):
    with pytest.raises(ValidationError):
        NightForm.model_validate(sent)


def test_every_field_tells_a_person_what_it_is_for():
    properties = NightForm.model_json_schema()["properties"]
    assert set(properties) == set(NightForm.model_fields)
    assert all(each["title"] and each["description"] for each in properties.values())


def test_a_name_that_is_a_file_is_not_opened(tmp_path, monkeypatch):
    """A file name can look like the name of a set; a form never registers one."""
    from flows.evolve import _joined
    from flows.problems import UsageProblem

    monkeypatch.setenv("TRIGATE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bars.csv").write_text("timestamp,open,high,low,close,volume\n")
    with (
        pytest.raises(UsageProblem, match=r"there is no data set 'bars.csv'"),
        _joined(NightForm(data="bars.csv"), None),
    ):
        pass
    with pytest.raises(UsageProblem, match="run 'r-1' is not open in this process"), _joined(NightForm(), "r-1"):
        pass

"""What a stream says of its input: once, when it is first met."""

from __future__ import annotations

import pytest

import cernis
from cernis.records.record_columns import SetAside
from cernis.spark.metrics import Metrics
from cernis.spark.streaming.notices import LOGGER, Notices
from tests.records.support import TOY


def test_names_files_and_warnings_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    own = Notices(cernis.load(TOY).checked.catalogue)
    files = [SetAside(0, "it is broken", "", f"/in/{name}") for name in ("a", "b")]
    with caplog.at_level("WARNING", LOGGER):
        own.take({"win_lotery": 2, "rain": 1}, [], ["columns match nothing"])
        own.take({"win_lotery": 5}, files, ["columns match nothing"])
        own.take({}, files, [])
    assert caplog.messages == [
        "no rule mentions win_lotery (2 records): did you mean `win_lottery`?",
        "no rule mentions rain (1 record)",
        "columns match nothing",
        "a file is skipped: /in/b: it is broken",
    ]
    assert own.unknown == {"win_lotery": 7, "rain": 1}


def test_names_without_end_are_not_all_said_or_kept(caplog: pytest.LogCaptureFixture) -> None:
    own = Notices(cernis.load(TOY).checked.catalogue)
    with caplog.at_level("WARNING", LOGGER):
        own.take({f"name{number}": 1 for number in range(12_000)}, [], [])
    assert len(caplog.messages) == 100
    assert len(own.unknown) == 10_000


def test_a_stream_that_uses_most_of_its_records_says_nothing() -> None:
    own = Notices(cernis.load(TOY).checked.catalogue)
    own.take({"rain": 4}, [], [])
    assert own.unused(Metrics(events=8, ignored=4), []) == []
    assert own.unused(Metrics(events=7, ignored=4), []) == [
        "4 of 7 records are not used", "no rule mentions rain (4 records)",
    ]  # fmt: skip
    late = Metrics(events=3, too_late=3)
    assert own.unused(late, [])[0] == "3 of 3 records are not used"

"""How much of a probability each record carries."""

from __future__ import annotations

import pytest

import cernis
from cernis.check.model import Relation
from cernis.errors import DataError, UnsupportedError
from cernis.evaluate.probabilities.shares import PairAtPoint, record_shares
from cernis.records.record_sources import read_events

RULES = """
    initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
    terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
    initiatedAt(seen(X)=true, T) :- happensAt(look(X), T), holdsAt(on(X)=true, T).
    dark(X)=true iff on(X)=true, not seen(X)=true.
    holdsFor(long(X)=true, I) :- holdsFor(on(X)=true, J), intDurGreater(J, 1, I).
"""
RECORDS = """0.8::up|1|1|a
0.5::down|2|2|a
0.9::up|2|2|b
0.4::look|4|4|a
up|9|9|a
"""


def test_a_share_is_what_goes_with_the_record() -> None:
    program = cernis.load(RULES)
    shares = program.record_shares(RECORDS, "seen(a)=true", 5)
    assert shares.probability == pytest.approx(0.16)
    assert [(each.text, round(each.share, 9)) for each in shares.records] == [
        ("0.8::up|1|1|a", 0.16), ("0.5::down|2|2|a", -0.16), ("0.4::look|4|4|a", 0.16),
    ]  # fmt: skip
    for number in range(1, 4):
        rest = "".join(line + "\n" for row, line in enumerate(RECORDS.splitlines(), 1)
                       if row != number)  # fmt: skip
        without = program.record_shares(rest, "seen(a)=true", 5).probability
        known = {each.text: each.share for each in shares.records}
        text = RECORDS.splitlines()[number - 1]
        assert known.get(text, 0.0) == pytest.approx(0.16 - without), text


def test_static_fluents_and_points_without_anything() -> None:
    program = cernis.load(RULES)
    dark = program.record_shares(RECORDS, "dark(a)", 6)
    assert dark.probability == pytest.approx(0.4 * (1 - 0.16))
    assert [each.text for each in dark.records if each.share < 0] == [
        "0.5::down|2|2|a", "0.4::look|4|4|a",
    ]  # fmt: skip
    nothing = program.record_shares(RECORDS, "on(nobody)", 6)
    assert (nothing.probability, nothing.records) == (0.0, ())


def test_what_cannot_be_asked() -> None:
    program = cernis.load(RULES)
    with pytest.raises(DataError, match="is an event"):
        program.record_shares(RECORDS, "up(a)", 3)
    with pytest.raises(UnsupportedError, match="credible intervals"):
        program.record_shares(RECORDS, "long(a)", 6)
    records = read_events(RECORDS, program.checked, uncertain=True)
    asked = PairAtPoint(Relation("on", 1), ("a",), "true", 6)
    with pytest.raises(DataError, match="for 2 at most"):
        record_shares(program.plan, records, asked, (0, 9), most=2)

"""How far the assumption of independence is off: against the sum over possible worlds."""

from __future__ import annotations

import pytest

import cernis
from cernis.errors import CernisError, UnsupportedError
from tests.agreement.test_exact_probabilities import exact_reference
from tests.agreement.test_random_uncertain_programs import DECLARED, Drawn
from tests.agreement.test_uncertain_cases import run

RULES = """
initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
initiatedAt(seen(X)=true, T) :- happensAt(look(X), T), holdsAt(on(X)=true, T).
initiatedAt(both(X)=true, T) :-
    happensAt(ask(X), T), holdsAt(on(X)=true, T), holdsAt(seen(X)=true, T).
"""
TEXT = "0.5::up|1|1|a\nlook|2|2|a\nask|3|3|a\n"


def test_the_point_of_the_largest_deviation_is_named() -> None:
    table = cernis.load(RULES).run_uncertain(TEXT).deviations
    first, *others = table.to_pylist()
    assert first == {
        "fluent": "both", "args": ["a"], "value": "true", "deviation": 0.25, "time": 4,
        "probability": 0.25, "exact": 0.5,
    }  # fmt: skip
    assert [(row["fluent"], row["deviation"]) for row in others] == [("on", 0), ("seen", 0)]


def test_exact_probabilities_do_not_deviate() -> None:
    table = cernis.load(":- exact(window)." + RULES).run_uncertain(TEXT).deviations
    assert table["deviation"].to_pylist() == [0, 0, 0]


def test_without_uncertain_fluents_there_is_nothing_to_say() -> None:
    assert len(cernis.load(RULES).run_uncertain([]).deviations) == 0


@pytest.mark.parametrize("seed", range(12))
def test_deviations_are_those_from_the_sum_over_worlds(seed: int) -> None:
    drawn = Drawn(seed, cyclic=seed % 2 == 1)
    print(f"seed {seed}\n{drawn.rules}\n{drawn.text()}")
    rows = run(DECLARED + drawn.rules, drawn.text()).deviations.to_pylist()
    assumed, exact = drawn.reference(), exact_reference(drawn)
    for row in rows:
        pair = f"{row['fluent']}({','.join(row['args'])})={row['value']}"
        series = {
            time: abs(chance - exact.get(pair, {}).get(time, 0.0))
            for time, chance in assumed[pair].items()
        }
        assert row["deviation"] == pytest.approx(max(series.values()), abs=1e-9), pair
        assert row["exact"] == pytest.approx(exact[pair][row["time"]], abs=1e-9)
        assert row["probability"] == pytest.approx(assumed[pair][row["time"]], abs=1e-9)
    named = {f"{row['fluent']}({','.join(row['args'])})={row['value']}" for row in rows}
    expected = {pair for pair, series in assumed.items() if any(series.values())}
    assert named | {"near(x)=true", "near(y)=true"} >= expected


def test_too_many_related_pairs_are_refused() -> None:
    values = "".join(f"initiatedAt(f(X)={n}, T) :- happensAt(a{n}(X), T).\n" for n in range(14))
    asked = "".join(
        f"initiatedAt(g(X)=true, T) :- happensAt(b(X), T), holdsAt(f(X)={n}, T).\n"
        for n in range(14)
    )
    text = "".join(f"0.5::a{n}|1|1|x\n" for n in range(14)) + "b|2|2|x\n"
    with pytest.raises(UnsupportedError, match="15 pairs are related"):
        _ = cernis.load(values + asked).run_uncertain(text).deviations


def test_results_of_sessions_have_none() -> None:
    session = cernis.load(RULES).uncertain_session(window=10, start=0)
    session.insert(TEXT)
    session.query(5)
    with pytest.raises(CernisError, match="of a run"):
        _ = session._result().deviations

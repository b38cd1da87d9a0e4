"""What policies of consumption select of uncertain matches: by hand, by ProbLog, in any windows."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.composites import selected_proofs
from tests.agreement.test_random_uncertain_programs import problog_probability
from tests.agreement.test_uncertain_patterns import Chances, compare, of_occurrences, of_result, run

SELECTING = """
e(X) <- a(X) seq b(X).
g(X) <- not(c(X))[a(X), b(X)] within 6.
k <- (a(X) and d(X)) within 4.
"""


@pytest.mark.parametrize("policy", ["recent", "chronological"])
@pytest.mark.parametrize("uncertain", ["abcd", "b", "ad"])
def test_what_policies_select_does_not_depend_on_windows(
    policy: str, uncertain: str, tmp_path: Path
) -> None:
    """Records are the facts that they are, whatever window they were in; certain ones, too."""
    random = Random(f"{policy} {uncertain}")
    lines = []
    for time in sorted(random.sample(range(1, 25), 18)):
        name = random.choice("aabbcd")
        chance = random.choice(["0.5::", "0.8::"]) if name in uncertain else ""
        lines.append(f"{chance}{name}|{time}|{time}|{random.choice('xy')}")
    print(lines)
    program = cernis.load(f":- consumption({policy}).{SELECTING}")
    given = {"start": 0, "end": 25, "uncertain": [*uncertain]}
    whole = program.run_uncertain(lines, **given)
    cut = program.run_uncertain(lines, window=5, step=3, **given)
    compare(of_result(cut), of_result(whole))
    compare(of_result(whole), of_result(cut))
    session = program.uncertain_session(window=5, step=3, start=0, uncertain=[*uncertain])
    told: Chances = {}
    for time in range(3, 30, 3):
        session.insert([line for line in lines if time - 3 < int(line.split("|")[1]) <= time])
        session.query(time)
        told |= of_occurrences(session.occurrences())
        session.save(tmp_path / "session")
        session = program.restore(tmp_path / "session")  # type: ignore[assignment]
    compare(told, of_result(whole))
    assert of_result(whole)


def test_candidates_behind_many_others_are_not_looked_at() -> None:
    """Of a hundred candidates of one half, those behind forty are as good as never selected."""
    lines = [f"0.5::a|{time}|{time}" for time in range(100)]
    found = of_result(
        run(":- consumption(recent). e <- a seq b.", "\n".join([*lines, "b|100|100"]))
    )
    assert {start: p for (_, start, _), p in found.items()} == pytest.approx(
        {time: 0.5 ** (100 - time) for time in range(60, 100)}
    )


@pytest.mark.parametrize("operator", ["seq", "and"])
@pytest.mark.parametrize("seed", range(3))
def test_states_have_the_probabilities_of_worlds(
    seed: int, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where worlds are too many, those in which the same matches are left are one state."""
    random = Random(f"{seed} {operator}")
    lines = [
        f"{random.choice(['0.5::', '0.3::', '0.9::', ''])}{random.choice('ab')}|{time}|{time}"
        for time in range(1, 13)
    ]
    print(lines)
    limit = random.choice(["", " within 4", " within 7"])
    rules = f":- consumption(chronological). e <- a {operator} b{limit}."
    exact = of_result(run(rules, "\n".join(lines)))
    monkeypatch.setattr(selected_proofs, "MOST_WORLDS", 60)
    compare(of_result(run(rules, "\n".join(lines))), exact)


def test_too_many_worlds_of_what_is_used_up() -> None:
    lines = [f"0.5::{name}|{time}|{time}" for time in range(20) for name in "ab"]
    rules = ":- consumption(chronological). e <- a seq b"
    found = of_result(run(f"{rules}.", "\n".join(lines)))
    # Each b is served at most once.
    for end in range(1, 20):
        assert 0 < sum(p for (_, _, time), p in found.items() if time == end) < 0.5
    some = "f(X) <- a and d(X). " + rules.replace("a seq b", "f(X) seq b")
    lines += [f"0.5::d|{time}|{time}|x" for time in range(20)]
    with pytest.raises(UnsupportedError, match="policy `chronological`, .* uncertain occ"):
        run(f"{some}.", "\n".join(lines))


def test_problog_agrees_on_policies() -> None:
    facts = [(0.6, "a", 1), (0.3, "a", 2), (0.7, "b", 3), (0.4, "a", 4), (0.9, "b", 5)]
    oracle = [f"{chance}::{name}({time})." for chance, name, time in facts]
    recent = [*oracle, "nearer(S, T) :- a(M), S < M, M < T.",
              "e(S, T) :- a(S), b(T), S < T, \\+ nearer(S, T)."]  # fmt: skip
    # The first b takes the first a; the second takes the first that is left.
    chronological = [
        *oracle, "e(1, 3) :- a(1), b(3).", "e(2, 3) :- a(2), b(3), \\+ a(1).",
        "left(1) :- a(1), \\+ e(1, 3).", "left(2) :- a(2), \\+ e(2, 3).", "left(4) :- a(4).",
        "e(1, 5) :- left(1), b(5).", "e(2, 5) :- left(2), b(5), \\+ left(1).",
        "e(4, 5) :- left(4), b(5), \\+ left(1), \\+ left(2).",
    ]  # fmt: skip
    text = "".join(f"{chance}::{name}|{time}|{time}\n" for chance, name, time in facts)
    for policy, clauses in (("recent", recent), ("chronological", chronological)):
        found = of_result(run(f":- consumption({policy}). e <- a seq b.", text))
        assert len(found) == 5
        for (_, start, end), chance in found.items():
            expected = problog_probability("\n".join(clauses), f"e({start}, {end})")
            assert chance == pytest.approx(expected, abs=1e-9), (policy, start, end)

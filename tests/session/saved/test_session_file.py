"""Sessions in files: they go on as if nothing had been; under other rules, as far as that goes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import cernis
from cernis.errors import DataError
from cernis.plan.properties.definition_diff import digests, fact_digests, fingerprint
from cernis.program import Program
from cernis.session.feed import Feed
from cernis.session.saved import session_file
from cernis.session.session import Session
from tests.agreement.compare import scenarios
from tests.session.feeds import Fed, Sum, rows

SEEDS = range(7_300, 7_328)
FIRST = Path(__file__).parent / "first.session"

RULES = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
"""
ALARM = """
initiatedAt(alarm(X)=on, T) :- happensAt(knock(X), T), \\+ holdsAt(rich(X)=true, T).
fi(alarm(X)=on, alarm(X)=off, 5).
"""
POOR = "happensAt(fall(X), T) :- happensAt(lose(X), T), holdsAt(rich(X)=true, T).\n"


def told(feed: Feed) -> Counter[tuple[object, ...]]:
    return Counter(rows(feed.table())) + Counter(rows(feed.happenings()))


@pytest.mark.parametrize("incremental", [True, False], ids=["incremental", "scratch"])
def test_a_restored_session_goes_on_as_if_nothing_had_been(
    incremental: bool, tmp_path: Path
) -> None:
    file = tmp_path / "session"
    restored = 0
    for seed in SEEDS:
        random = Random(seed)
        for scenario, program in scenarios(seed, 2):
            policy = random.choice(("early", "partial", "final"))
            one, two = (
                Fed(scenario, program, policy=policy, incremental=incremental) for _ in range(2)
            )
            at = random.randrange(len(one.windows) + 1)
            for number, window in enumerate(one.windows):
                one.insert(window.query)
                two.insert(window.query)
                if number == at or (at % 2 and number > at):
                    two.session.save(file)
                    two.session = program.restore(file)
                    restored += 1
                where = f"seed {seed}\n{scenario}\nat {window.query}"
                assert two.session.is_incremental == one.session.is_incremental
                feeds = [fed.session.query(window.query) for fed in (one, two)]
                assert told(feeds[0]) == told(feeds[1]), where
                assert one.session.counts == two.session.counts, where
                assert len(one.session) == len(two.session), where
                intervals = [Counter(rows(fed.session.intervals())) for fed in (one, two)]
                assert intervals[0] == intervals[1], where
    assert restored > 50


def _saved(rules: str, file: Path, **options: object) -> tuple[Sum, Program]:
    """A session of some rules in a file, and what its feeds add up to."""
    program = cernis.load(rules)
    session = program.session(window=20, step=10, start=0, **options)  # type: ignore[arg-type]
    found = Sum()
    batches = {
        10: [("win", 5, 5, "ann")],
        40: [("knock", 32, 32, "bob"), ("win", 34, 34, "eve"), ("lose", 37, 37, "eve")],
    }
    for query in (10, 20, 30, 40):
        session.insert(batches.get(query, []))
        feed = session.query(query)
        found.add(feed.table(), feed.happenings())
    session.save(file)
    return found, program


def test_the_file_tells_settings_and_query(tmp_path: Path) -> None:
    _, program = _saved(RULES, tmp_path / "s", policy="partial")
    session = program.restore(tmp_path / "s")
    assert (session.window, session.step, session.start, session.last) == (20, 10, 0, 40)
    assert session.policy.name == "partial"
    assert session.revision is None
    with pytest.raises(DataError, match="time goes forward"):
        session.query(39)


def test_a_session_without_a_query(tmp_path: Path) -> None:
    program = cernis.load(RULES)
    session = program.session(window=20, step=10)
    session.insert([("win", 5, 5, "ann")])
    session.save(tmp_path / "s")
    again = program.restore(tmp_path / "s")
    assert again.waiting == 1
    assert told(again.query(10)) == told(session.query(10)) != Counter()


def test_keys_of_several_kinds(tmp_path: Path) -> None:
    program = cernis.load("""
        initiatedAt(f(X)=true, T) :- happensAt(a(X), T).
        initiatedAt(g(Y)=true, T) :- happensAt(b(Y), T).
    """)
    session = program.session(window=100, step=10, start=0)
    session.insert([("a", 5, 5, "x"), *(("b", 6, 6, f"y{number}") for number in range(9))])
    session.query(10)
    session.save(tmp_path / "s")
    again = program.restore(tmp_path / "s")
    assert Counter(rows(again.intervals())) == Counter(rows(session.intervals()))
    assert len(again.intervals()) == 10


def test_rules_that_are_new_leave_the_others_alone(tmp_path: Path) -> None:
    found, _ = _saved(RULES, tmp_path / "s")
    session = cernis.load(ALARM + RULES).restore(tmp_path / "s")
    assert session.revision is not None
    # No rule was about knocks before, so they were not kept.
    assert not len(session.revision)
    session.insert([("knock", 43, 43, "ann"), ("knock", 44, 44, "bob"), ("lose", 45, 45, "ann")])
    found.add(session.query(50).table())
    assert set(found.rows) == {
        ("rich", ("ann",), "true", 6, 46),
        ("rich", ("eve",), "true", 35, 38),
        ("alarm", ("bob",), "on", 45, 50),
        ("alarm", ("bob",), "off", 50, None),
    }


@pytest.mark.parametrize("policy", ["early", "partial"])
def test_what_has_changed_is_found_anew(policy: str, tmp_path: Path) -> None:
    found, _ = _saved(RULES + ALARM + POOR, tmp_path / "s", policy=policy)
    other = RULES + ALARM.replace("5", "3") + POOR.replace("rich", "alarm").replace("=true", "=on")
    session = cernis.load(other).restore(tmp_path / "s")
    assert session.revision is not None
    found.add(session.revision.table(), session.revision.happenings())
    assert ("fall", ("eve",), 37) not in found.rows
    session.query(50)
    feed = session.query(80)
    assert not any(row[1] == "alarm" and row[2] == ("bob",) and row[5] == 38 for row in told(feed))
    if policy == "early":
        assert set(found.rows) == {
            ("rich", ("ann",), "true", 6, None),
            ("rich", ("eve",), "true", 35, 38),
            ("alarm", ("bob",), "on", 33, 36),
            ("alarm", ("bob",), "off", 36, None),
        }


def test_what_is_no_longer_defined_is_taken_back(tmp_path: Path) -> None:
    found, _ = _saved(RULES + ALARM + POOR, tmp_path / "s")
    session = cernis.load(RULES).restore(tmp_path / "s")
    assert session.revision is not None
    found.add(session.revision.table(), session.revision.happenings())
    assert {row[0] for row in found.rows} == {"rich"}


def test_a_state_that_rests_on_forgotten_records_is_not_given_up(tmp_path: Path) -> None:
    _saved(RULES + ALARM, tmp_path / "s")
    other = cernis.load(RULES.replace("lose", "forget") + ALARM)
    with pytest.raises(DataError, match=r"the meaning of rich/1 \(1\): .* at 20 or before"):
        other.restore(tmp_path / "s")


def test_growing_domains_keep_rules_from_changing(tmp_path: Path) -> None:
    domain = "dynamicDomain(person(_)).\ngrounding(win(X)) :- person(X).\n"
    program = cernis.load(RULES + domain)
    session = program.session(window=20, step=10, start=0)
    session.insert([("win", 5, 5, "ann")])
    session.query(10)
    session.save(tmp_path / "s")
    with pytest.raises(DataError, match="domains that grow"):
        cernis.load(RULES + domain + ALARM).restore(tmp_path / "s")


def test_patterns_keep_rules_from_changing(tmp_path: Path) -> None:
    pattern = "again(X) <- (win(X) seq lose(X)) within 10.\n"
    found, program = _saved(RULES + pattern, tmp_path / "s")
    assert ("again", ("eve",), 34, 37) in found.rows
    assert program.restore(tmp_path / "s").last == 40
    with pytest.raises(DataError, match="event patterns"):
        cernis.load(RULES + pattern.replace("10", "20")).restore(tmp_path / "s")
    one, two = (digests(cernis.load(RULES + own).checked) for own in (pattern, "% none\n"))
    assert {name for name in one if one[name] != two.get(name)} == {"again/1"}


def test_definitions_are_the_same_wherever_they_stand() -> None:
    one = digests(cernis.load(RULES + ALARM).checked)
    two = digests(cernis.load("\n\n" + ALARM + RULES).checked)
    assert one == two
    other = digests(cernis.load(RULES.replace("lose", "drop") + ALARM).checked)
    assert {name for name in one if one[name] != other.get(name)} == {"rich/1", "alarm/1", "lose/1"}


def test_the_dialect_is_part_of_every_definition() -> None:
    rules = RULES + ALARM + "p(alarm(_)=on).\n"
    one, two = (digests(cernis.load(rules, dialect=own).checked) for own in ("cernis", "rtec"))
    assert {name for name in one if one[name] != two[name]} == {"alarm/1", "rich/1"}


def test_background_knowledge_is_part_of_a_definition() -> None:
    rules = "initiatedAt(old(X)=true, T) :- happensAt(look(X), T), age(X, A), A > 60.\n" + RULES
    one = digests(cernis.load(rules + "age(ann, 61).\n").checked)
    two = digests(cernis.load(rules + "age(ann, 59).\n").checked)
    assert {name for name in one if one[name] != two[name]} == {"old/1"}


AGED = "initiatedAt(old(X)=true, T) :- happensAt(look(X), T), age(X, A), A > 60.\n" + RULES
AGES = {
    "as it was": "ann,61\nbob,30\n",
    "as many": "ann,30\nbob,61\n",
    "more": "ann,61\nbob,30\neve,9\n",
}


def _aged(file: Path, ages: str) -> Program:
    file.write_text(f"who,age\n{ages}")
    return cernis.load(AGED, [file])


def test_facts_of_tables_are_part_of_a_definition(tmp_path: Path) -> None:
    """All values count, not how many there are."""
    found = {name: _aged(tmp_path / "age.csv", ages).checked for name, ages in AGES.items()}
    before = found["as it was"]
    for name in ("as many", "more"):
        one, two = digests(before), digests(found[name])
        assert {relation for relation in one if one[relation] != two[relation]} == {"old/1"}
        assert fact_digests(before) != fact_digests(found[name])
        assert fingerprint(before) == fingerprint(found[name])
    again = _aged(tmp_path / "age.csv", AGES["as it was"]).checked
    assert (digests(again), fact_digests(again)) == (digests(before), fact_digests(before))


def test_a_session_goes_on_from_a_changed_table_only_where_nothing_is_lost(tmp_path: Path) -> None:
    session = _aged(tmp_path / "age.csv", AGES["as it was"]).session(window=20, step=10, start=0)
    session.insert([("look", 5, 5, "ann")])
    session.query(10)
    session.save(tmp_path / "early")
    session.query(40)
    session.save(tmp_path / "late")
    other = _aged(tmp_path / "age.csv", AGES["as many"])
    revision = other.restore(tmp_path / "early").revision
    assert revision is not None
    assert [(row["change"], row["fluent"]) for row in revision.table().to_pylist()] == [
        ("delete", "old")
    ]
    with pytest.raises(DataError, match="the meaning of old/1"):
        other.restore(tmp_path / "late")


def test_the_dialect_is_part_of_a_definition() -> None:
    one, two = (cernis.load(RULES, dialect=name).checked for name in ("cernis", "rtec"))
    assert digests(one) != digests(two)
    assert fingerprint(one) != fingerprint(two)


# -- files that cannot be used -----------------------------------------------------------------


def _file(tmp_path: Path) -> Path:
    _saved(RULES, tmp_path / "s")
    return tmp_path / "s"


def _refused(file: Path, why: str, rules: str = RULES) -> None:
    with pytest.raises(DataError, match=why) as caught:
        cernis.load(rules).restore(file)
    assert str(file) in str(caught.value)


def test_another_program_is_refused(tmp_path: Path) -> None:
    other = "initiatedAt(on(X)=true, T) :- happensAt(switch(X), T).\n"
    _refused(_file(tmp_path), "it is of another program", other)


def test_a_newer_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(session_file, "LAYOUT", replace(session_file.LAYOUT, format=99))
        file = _file(tmp_path)
    _refused(file, "it has format 99, and this version of cernis reads formats up to")


@pytest.mark.parametrize("length", [0, 3, 40, 300, -1])
def test_a_file_that_is_cut_short_is_refused(length: int, tmp_path: Path) -> None:
    file = _file(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    _refused(file, "cut short|no file of a session|head is damaged|cannot be read")


def test_any_flipped_byte_is_noticed(tmp_path: Path) -> None:
    file = _file(tmp_path)
    whole = file.read_bytes()
    random = Random(5)
    for at in random.sample(range(len(whole)), 60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << random.randrange(8)
        file.write_bytes(damaged)
        _refused(file, "damaged|no file of a session|cannot be read")


def test_no_file_and_no_place_for_one(tmp_path: Path) -> None:
    _refused(tmp_path / "nowhere", "cannot be read: No such file")
    with pytest.raises(DataError, match="cannot be written"):
        cernis.load(RULES).session(window=10).save(tmp_path / "no" / "folder")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = _file(tmp_path)
    before = file.read_bytes()

    def fail(_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(session_file.os, "fsync", fail)
    with pytest.raises(DataError, match="no room"):
        cernis.load(RULES).session(window=10).save(file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["s"]


def first_session() -> Session:
    """The session whose file of the first format is kept beside this test."""
    program = cernis.load(RULES + ALARM)
    session = program.session(window=20, step=10, start=0, policy="partial")
    session.insert([("win", 5, 5, "ann"), ("win", 6, 6, 7), ("knock", 18, 18, 2.5)])
    session.insert("win|30|30|zoë\nwin|x|9|bad\n-lose|9|8|nobody\n")
    session.query(10)
    session.query(20)
    return session


def test_files_of_the_first_format_can_be_read() -> None:
    again, session = cernis.load(RULES + ALARM).restore(FIRST), first_session()
    assert again.counts.all_set_aside == session.counts.all_set_aside == 2
    for query in (25, 30, 40):
        batch = [("lose", query, query - 2, "ann"), ("lose", query, query - 1, 7)]
        feeds = []
        for own in (again, session):
            own.insert(batch)
            feeds.append(told(own.query(query)))
        assert feeds[0] == feeds[1]
    assert len(Counter(rows(again.intervals()))) > 3

"""`cernis explain` prints trees and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cernis.errors import CernisError
from tests.cli.command import ROOT, Outcome, run

TOY = ROOT / "examples" / "toy"


def explained(*args: str) -> Outcome:
    options = ("--facts", TOY / "facts.cer", "--input", TOY / "events.txt")
    return run("explain", TOY / "rules.cer", *options, *args)


def outcome(*args: str) -> Outcome:
    """The same, an error as the process reports it."""
    try:
        return explained(*args)
    except CernisError as error:
        return Outcome(1, "", f"cernis: {error}\n")


def test_a_tree_names_the_rule_and_the_record() -> None:
    done = explained("rich(chris)=true", "--at", "15")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("rich(chris)=true holds on [14,20)\n")
    assert "rules.cer:11)" in done.out
    assert "record win_lottery|13|13|chris" in done.out


def test_json_says_whether_it_holds() -> None:
    done = explained("rich(chris)=true", "--at", "30", "--format", "json")
    assert json.loads(done.out)["holds"] is False


def test_depth_folds() -> None:
    assert "more reasons below" in explained("rich(chris)", "--depth", "1").out


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["rich(chris", "--at", "15"], 1, "this bracket is never closed"),
        (["", "--at", "15"], 1, "neither a pair, such as level(b7)=critical, nor an event: it is"),
        (["rch(chris)=true"], 1, "there is no fluent rch/1; there are rich/1"),
        (["rich(X)=true"], 1, "has variables: name the arguments and the value"),
        (["rich(chris)", "--at", "yesterday"], 1, "the time must be a whole number"),
        (["chris", "--from", "9", "--to", "3"], 1, "the times go backward: 9 is after 3"),
        (["crhis"], 1, "no record and no fact names crhis; there are chris"),
        (["chris", "--from", "1", "--to", "2"], 1, "nothing that rules define held or happened"),
        (["rich(chris)", "--depth", "-1"], 2, "-1 is not in the range"),
        (["rich(chris)", "--input", "none.txt"], 2, "none.txt: there is no such file"),
        (["rich(chris)", "--checkpoint", "none"], 1, "there is no checkpoint of a stream in"),
    ],
)
def test_what_is_wrong_with_a_question_is_one_sentence(
    args: list[str], code: int, message: str
) -> None:
    done = outcome(*args)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    if code == 1:
        assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "0 were read"),
        ("garbage\n", "1 set aside, first"),
        ("unheard|1|1|x\n", "no rule mentions unheard"),
    ],
)
def test_input_without_usable_records_is_said(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "events.txt").write_text(content)
    rules = TOY / "rules.cer"
    done = run(
        "explain", rules, "--facts", TOY / "facts.cer", "-i", tmp_path / "events.txt", "chris"
    )
    assert (done.code, done.out) == (1, "")
    assert "there are no records that the rules can use" in done.err
    assert reason in done.err


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["rich(chris)", "--at", "-5"], "the run begins after 8: nothing is known before"),
        (["rich(nobody)", "--at", "9"], "no record and no fact names nobody"),
        (["rich(chris)", "--at", "99"], "the run ends at 21: no later record is known"),
    ],
)
def test_why_not_says_what_is_odd_about_the_question(args: list[str], line: str) -> None:
    done = explained(*args)
    assert done.code == 0
    assert line in done.out

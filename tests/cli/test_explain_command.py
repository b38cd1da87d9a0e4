"""`cernis explain` prints trees and JSON."""

from __future__ import annotations

import json

from tests.cli.command import ROOT, Outcome, run

TOY = ROOT / "examples" / "toy"


def explained(*args: str) -> Outcome:
    options = ("--facts", TOY / "facts.cer", "--input", TOY / "events.txt")
    return run("explain", TOY / "rules.cer", *options, *args)


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

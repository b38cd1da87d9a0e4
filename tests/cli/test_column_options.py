"""`--map` and `--config` say which columns are what, in all commands that read records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cernis.cli import stream_command
from tests.cli.command import TOY, run

NAMES = ["--map", "occurrence=time", "--map", "win_lottery.x=who"]
FACTS = "initiatedAt(rich(X)=true, T) :- happensAt(win_lottery(X), T), lucky(X, N), N > 3.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "lucky.cer").write_text(FACTS + "lucky(chris, 4).\n")
    (tmp_path / "win_lottery.csv").write_text("time,who\n13,chris\n15,chris\n")
    (tmp_path / "names.toml").write_text('[defaults]\noccurrence = "time"\nx = "who"\n')
    return tmp_path


COMMANDS: dict[str, tuple[list[str], int, str]] = {
    "run": (["run", "toy.cer"], 0, "holdsFor(rich(chris)=true, [(14,inf)])."),
    "explain": (["explain", "toy.cer", "rich(chris)=true", "--at", "20"], 0, "win_lottery"),
    "plan": (["plan", "toy.cer", "--analyze"], 0, "1 queries"),
    "diff": (["diff", "toy.cer", "lucky.cer"], 0, "the answers are the same"),
    "vary": (["vary", "lucky.cer", "--fact", "lucky(chris, 2..4 by 1)"], 0, "over 2 records"),
    "report": (["report", "toy.cer", "-o", "page.html"], 0, "1 intervals"),
    "graph": (["graph", "toy.cer", "-o", "graph.html"], 0, "graph.html: "),
    "generate-test": (["generate-test", "toy.cer", "--entity", "chris"], 0, "rich(chris)"),
    "score": (["score", "toy.cer", "--memory", "10"], 0, "rich"),
    "learn-durations": (["learn-durations", "toy.cer", "-o", "learnt.toml"], 0, "rich"),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("options", [NAMES, ["--config", "names.toml"]], ids=["map", "config"])
def test_columns_are_named(name: str, options: list[str]) -> None:
    words, code, expected = COMMANDS[name]
    done = run(*words, "-i", "win_lottery.csv", *options)
    assert (done.code, expected in done.said) == (code, True), done.said


@pytest.mark.parametrize("name", COMMANDS)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    done = run(*COMMANDS[name][0], "-i", "win_lottery.csv", "--map", "time")
    assert (done.code, "write, say, --map occurrence=time" in done.err) == (2, True), done.said


def test_a_stream_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[dict[str, Any]] = []

    def keep(*_: Any, **more: Any) -> None:
        requests.append(more)
        raise SystemExit(0)

    monkeypatch.setattr(stream_command, "_request", keep)
    run("stream", "toy.cer", "--source", "files:.", "--window", "20", "--checkpoint", "at", *NAMES)
    names = {"occurrence": "time", "win_lottery": {"x": "who"}}
    assert [each["mapping"] for each in requests] == [{"defaults": names}]

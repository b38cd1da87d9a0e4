"""Noise, accuracy, and the commands about uncertain records."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cernis.answers.accuracy import read_intervals
from cernis.answers.noise import distance_confidences, gamma_confidences, spurious_records
from cernis.answers.noisy_text import Noise, with_noise
from cernis.answers.scores import Score, Spans, by_interval, by_point
from cernis.errors import DataError
from cernis.report.chart import chart
from tests.cli.command import run as command

RULES = """
:- tick(2).
initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
terminatedAt(on(X)=true, T) :- happensAt(down(X), T).
"""


def test_gamma_noise_rises() -> None:
    times = np.arange(20_000)
    found = gamma_confidences(times, np.random.default_rng(1), 0.5, 8.0)
    assert found.min() >= 0
    assert found.max() <= 1
    # Where noise is full, confidence stays at 0.
    assert found[:1000].mean() == pytest.approx(0.95, abs=0.02)
    assert found[-1000:].mean() == pytest.approx(0.25, abs=0.03)
    again = gamma_confidences(times, np.random.default_rng(1), 0.5, 8.0)
    assert again.tolist() == found.tolist()
    assert len(gamma_confidences(times[:0], np.random.default_rng(1))) == 0


def test_noise_by_distance() -> None:
    found = distance_confidences(np.array([0.0, 5000.0, 15_000.0]), 5000.0)
    assert found.tolist() == [1.0, 0.5, 0.25]


def test_spurious_records_are_of_another_kind() -> None:
    names = np.random.default_rng(2).integers(0, 3, 200)
    rows, other = spurious_records(names, 3, 0.25, np.random.default_rng(3))
    assert len(set(rows.tolist())) == 50
    assert not np.any(names[rows] == other)
    assert len(spurious_records(names, 1, 0.5, np.random.default_rng(3))[0]) == 0


def test_lines_with_noise() -> None:
    lines = [f"{name}|{t}|{t}|a" for t in range(1, 51) for name in ("up", "down", "at")]
    noise = Noise(("up", "down"), ("at",), 1.0, 2.0, 0.2, seed=4)
    found = with_noise([*lines, "0.5::up|9|9|a", "# no record", ""], noise)
    assert found == with_noise([*lines, "0.5::up|9|9|a", "# no record", ""], noise)
    assert found[-3:] == ["0.5::up|9|9|a", "# no record", ""]
    assert len(found) == 150 + 20 + 3
    assert all(0 <= float(line.split("::")[0]) <= 1 for line in found[:-2])
    assert with_noise(["up|1|1|a", "at|1|1|a"], Noise(("up",)))[1] == "at|1|1|a"
    by_distance = Noise(distance=2, scale=100.0)
    assert with_noise(["up|1|1|a|300"], by_distance) == ["0.25::up|1|1|a|300"]
    with pytest.raises(DataError, match="argument 2 is no distance"):
        with_noise(["up|1|1|a"], by_distance)


def spans(intervals: dict[int, list[tuple[int, int]]]) -> Spans:
    rows = [(pair, *own) for pair, every in intervals.items() for own in every]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return Spans(columns[0], columns[1], columns[2])


@st.composite
def timelines(draw: st.DrawFn) -> dict[int, list[tuple[int, int]]]:
    found = {}
    for pair in range(draw(st.integers(0, 3))):
        edges = np.cumsum(draw(st.lists(st.integers(1, 4), max_size=8))).tolist()
        found[pair] = list(zip(edges[::2], edges[1::2], strict=False))
    return found


@settings(max_examples=150, deadline=None)
@given(timelines(), timelines())
def test_scores_are_counts(
    found: dict[int, list[tuple[int, int]]], true: dict[int, list[tuple[int, int]]]
) -> None:
    points = [
        {(pair, t) for pair, every in own.items() for s, e in every for t in range(s, e)}
        for own in (found, true)
    ]
    expected = [len(points[0] & points[1]), len(points[0] - points[1]), len(points[1] - points[0])]
    score = by_point(spans(found), spans(true))
    assert [score.right, score.wrong, score.missed] == expected
    flat = [[(p, *own) for p, every in side.items() for own in every] for side in (found, true)]

    def same(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
        both = min(one[2], other[2]) - max(one[1], other[1])
        every = one[2] - one[1] + other[2] - other[1] - both
        return one[0] == other[0] and both > 0 and both >= every / 2

    hit = sum(any(same(one, other) for other in flat[0]) for one in flat[1])
    right = sum(any(same(one, other) for other in flat[1]) for one in flat[0])
    whole = by_interval(spans(found), spans(true))
    assert (whole.right, whole.missed) == (hit, len(flat[1]) - hit)
    assert (whole.found_right, whole.wrong) == (right, len(flat[0]) - right)


def test_measures() -> None:
    score = Score(6, 2, 4)
    assert (score.precision, score.recall) == (0.75, 0.6)
    assert score.f1 == pytest.approx(2 / 3)
    assert Score(0, 0, 0).f1 == 1
    assert Score(0, 3, 3).f1 == 0
    assert (score + Score(1, 0, 0, 2)).precision == pytest.approx(8 / 10)


def test_intervals_are_read_back(tmp_path: Path) -> None:
    file = tmp_path / "truth.txt"
    file.write_text(
        "holdsFor(on('The lamp', 3)=true, [(1,5,0.7),(7,inf)]).\nholdsFor(off=1, []).\n"
    )
    rows = read_intervals(file).to_pylist()
    lamp = {"fluent": "on", "args": ["The lamp", "3"], "value": "true"}
    assert rows == [
        {**lamp, "start": 1, "end": 5, "open": False},
        {**lamp, "start": 7, "end": None, "open": True},
    ]
    for text in ("p(1).", "holdsFor(on=true, [3]).", "holdsFor(on, [(1,2)])."):
        file.write_text(text)
        with pytest.raises(DataError, match="truth.txt"):
            read_intervals(file)
    with pytest.raises(DataError, match="cannot be read"):
        read_intervals(tmp_path / "none.txt")


def test_a_chart_has_a_line_for_each_name() -> None:
    text = chart({"on/1": {"b": [(10, 0.5), (20, 0.75)], "bd": [(10, 1.0)]}, "<x>": {}}, "m", "f1")
    assert text.count("<polyline") == 2
    assert "&lt;x&gt;" in text


@pytest.fixture
def files(tmp_path: Path) -> Path:
    chance = random.Random(8)
    (tmp_path / "rules.cer").write_text(RULES)
    lines = []
    for time in range(2, 1200, 2):
        for thing in "ab":
            phase = (time // 60) % 5
            if chance.random() < 0.3:
                lines.append(f"{'up' if phase == 1 else 'down'}|{time}|{time}|{thing}")
    (tmp_path / "events.txt").write_text("\n".join(lines))
    return tmp_path


def test_the_commands_from_noise_to_score(files: Path) -> None:
    rules, noisy = str(files / "rules.cer"), str(files / "noisy.txt")
    made = command("noise", "-i", str(files / "events.txt"), "-o", noisy, "--mean", "2:4")
    assert made.code == 0, made.said
    assert Path(noisy).read_text().count("::") == len((files / "events.txt").read_text().split())
    few = command("learn-durations", rules, "-i", noisy, "-o", str(files / "d.toml"))
    assert few.code == 0, few.said
    assert few.out.startswith("on/1: no durations, of ")
    learned = command("learn-durations", rules, "-i", noisy, "-o", str(files / "d.toml"),
                      "--estimate", "weighted")  # fmt: skip
    assert learned.code == 0, learned.said
    assert learned.out.startswith("on/1: 56.7 points, deviation 6.4, of 8 intervals")
    told = command("run", rules, "-i", noisy, "--engine", "local", "--uncertain", "--memory", "20",
                   "--durations", str(files / "d.toml"), "--probabilities")  # fmt: skip
    assert told.code == 0, told.said
    assert "holdsFor(on(a)=true, [(" in told.out
    assert "probability(on(b)=true, [(" in told.out
    picture = files / "f1.svg"
    scored = command("score", rules, "-i", noisy, "--durations", str(files / "d.toml"), "--memory",
                     "2:42:20", "--picture", str(picture))  # fmt: skip
    assert scored.code == 0, scored.said
    assert [line.split()[1:3] for line in scored.out.splitlines()[1:]] == [
        [way, size] for size in ("2", "22", "42") for way in ("b", "bd")
    ]
    assert picture.read_text().count("<polyline") == 2
    truth = files / "out" / "intervals"
    crisp = command("run", rules, "-i", str(files / "events.txt"), "--engine", "local", "-o",
                    str(files / "out"))  # fmt: skip
    assert crisp.code == 0, crisp.said
    against = command("score", rules, "-i", noisy, "--truth", str(truth), "--memory", "60")
    assert against.code == 0, against.said
    ways = [line.split()[1] for line in against.out.splitlines()[1:]]
    assert ways == ["batch", "b"]


@pytest.mark.parametrize("format_", ["parquet", "csv", "json", "text"])
def test_results_are_written(files: Path, format_: str) -> None:
    out = files / "out"
    asked = ["run", str(files / "rules.cer"), "-i", str(files / "events.txt"), "--uncertain",
             "-o", str(out), "--format", format_, "--probabilities",
             "--engine", "local"]  # fmt: skip
    assert command(*asked).code == 0
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    ending = {"json": "jsonl"}.get(format_, format_)
    tables = {f"intervals.{ending}", f"probabilities.{ending}", f"fluents/on.{ending}"}
    assert names == ({"recognised.txt", "probabilities.txt"} if format_ == "text" else tables)
    assert command(*asked, "--overwrite").code == 0


@pytest.mark.parametrize("format_", ["csv", "text"])
def test_occurrences_of_patterns_are_written(tmp_path: Path, format_: str) -> None:
    rules, out = tmp_path / "rules.cer", tmp_path / "out"
    rules.write_text(
        "ie(X) <- a(X) seq b(X) within 10.\ninitiatedAt(alarm(X)=true, T) :- happensAt(ie(X), T).\n"
    )
    (tmp_path / "events.txt").write_text("0.9::a|1|1|k\n0.6::b|5|5|k\n0.5::b|7|7|k\n")
    done = command("run", str(rules), "-i", str(tmp_path / "events.txt"), "--uncertain", "-o",
                   str(out), "--format", format_, "--engine", "local")  # fmt: skip
    assert done.code == 0, done.said
    if format_ == "text":
        lines = (out / "recognised.txt").read_text().splitlines()
        assert lines[1:] == ["occurs(ie(k), [(1,5,0.54),(1,7,0.45)])."]
    else:
        rows = (out / "occurrences.csv").read_text().splitlines()
        assert rows[1:] == ['"ie","k",1,5,0.54', '"ie","k",1,7,0.45']


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--memory", "5"], "say --uncertain"),
        (["--uncertain", "--per-query"], "--per-query is about certain records"),
        (["--uncertain", "--threshold", "2"], "threshold must be"),
        (["--uncertain", "--memory", "9", "--durations", "none.toml"], "cannot be read"),
    ],
)
def test_what_cannot_go_together_is_said(files: Path, more: list[str], said: str) -> None:
    asked = ["run", str(files / "rules.cer"), "-i", str(files / "events.txt"), *more]
    found = command(*asked)
    assert found.code == 2
    assert said in found.said


@pytest.mark.parametrize("memory", [[], ["--memory", "9"]])
def test_windows_make_no_difference_to_a_stream_on_time(files: Path, memory: list[str]) -> None:
    noisy = str(files / "noisy.txt")
    assert command("noise", "-i", str(files / "events.txt"), "-o", noisy, "--mean", "2:4").code == 0
    asked = ["run", str(files / "rules.cer"), "-i", noisy, "--uncertain", "--probabilities",
             "--engine", "local", *memory]  # fmt: skip
    whole, parts = command(*asked), command(*asked, "--window", "200", "--step", "90")
    assert parts.code == 0, parts.said
    assert parts.out == whole.out
    assert "queries" in parts.said


@pytest.mark.parametrize("more", [["--mean", "x"], ["--mean", "0"], ["--spurious", "2"]])
def test_noise_that_makes_no_sense_is_refused(files: Path, more: list[str]) -> None:
    assert command("noise", "-i", str(files / "events.txt"), *more).code == 2

"""`cernis run`: what it prints, writes and says, and how it ends."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cernis
from cernis.cli import run_command as command
from tests.cli.command import ROOT, environment, run, start
from tests.cli.test_process import on_terminal
from tests.records.support import TOY, TOY_ANSWER, TOY_RECORDS

EXAMPLE = ROOT / "examples" / "toy"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the toy rules and records."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "toy.txt").write_text(TOY_RECORDS)
    return tmp_path


def test_text_is_printed_and_the_summary_is_told() -> None:
    done = run("run", "toy.cer", "--input", "toy.txt")
    assert (done.code, done.out) == (0, TOY_ANSWER)
    lines = dict(re.split(r"  +", line, maxsplit=1) for line in done.err.splitlines())
    assert list(lines) == ["records", "used", "run", "intervals", "happenings", "time"]
    assert lines["intervals"] == "5 of 5 fluent-value pairs"
    assert lines["run"] == "from 8 to 21, queries: 1"
    assert re.fullmatch(r"\d+\.\d\d s, [\d,]+ records a second", lines["time"])


def test_the_example_as_a_user_runs_it() -> None:
    done = start(
        "run", EXAMPLE / "rules.cer", "--facts", EXAMPLE / "facts.cer", "-i", EXAMPLE / "events.txt"
    )
    assert (done.code, done.out) == (0, (EXAMPLE / "expected.txt").read_text())


def test_several_inputs_and_fact_files() -> None:
    Path("rules.cer").write_text(
        "initiatedAt(f(X)=true, T) :- happensAt(e(X), T), good(X), \\+ bad(X).\n"
    )
    Path("good.cer").write_text("good(a).\ngood(b).\n")
    Path("bad.csv").write_text("who\nb\n")
    Path("one.txt").write_text("e|1|1|a\n")
    Path("two.jsonl").write_text('["e", 2, 2, "b"]\n["e", 3, 3, "c"]\n')
    done = run(
        "run", "rules.cer", "--facts", "good.cer", "--facts", "bad.csv",
        "--input", "one.txt", "--input", "two.jsonl",
    )  # fmt: skip
    assert (done.code, done.out) == (0, "holdsFor(f(a)=true, [(2,inf)]).\n")


def test_records_come_through_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cernis.cli.main", "run", "toy.cer", "--input", "-"],
        input=TOY_RECORDS, env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == TOY_ANSWER


@pytest.mark.parametrize(
    ("form", "file"),
    [
        (None, "_SUCCESS"), ("parquet", "intervals/fluent=rich/part-00000-1-1.parquet"),
        ("csv", "intervals.csv"), ("delta", "intervals/_delta_log/00000000000000000000.json"),
        ("json", "events/party.jsonl"), ("text", "recognised.txt"),
    ],
)  # fmt: skip
def test_results_are_written_into_a_folder(folder: Path, form: str | None, file: str) -> None:
    more = [] if form is None else ["--format", form]
    done = run("run", "toy.cer", "-i", "toy.txt", "--output", "out", *more)
    assert (done.code, done.out) == (0, "")
    assert (folder / "out" / file).is_file()
    assert re.search(r"^\d files? in out$", done.err, re.MULTILINE)


def test_an_existing_folder_is_refused_before_any_work(folder: Path) -> None:
    (folder / "out").mkdir()
    Path("toy.txt").write_text("broken")
    done = run("run", "toy.cer", "-i", "toy.txt", "-o", "out")
    assert done.code == 2
    assert done.err == "cernis: out exists already; choose another name, or say --overwrite\n"
    done = run("run", "toy.cer", "-i", "toy.txt", "-o", "out", "--overwrite")
    assert done.code == 3


def test_what_is_set_aside_goes_into_a_file_beside(folder: Path) -> None:
    Path("odd.txt").write_text("win_lottery|x|1|a\nfoo|1|1\n" + "win_lottery|2|2|b\n" * 2)
    done = run("run", "toy.cer", "-i", "odd.txt", "-o", "out")
    assert done.code == 0
    assert (folder / "out" / "set-aside.csv").read_text().splitlines() == [
        "source,line,reason,text",
        "odd.txt,1,a time must be a whole number or like 2026-03-29T03:00,win_lottery|x|1|a",
    ]
    assert "ignored     1, no rule mentions foo 1\n" in done.err
    assert "set aside   1\n" in done.err
    assert done.err.endswith("in out, what was set aside in set-aside.csv\n")


def test_what_is_set_aside_is_told_where_there_is_no_file() -> None:
    Path("odd.txt").write_text("win_lottery|x|1|a\n" * 8)
    done = run("run", "toy.cer", "-i", "odd.txt")
    assert (done.code, done.out) == (3, "")
    assert (
        done.err.splitlines()[0]
        == "set aside: odd.txt:1: a time must be a whole number or like 2026-03-29T03:00"
    )
    assert done.err.splitlines()[5] == "and 3 more; with --output, a file lists them"


def test_records_that_are_mostly_unused_are_told_and_end_with_3(folder: Path) -> None:
    Path("odd.txt").write_text("win_lotery|1|1|a\n" * 3 + "win_lottery|x|2|b\nwin_lottery|2|2|b\n")
    done = run("run", "toy.cer", "-i", "odd.txt")
    assert (done.code, done.out.count("\n")) == (3, 3)
    assert done.err.splitlines()[-3:] == [
        "cernis: warning: 4 of 5 records are not used; --allow-unused accepts that",
        "  no rule mentions win_lotery (3 records): did you mean `win_lottery`?",
        "  1 record set aside: a time must be a whole number or like 2026-03-29T03:00",
    ]
    assert run("run", "toy.cer", "-i", "odd.txt", "--allow-unused").code == 0
    done = run("run", "toy.cer", "-i", "odd.txt", "--uncertain", "-o", "out")
    assert done.code == 3
    assert "did you mean `win_lottery`?" in done.err


def test_half_of_the_records_and_no_records_are_no_trouble() -> None:
    Path("odd.txt").write_text("rain|1|1\nwin_lottery|2|2|b\n")
    assert run("run", "toy.cer", "-i", "odd.txt").code == 0
    Path("odd.txt").write_text("")
    assert run("run", "toy.cer", "-i", "odd.txt").code == 0


def test_records_that_all_lie_outside_the_run_are_told() -> None:
    done = run("run", "toy.cer", "-i", "toy.txt", "--start", "100")
    assert done.code == 3
    assert done.err.endswith("5 of 5 records are not used; --allow-unused accepts that\n"
                             "  5 outside the run\n")  # fmt: skip


def test_columns_taken_by_their_order_are_told_on_standard_error() -> None:
    Path("go_to.csv").write_text("occurrence,who,where\n3,ann,pub\n")
    done = run("run", "toy.cer", "-i", "go_to.csv")
    assert done.code == 0
    assert "cernis: warning: go_to.csv: no column is called as an argument of go_to" in done.err


def test_python_runs_the_command_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cernis", "--version"],
        capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"cernis {cernis.__version__}\n")


def test_strict_makes_it_an_error(folder: Path) -> None:
    Path("odd.txt").write_text("win_lottery|x|1|a\nwin_lottery|2|2|b\n")
    done = run_raising("run", "toy.cer", "-i", "odd.txt", "-o", "out", "--strict")
    words = "a time must be a whole number or like 2026-03-29T03:00"
    assert done == f"1 of 2 records cannot be used\nodd.txt:1: {words}"
    assert not (folder / "out").exists()
    assert start("run", "toy.cer", "-i", "odd.txt", "--strict").code == 1


def run_raising(*args: str) -> str:
    """The error of a command, which its process says in one line."""
    with pytest.raises(cernis.CernisError) as error:
        run(*args)
    return str(error.value)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["-i", "nowhere.txt"], "nowhere.txt: there is no such file"),
        (["-i", "empty"], "empty: the folder has no files of records"),
        (["-i", "toy.txt", "--format", "csv"], "--format csv needs --output"),
        (["-i", "toy.txt", "--window", "2x"], "window must be a positive whole number"),
        (["-i", "toy.txt", "--step", "0"], "step must be a positive whole number"),
        (["-i", "toy.txt", "--start", "soon"], "start must be a whole number, or a time like"),
        (["-i", "toy.txt", "--start", "9", "--end", "2"], "the run ends at 2, before it starts"),
        (["-i", "toy.txt", "--tick", "0"], "the tick must be a positive whole number"),
        (["-i", "toy.txt", "-o", "toy.txt", "--overwrite"], "toy.txt is a file, not a folder"),
        (["-i", "toy.txt", "--engine", "steam"], "--engine"),
        ([], "--input"),
    ],
)
def test_a_wrong_command_ends_with_two(args: list[str], words: str) -> None:
    Path("empty").mkdir()
    done = run("run", "toy.cer", *args)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_a_wrong_program_ends_with_one() -> None:
    Path("bad.cer").write_text("happensAt(rich(X), T) :- happensAt(win(_Y), T).\n")
    done = run("run", "bad.cer", "-i", "toy.txt")
    assert (done.code, done.out) == (1, "")
    assert "error[C030]" in done.err
    assert "cernis: bad.cer: 1 error" in done.err.splitlines()[-1]


def test_a_folder_that_cannot_be_written_to_ends_with_two(folder: Path) -> None:
    (folder / "file").write_text("")
    done = run("run", "toy.cer", "-i", "toy.txt", "-o", "file/out")
    assert done.code == 2
    assert "file/out cannot be written: Not a directory" in done.err


def test_windows_and_answers_as_of_each_query() -> None:
    done = run(
        "run", "toy.cer", "-i", "toy.txt", "--start", "0", "--end", "25", "--step", "10",
        "--per-query",
    )  # fmt: skip
    assert done.code == 0
    assert re.findall(r"% query (\d+)", done.out) == ["10", "20", "25"]
    assert done.out.endswith(f"% query 25\n{TOY_ANSWER}")
    assert "from 0 to 25, queries: 3" in done.err


def test_a_column_mapping_may_be_named(folder: Path) -> None:
    (folder / "wins.csv").write_text("when,who\n3,kim\n")
    (folder / "my.toml").write_text(
        '[[input]]\nfile = "wins.csv"\nrelation = "win_lottery"\noccurrence = "when"\n'
        'arguments = ["whom"]\n'
    )
    said = run_raising("run", "toy.cer", "-i", "wins.csv", "--config", "my.toml")
    assert said == (
        "wins.csv has no column whom, which win_lottery is to be read from; there are when, who"
    )
    (folder / "my.toml").write_text((folder / "my.toml").read_text().replace("whom", "who"))
    done = run("run", "toy.cer", "-i", "wins.csv", "--config", "my.toml")
    assert "holdsFor(rich(kim)=true, [(4,inf)]).\n" in done.out


def test_a_terminal_gets_a_bar_and_a_table() -> None:
    line = [sys.executable, "-m", "cernis.cli.main", "run", "toy.cer", "-i", "toy.txt"]
    said = on_terminal(line, TERM="xterm")
    assert "recognising: 5 records" in said
    assert "5 of 5 fluent-value pairs" in said
    assert "\x1b[1m" in said


def test_a_run_on_text_does_without_pandas() -> None:
    code = (
        "import sys\n"
        "from cernis.cli.main import app\n"
        "app(['run', 'toy.cer', '-i', 'toy.txt'], standalone_mode=False)\n"
        "print(sorted({'pandas', 'pyspark', 'rich', 'polars'} & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_run_says_once_that_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logger = logging.getLogger("cernis.kernels")
    monkeypatch.setattr(logger, "disabled", False)
    command.tell_of_compilation()
    command.tell_of_compilation()
    assert capsys.readouterr().err == ""
    logger.info("compiling one")
    logger.info("compiling another")
    assert capsys.readouterr().err.count("compiling its kernels, which happens once") == 1


def test_little_input_runs_in_this_process_and_it_is_said() -> None:
    done = run("run", "toy.cer", "-i", "toy.txt", "--engine", "auto")
    assert done.code == 0
    assert done.err.startswith("cernis: running in this process, as the input has no more than 64")
    assert "running" not in run("run", "toy.cer", "-i", "toy.txt", "--engine", "local").err


def test_folders_and_patterns_are_read_in_this_process_too(folder: Path) -> None:
    (folder / "days" / "one").mkdir(parents=True)
    (folder / "days" / "cernis.toml").write_text("")
    lines = TOY_RECORDS.splitlines(keepends=True)
    (folder / "days" / "one" / "a.txt").write_text("".join(lines[:2]))
    (folder / "days" / "b.txt").write_text("".join(lines[2:]))
    for inputs in (["days"], ["days/*.txt", "days/one"]):
        done = run("run", "toy.cer", *(part for each in inputs for part in ("-i", each)))
        assert (done.code, done.out) == (0, TOY_ANSWER)
    assert "there is no such file" in run("run", "toy.cer", "-i", "none/*.txt").err


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["-i", "toy.txt"], "on Spark, as the input has 0 MB, more than 0 MB"),
        (["-i", "toy.txt", "--master", "local[1]"], "on Spark, as --master is given"),
        (["-i", "*.txt"], "on Spark, as the input has 0 MB, more than 0 MB"),
        (["-i", "toy.txt", "--profile"], "in this process, as --profile needs"),
    ],
)
def test_the_engine_is_chosen_and_it_is_said(
    more: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cernis.cli import run_command

    def refuse(*_: object) -> None:
        raise SystemExit(7)

    monkeypatch.setattr(run_command, "IN_PROCESS_BYTES", 1)
    monkeypatch.setattr(run_command, "run_on_spark", refuse)
    done = run("run", "toy.cer", "--engine", "auto", *more)
    assert f"cernis: running {reason}" in done.err
    assert (done.code == 7) == reason.startswith("on Spark")


def test_what_is_selected_is_printed_and_written(folder: Path) -> None:
    done = run("run", "toy.cer", "-i", "toy.txt", "--select", "rich,party")
    assert {line.split("(")[1] for line in done.out.splitlines()} == {"rich", "party"}
    run("run", "toy.cer", "-i", "toy.txt", "--select", "rich", "-o", "out")
    assert [each.name for each in (folder / "out" / "intervals").iterdir()] == ["fluent=rich"]
    done = run("run", "toy.cer", "-i", "toy.txt", "--select", "ritch")
    assert (done.code, "did you mean rich?" in done.err) == (2, True)


def test_columns_are_named_by_options(folder: Path) -> None:
    (folder / "win_lottery.csv").write_text("time;who\n13;chris\n")
    names = ["--map", "occurrence=time", "--map", "win_lottery.x=who", "--map", "delimiter=;"]
    done = run("run", "toy.cer", "-i", "win_lottery.csv", *names)
    assert "holdsFor(rich(chris)=true, [(14,inf)])." in done.out
    done = run("run", "toy.cer", "-i", "win_lottery.csv", "--map", "time")
    assert (done.code, "write, say, --map occurrence=time" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--time-unit", "ms"], "[(2026-03-29T01:00:00.251Z,inf)]"),
        (["--round-times"], "[(2026-03-29T01:00:01Z,inf)]"),
        (["--round-times", "--timezone", "Europe/Athens"], "[(2026-03-28T23:00:01Z,inf)]"),
        (["--time-unit", "ms", "--epoch"], "[(1774746000251,inf)]"),
    ],
)
def test_times_are_read_and_written_as_options_say(
    folder: Path, options: list[str], line: str
) -> None:
    Path("w.txt").write_text("win_lottery|2026-03-29T01:00:00.250|2026-03-29T01:00:00.250|kim\n")
    done = run("run", "toy.cer", "-i", "w.txt", "--select", "rich", *options)
    assert done.out == f"holdsFor(rich(kim)=true, {line}).\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--time-unit", "h"], "s, ms, us or ns, not 'h'"),
        (["--timezone", "Athens"], "there is no time zone 'Athens'"),
    ],
)  # fmt: skip
def test_times_that_cannot_be_read_are_errors(folder: Path, options: list[str], said: str) -> None:
    Path("w.txt").write_text("win_lottery|2026-03-29T01:00:00.250|2026-03-29T01:00:00.250|kim\n")
    done = run("run", "toy.cer", "-i", "w.txt", *options)
    assert done.code in (1, 2)
    assert said in done.err


def test_deviations_from_exact_probabilities(tmp_path: Path) -> None:
    (tmp_path / "rules.cer").write_text("""
        initiatedAt(on(X)=true, T) :- happensAt(up(X), T).
        initiatedAt(seen(X)=true, T) :- happensAt(look(X), T), holdsAt(on(X)=true, T).
        initiatedAt(both(X)=true, T) :-
            happensAt(ask(X), T), holdsAt(on(X)=true, T), holdsAt(seen(X)=true, T).
    """)
    (tmp_path / "records.txt").write_text("0.5::up|1|1|a\nlook|2|2|a\nask|3|3|a\n")
    call = ("run", tmp_path / "rules.cer", "-i", tmp_path / "records.txt")
    done = run(*call, "--uncertain", "--deviations")
    assert done.code == 0
    assert "probabilities of 1 of 3 pairs are off since others count as independent" in done.err
    assert "both(a)=true: 0.250000 at 4, exactly 0.500000" in done.err
    refused = run(*call, "--deviations")
    assert refused.code == 2
    assert "--deviations is about uncertain records" in refused.said


def test_durations_of_an_unknown_fluent_are_a_wrong_option(tmp_path: Path) -> None:
    (tmp_path / "toy.cer").write_text(TOY)
    (tmp_path / "records.txt").write_text("0.5::win_lottery|1|1|ann\n")
    (tmp_path / "durations.toml").write_text('["poor/1"]\nmean = 3\ndeviation = 1\n')
    done = run(
        "run", tmp_path / "toy.cer", "-i", tmp_path / "records.txt", "--uncertain", "--memory", "3",
        "--durations", tmp_path / "durations.toml",
    )  # fmt: skip
    assert done.code == 2
    assert "durations of poor/1: there is no such fluent" in done.said

"""What rules cost, as a table."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from cernis.cli.main import app
from cernis.operators.context.measuring import Cost
from cernis.report.profile_table import as_text
from cernis.source import Sources

TOY = Path(__file__).parents[2] / "examples/toy"


def test_the_dearest_rule_comes_first_and_parts_are_not_counted_twice() -> None:
    sources = Sources()
    text = sources.add("rules.cer", "a :- b, not (c, d).\ne :- f.\n").base
    costs = [
        ("Scan", (text + 5, text + 6), Cost(1, 0.001, 0, 10)),
        ("Except", (text + 8, text + 18), Cost(1, 0.004, 10, 5)),
        ("Filter", (text + 13, text + 14), Cost(1, 0.003, 10, 5)),
        ("Scan", (text + 25, text + 26), Cost(2, 0.010, 0, 2_000)),
    ]
    lines = as_text(costs, [(text, text + 19), (text + 20, text + 27)], sources).splitlines()
    shown = [line.split() for line in lines if line]
    assert shown[1][:5] == ["10.0", "ms", "67%", "rules.cer:2:1", "e"]
    assert shown[2] == ["10.0", "ms", "2", "0", "2,000", "Scan", "f"]
    assert shown[3][:4] == ["5.0", "ms", "33%", "rules.cer:1:1"]
    assert shown[4] == ["4.0", "ms", "1", "10", "5", "Except", "not", "(c,", "d)"]
    assert shown[-1] == ["15.0", "ms", "in", "all"]


def test_run_tells_what_rules_cost() -> None:
    command = ["run", str(TOY / "rules.cer"), "--facts", str(TOY / "facts.cer"),
               "--input", str(TOY / "events.txt"), "--profile"]  # fmt: skip
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    assert result.stdout == (TOY / "expected.txt").read_text("utf-8")
    assert "Scan happensAt(win_lottery(Person), T)" in result.stderr
    assert "Inertia location/1" in result.stderr
    assert "in all" in result.stderr


def test_a_recursive_pattern_is_named_and_counted_once(tmp_path: Path) -> None:
    rules, records = tmp_path / "rules.cer", tmp_path / "records.txt"
    rules.write_text("""
        run(X, 1) <- not(c(X))[a(X), b(X)] within 10.
        run(X, N+1) <- not(c(X))[run(X, N), b(X)] within 10.
        """)
    records.write_text("a|1|1|x\nb|2|2|x\nb|3|3|x\nb|4|4|x\n")
    command = ["run", str(rules), "--input", str(records), "--profile", "--engine", "local"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    lines = [line.split() for line in result.stderr.splitlines() if "ms" in line.split()]
    titles = [line for line in lines if line[2].endswith("%")]
    assert {" ".join(line[4:6]) for line in titles} == {"run(X, 1)", "run(X, N+1)"}
    whole = float(lines[-1][0].replace(",", ""))
    joins = sum(float(line[0].replace(",", "")) for line in lines if "Join" in line)
    # The time of a join has that of its parts in it.
    assert abs(whole - joins) < 0.3

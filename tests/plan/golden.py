"""Plans of programs as text, kept beside the tests. Run this module to write them anew."""

from __future__ import annotations

from pathlib import Path

from cernis.plan import explain
from cernis.program import load

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = Path(__file__).parent / "programs"


def programs() -> dict[str, tuple[Path, list[Path]]]:
    """Rules and facts of each program whose plan is kept."""
    found = {}
    for rules in sorted(ROOT.glob("examples/*/rules.cer")):
        facts = rules.with_name("facts.cer")
        found[rules.parent.name] = (rules, [facts] if facts.exists() else [])
    for rules in sorted(PROGRAMS.glob("*.cer")):
        found[rules.stem] = (rules, [])
    return found


def plan_text(name: str) -> str:
    rules, facts = programs()[name]
    program = load(rules, facts)
    warnings = [f"{d.code} {d.message}" for d in program.plan.diagnostics]
    return explain(program.plan) + "".join(f"\nwarning {line}" for line in warnings)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for name in programs():
        (GOLDEN / f"{name}.txt").write_text(plan_text(name), "utf-8")
        print(f"wrote {name}.txt")

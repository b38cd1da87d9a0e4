"""Writes what came of cases into their files, where that was asked for; all else stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cernis.testing.case_answers import AnswerRow
from cernis.testing.case_files import without_comment
from cernis.testing.case_sessions import CaseOutcome
from cernis.testing.judging import Miss, RowTexts


@dataclass(slots=True)
class CaseUpdate:
    """What was written, and what was left: lines that several cases share."""

    changed: int = 0
    left: list[str] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)


@dataclass(slots=True)
class _Edits:
    """The changes of one file: lines replaced, and lines that follow others."""

    replaced: dict[int, tuple[str, ...]] = field(default_factory=dict)
    added: dict[int, list[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.replaced) + len(self.added)


def update_files(outcomes: Iterable[CaseOutcome]) -> CaseUpdate:
    """Let each expectation that is not met say what came; add one where there is none."""
    update = CaseUpdate()
    by_path: dict[Path, list[CaseOutcome]] = {}
    for outcome in outcomes:
        by_path.setdefault(outcome.path, []).append(outcome)
    for path, together in by_path.items():
        edits = _Edits()
        for outcome in together:
            if outcome.evidence is not None and not outcome.is_passed:
                _collect(outcome, edits, update)
        if len(edits):
            path.write_text(_edited(path.read_text("utf-8"), edits), "utf-8")
            update.changed += len(edits)
            update.paths.append(path)
    return update


def _collect(outcome: CaseOutcome, edits: _Edits, update: CaseUpdate) -> None:
    assert outcome.prepared is not None
    prepared = outcome.prepared
    if not any(True for _ in prepared.claims()) and "answer" not in prepared.case.settings:
        if not prepared.case.parameters:
            _add_block(outcome, edits)
        else:
            update.left.append(f"{outcome.path}:{outcome.line}")
        return
    for miss in outcome.misses:
        if not _is_settled(outcome, miss, edits, update):
            update.left.append(f"{outcome.path}:{miss.line}")


def _is_settled(outcome: CaseOutcome, miss: Miss, edits: _Edits, update: CaseUpdate) -> bool:
    """Could what is missed be written down? Not where several cases share the line."""
    assert outcome.prepared is not None
    assert outcome.evidence is not None
    case = outcome.prepared.case
    answer = case.settings.get("answer")
    if answer is not None and miss.line == answer.number and miss.expectation is None:
        path = outcome.prepared.file.beside(answer.text)
        path.write_text(outcome.evidence.text, "utf-8")
        update.changed += 1
        update.paths.append(path)
        return True
    if not miss.instead or case.parameters or miss.line < case.line:
        return False
    if miss.expectation is None:
        block = next(b for b in case.of_kind("expect") if b.line == miss.line)
        edits.added.setdefault(block.lines[-1].number, []).extend(miss.instead)
    else:
        edits.replaced[miss.line] = miss.instead
    return True


def _add_block(outcome: CaseOutcome, edits: _Edits) -> None:
    """Expect all that came of a case which expects nothing yet."""
    assert outcome.prepared is not None
    assert outcome.evidence is not None
    case, shown = outcome.prepared.case, RowTexts(outcome.prepared.clock, outcome.prepared.tick)
    rows: list[AnswerRow] = [
        *sorted(row for held in outcome.evidence.answer.held.values() for row in held),
        *sorted(
            (row for happened in outcome.evidence.answer.happened.values() for row in happened),
            key=lambda row: (row.relation, row.args, row.time),
        ),
    ]
    lines = shown.joined(rows)
    last = max([case.line, *(line.number for block in case.blocks for line in block.lines)])
    empty = next(iter(case.of_kind("expect")), None)
    if empty is not None:
        edits.added[max(empty.line, last if last > empty.line else 0)] = lines
    else:
        edits.added[last] = ["\0expect exactly", *lines]


def _edited(text: str, edits: _Edits) -> str:
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        indent = line[: len(line) - len(line.lstrip())]
        if number in edits.replaced:
            lines += _replaced(line, indent, edits.replaced[number])
        else:
            lines.append(line)
        lines += _indented(edits.added.get(number, ()), indent)
    return "\n".join(lines) + "\n"


def _replaced(line: str, indent: str, texts: tuple[str, ...]) -> Iterator[str]:
    """New texts in place of a line, whose comment stays with the first."""
    content = without_comment(line)
    comment = line[len(content) :]
    first, *rest = texts
    yield f"{indent}{first}" + (f"  {comment}" if comment else "")
    yield from (f"{indent}{text}" for text in rest)


def _indented(texts: Iterable[str], indent: str) -> Iterator[str]:
    """Lines below others; a heading stands a step to the left of what it heads."""
    for text in texts:
        if text.startswith("\0"):
            yield indent[:-2] + text[1:]
        else:
            yield indent + text

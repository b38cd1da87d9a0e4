"""Writes a report into a file: one page that needs no other file, no server and no network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from cernis.answers.reports.corrections import corrections
from cernis.answers.reports.input_intervals import input_intervals
from cernis.answers.reports.map_areas import fact_areas, geojson_areas
from cernis.answers.reports.report_causes import ReportCauses
from cernis.answers.reports.report_content import RunOrigin, content_of, pack_content
from cernis.answers.reports.report_events import EventKind, event_kinds, position_kind
from cernis.answers.reports.rule_texts import rule_texts
from cernis.answers.reports.thresholds import thresholds_of
from cernis.answers.reports.whole_explanations import explanations_of
from cernis.answers.time_output import TimeOutput
from cernis.check.checker import Checked
from cernis.errors import CernisError, DataError
from cernis.evaluate.answer import Answer
from cernis.pages.page_text import report_page
from cernis.pages.payload import Payload

if TYPE_CHECKING:
    from cernis.answers.result import Summary

MOST_TRACED: Final = 1_000_000
"""So many intervals get their causes in a report unless one asks for them."""
_LISTED: Final = 500
"""How many of the records that were not used are listed."""

NO_ORIGIN: Final = "this result does not know its program: ask the one of Program.run for a report"


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """What a report shows beside what was recognised."""

    title: str | None = None
    events: bool = True
    positions: pa.Table | None = None
    areas: str | Path | Mapping[str, Any] | None = None
    causes: bool = False
    """Is each interval to have the rules and records that began and ended it?"""
    explain: tuple[str, ...] = ()
    """The fluents whose intervals are explained as a whole."""


def write_report(
    path: str | Path, origin: RunOrigin | None, answer: Answer, summary: Summary,
    times: TimeOutput, options: ReportOptions, as_of: Iterable[tuple[int, Answer]] = (),
) -> Path:  # fmt: skip
    """Write the report of a run, and give the file it is in."""
    payload = report_payload(origin, answer, summary, times, options, as_of)
    return write_page(path, report_page(payload.meta["title"], payload.base64()))


def has_causes(origin: RunOrigin | None, answer: Answer) -> bool:
    """Are causes of so many intervals given unasked, and can they be had?

    They cannot be had of events that were read from an iterator, which are gone.
    """
    if origin is None or origin.causes is None:
        return False
    count = sum(len(table.starts) for table in answer.fluents.values())
    count += sum(len(course.times) for course in answer.courses.values())
    records = origin.read() if count <= MOST_TRACED else None
    return records is not None and records.used > 0


def write_page(path: str | Path, text: str) -> Path:
    """Write a page into a file; a DataError says why it cannot be written."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"{target} must end in .html: it is a page for a browser")
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise DataError(f"{target} cannot be written: {error.strerror}") from None
    return target


def report_payload(
    origin: RunOrigin | None, answer: Answer, summary: Summary, times: TimeOutput,
    options: ReportOptions, as_of: Iterable[tuple[int, Answer]] = (),
) -> Payload:  # fmt: skip
    """The data of a report."""
    if origin is None:
        raise CernisError(NO_ORIGIN)
    checked = origin.checked
    hidden, records = checked.definitions.auxiliary, origin.read() if options.events else None
    content = content_of(answer, checked, times, input_intervals(records))
    if options.events:
        content.kinds = list(event_kinds(answer, records, checked.catalogue, hidden))
    if options.positions is not None:
        content.kinds.append(position_kind(options.positions, times.scale))
    answers = list(as_of)
    if len(answers) > 1:
        tick = checked.definitions.settings.tick
        content.corrections = corrections(answers, content.relations, tick)
    if options.causes:
        if origin.causes is None:
            raise CernisError("this result cannot name causes: it does not know its events")
        happened = {each: table for each, table in answer.events.items() if each not in hidden}
        content.causes = origin.causes(content.tables, happened, content.band_tables)
    content.explanations = explanations_of(options.explain, answer, content, origin)
    payload = pack_content(content, options.title or "Report")
    payload.meta["summary"] = _summary(summary)
    given = [] if options.areas is None else geojson_areas(options.areas)
    payload.meta["areas"] = [*given, *fact_areas(checked)]
    payload.meta["rules"] = [
        {**rule, "place": Path(rule["place"]).name} for rule in _rules(checked, content.causes)
    ]
    name_thresholds(payload, content.kinds, checked)
    return payload


def name_thresholds(payload: Payload, kinds: Sequence[EventKind], checked: Checked) -> None:
    """Put the numbers that rules compare the attributes of events with beside these."""
    limits = thresholds_of(checked)
    for entry, kind in zip(payload.meta["events"], kinds, strict=True):
        entry["thresholds"] = {
            str(place): [{"value": value, "text": text} for value, text in numbers]
            for (relation, place), numbers in limits.items() if relation == kind.relation
        }  # fmt: skip


def _rules(checked: Checked, causes: ReportCauses | None) -> list[dict[str, Any]]:
    """The rules that causes name, in the order of their numbers, and then the others."""
    listed = rule_texts(checked)
    if causes is None:
        return listed
    by_place = {rule["place"]: rule for rule in reversed(listed)}
    named = [by_place.get(place, {"text": "", "place": place}) for place in causes.rules]
    fired = [{**rule, "fired": causes.fired[rule["place"]]} for rule in named]
    places = set(causes.rules)
    return [*fired, *({**rule, "fired": 0} for rule in listed if rule["place"] not in places)]


def _summary(summary: Summary) -> Mapping[str, Any]:
    unused = [*summary.set_aside, *summary.too_late]
    return {
        "records": summary.records, "used": summary.used, "queries": summary.queries,
        "ignored": dict(summary.ignored), "outside": summary.outside,
        "conflicts": summary.conflicts, "unusedCount": len(unused),
        "warnings": [*summary.warnings, *summary.remarks],
        "unused": [
            {"source": each.source, "line": each.line, "reason": each.reason, "text": each.text}
            for each in unused[:_LISTED]
        ],
    }  # fmt: skip

"""Results as files: text, Parquet, CSV or JSON lines in a folder of their own."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from cernis.answers.answer_lines import text_blocks
from cernis.answers.answer_tables import all_happenings, all_intervals
from cernis.answers.relation_files import SUCCESS, write_answers
from cernis.answers.result import Result, Summary
from cernis.answers.uncertain_result import UncertainResult
from cernis.check.model import Relation
from cernis.errors import DataError
from cernis.records.record_columns import SetAside

SET_ASIDE: Final = "set-aside.csv"
TEXT: Final = "recognised.txt"
_ALL: Final = ("intervals", "happenings", "probabilities", "occurrences")
_FOLDERS: Final = ("fluents", "events")


class OutputFormat(StrEnum):
    """How results are written."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    TEXT = "text"
    DELTA = "delta"

    @property
    def ending(self) -> str:
        """The ending of its files; JSON is written one object a line."""
        return {"json": "jsonl", "text": "txt"}.get(self.value, self.value)


def claim(directory: Path, overwrite: bool) -> None:
    """See that results can go into a folder: it must not exist, or its results may be replaced."""
    if directory.exists() and not overwrite:
        raise DataError(f"{directory} exists already; choose another name, or say --overwrite")
    if directory.exists() and not directory.is_dir():
        raise DataError(f"{directory} is a file, not a folder")


def write(result: Result, directory: Path, format_: OutputFormat) -> list[Path]:
    """Write a result into a folder, which is made if need be; gives the files written.

    As text, `recognised.txt` holds all. As Parquet there is a folder for each fluent and each
    derived event: see `cernis.answers.relation_files`. As Delta, `intervals` and `happenings` are
    tables, partitioned likewise. Else these two are files that hold all, and there is one file with
    typed columns a fluent in `fluents` and a derived event in `events`. With answers as of each
    query, all have a column `query`, but for the typed ones, which have the last. Records that were
    set aside are in `set-aside.csv`, if there are any. Files of an earlier
    result in this folder are removed first; no others are touched.
    """
    directory.mkdir(parents=True, exist_ok=True)
    clear(directory)
    written = list(write_set_aside(result.summary, directory))
    if format_ is OutputFormat.TEXT:
        return [_text(result, directory / TEXT), *written]
    if format_ is OutputFormat.PARQUET:
        written += write_answers(result.as_of or [(None, result.answer)], directory, result.times)
        (directory / SUCCESS).touch()
        return written
    if format_ is OutputFormat.DELTA:
        for path, table in list(_tables(result, directory, "delta"))[:2]:
            _write_delta(table, path.with_suffix(""))
            written.append(path.with_suffix(""))
        return written
    writer = _WRITERS[format_]
    for path, table in _tables(result, directory, format_.ending):
        path.parent.mkdir(exist_ok=True)
        writer(table, path)
        written.append(path)
    return written


def write_uncertain(
    result: UncertainResult, directory: Path, format_: OutputFormat, probabilities: bool
) -> list[Path]:
    """Write a result of uncertain records into a folder; gives the files written.

    As `write`, intervals with their `probability`. If the program has patterns over uncertain
    records, `occurrences` holds what they found. On request `probabilities` holds the probability
    of each pair over time, and as text `probabilities.txt`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    clear(directory)
    written = list(write_set_aside(result.summary, directory))
    if format_ is OutputFormat.TEXT:
        texts = {TEXT: result.text()}
        if probabilities:
            texts["probabilities.txt"] = result.probability_text()
        for name, text in texts.items():
            (directory / name).write_text(text, "utf-8")
        return [*(directory / name for name in texts), *written]
    if format_ is OutputFormat.DELTA:
        return [*_uncertain_delta(result, directory, probabilities), *written]
    tables = {
        directory / f"{name}.{format_.ending}": table
        for name, table in _uncertain_tables(result, probabilities).items()
    }
    for relation, name in file_names(result.answer.fluents).items():
        tables[directory / "fluents" / f"{name}.{format_.ending}"] = result.fluent(str(relation))
    for path, table in tables.items():
        path.parent.mkdir(exist_ok=True)
        _WRITERS[format_](table, path)
    return [*tables, *written]


def _uncertain_delta(
    result: UncertainResult, directory: Path, probabilities: bool
) -> Iterator[Path]:
    for name, table in _uncertain_tables(result, probabilities).items():
        _write_delta(table, directory / name)
        yield directory / name


def _uncertain_tables(result: UncertainResult, probabilities: bool) -> dict[str, pa.Table]:
    tables = {"intervals": result.intervals}
    if result.answer.occurrence_chances:
        tables["occurrences"] = result.occurrences
    if probabilities:
        tables["probabilities"] = result.probabilities
    return tables


def clear(directory: Path) -> None:
    """Remove the files of an earlier result from a folder; no others are touched.

    The sign that it is complete goes first.
    """
    (directory / SUCCESS).unlink(missing_ok=True)
    for name in _ALL:
        if (directory / name).is_dir():
            shutil.rmtree(directory / name)
    endings = [each.ending for each in OutputFormat if each is not OutputFormat.TEXT]
    stale = [directory / TEXT, directory / "probabilities.txt", directory / SET_ASIDE]
    stale += [directory / f"{name}.{ending}" for name in _ALL for ending in endings]
    for folder in _FOLDERS:
        stale += [f for e in endings for f in (directory / folder).glob(f"*.{e}")]
    for path in stale:
        path.unlink(missing_ok=True)


def _text(result: Result, path: Path) -> Path:
    with path.open("wb") as out:
        for query, answer in result.as_of or ((None, result.answer),):
            if query is not None:
                out.write(f"% query {result.times.text(query)}\n".encode())
            for block in text_blocks(answer, result.times):
                out.write(block)
    return path


def _tables(result: Result, directory: Path, ending: str) -> Iterator[tuple[Path, pa.Table]]:
    if result.as_of:
        everything = [(query, all_intervals(answer)) for query, answer in result.as_of]
        happened = [(query, all_happenings(answer)) for query, answer in result.as_of]
        yield directory / f"intervals.{ending}", result.times.table(_with_query(everything))
        yield directory / f"happenings.{ending}", result.times.table(_with_query(happened))
    else:
        yield directory / f"intervals.{ending}", result.intervals
        yield directory / f"happenings.{ending}", result.happenings
    for relation, name in file_names(result.answer.fluents).items():
        yield directory / "fluents" / f"{name}.{ending}", result.fluent(str(relation))
    for relation, name in file_names(result.answer.events).items():
        yield directory / "events" / f"{name}.{ending}", result.event(str(relation))


def _with_query(parts: list[tuple[int, pa.Table]]) -> pa.Table:
    return pa.concat_tables([
        table.add_column(0, "query", pa.repeat(pa.scalar(query, pa.int64()), len(table)))
        for query, table in parts
    ])  # fmt: skip


def file_names(relations: Mapping[Relation, Any]) -> dict[Relation, str]:
    """A file name for each relation: its name, with the number of arguments where that is needed.

    >>> file_names({Relation("f", 1): 0, Relation("g", 1): 0, Relation("g", 2): 0}).values()
    dict_values(['f', 'g_1', 'g_2'])
    """
    plain = {relation: _plain(relation.name) for relation in relations}
    taken: dict[str, int] = {}
    names: dict[Relation, str] = {}
    for relation, name in plain.items():
        if sum(other.lower() == name.lower() for other in plain.values()) > 1:
            name = f"{name}_{relation.arity}"
        count = taken[name.lower()] = taken.get(name.lower(), 0) + 1
        names[relation] = name if count == 1 else f"{name}_{count}"
    return names


def _plain(name: str) -> str:
    """A name that any file system takes: `obl(pay(_,_))` becomes `obl_pay`."""
    return re.sub(r"\W+", "_", re.sub(r"_(?=[,)])", "", name)).strip("_") or "relation"


def _write_parquet(table: pa.Table, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path, compression="zstd")


def _write_delta(table: pa.Table, folder: Path) -> None:
    """A Delta table, partitioned by the fluent or the event."""
    try:
        from deltalake import write_deltalake
    except ImportError:
        raise DataError("a Delta table needs deltalake: pip install 'cernis[delta]'") from None
    by = next(title for title in ("fluent", "event") if title in table.column_names)
    write_deltalake(str(folder), table, partition_by=[by], mode="overwrite")


def _write_csv(table: pa.Table, path: Path) -> None:
    """Lists of arguments become text with commas between them."""
    from pyarrow import csv as arrow_csv

    if "args" in table.column_names:
        at = table.column_names.index("args")
        table = table.set_column(at, "args", pc.binary_join(table.column("args"), ", "))
    arrow_csv.write_csv(_spelled_times(table), path)


def _spelled_times(table: pa.Table) -> pa.Table:
    """The table with timestamps as texts of ISO 8601."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            texts = pc.strftime(table.column(place), "%Y-%m-%dT%H:%M:%SZ")
            texts = pc.replace_substring_regex(texts, r"\.0+Z$", "Z")
            table = table.set_column(place, field.name, texts)
    return table


def _write_json(table: pa.Table, path: Path) -> None:
    table = _spelled_times(table)
    with path.open("w", encoding="utf-8") as out:
        for batch in table.to_batches():
            for row in batch.to_pylist():
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


_WRITERS: Final[Mapping[OutputFormat, Callable[[pa.Table, Path], None]]] = {
    OutputFormat.PARQUET: _write_parquet,
    OutputFormat.CSV: _write_csv,
    OutputFormat.JSON: _write_json,
}


def write_set_aside(summary: Summary, directory: Path) -> Iterator[Path]:
    """Write the records that were not used into a file, if there are any; gives its path."""
    unused: list[SetAside] = [*summary.set_aside, *summary.too_late]
    if not unused:
        return
    path = directory / SET_ASIDE
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["source", "line", "reason", "text"])
        writer.writerows((each.source, each.line, each.reason, each.text) for each in unused)
    yield path

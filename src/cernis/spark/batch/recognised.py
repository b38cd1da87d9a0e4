"""What `recognise` gives: the DataFrames of fluents and events, computed when they are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Self

import pyarrow as pa

from cernis.answers.result import Result
from cernis.answers.uncertain_result import UncertainResult
from cernis.errors import CernisError
from cernis.spark.batch.spark_results import (
    CertainComputation,
    Computation,
    Outcome,
    UncertainComputation,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cernis.answers.result import Summary
    from cernis.explain.explanation_tree import Explanation

_SHOWN: Final = 8
"""How many names a short text lists."""


class ResultFrames(Generic[Outcome]):
    """DataFrames of all that rules define. Nothing is computed before one of them is used.

    Each of them, used by itself, computes the whole run; `persist` keeps what the run gives when it
    is first computed, for all of them. A fluent or event is an attribute, or an item: `found.rich`,
    `found["rich"]`, `found["rich/1"]`.
    """

    def __init__(self, computation: Computation[Outcome]) -> None:
        self._computation = computation

    @property
    def events(self) -> DataFrame:
        """All happenings of derived events: `event, args, start, occurrence`, in no order.

        Only occurrences of patterns have a start.
        """
        return self._computation.events

    def event(self, name: str) -> DataFrame:
        """The happenings of one derived event: its arguments, then `occurrence`.

        Occurrences of a pattern also have a `start`.
        """
        return self._computation.event(name)

    @property
    def set_aside(self) -> DataFrame:
        """Records that were not used: `source, line, reason, text`."""
        return self._computation.set_aside

    def summary(self) -> Summary:
        """What became of the records; it computes the run."""
        return self._computation.summary()

    def collect(self) -> Outcome:
        """The whole result in this process, as a run in it gives it, and with its warnings."""
        return self._computation.collect()

    def report(
        self, path: str | Path, *, title: str | None = None, events: bool | None = None,
        positions: pa.Table | None = None, areas: str | Path | Mapping[str, Any] | None = None,
        causes: bool | None = None, explain: Iterable[str] = (),
    ) -> Path:  # fmt: skip
        """Write a page for a browser into a file of the driver: a timeline of all intervals.

        The whole result comes into this process for it. So do the events of the input, which are
        read once more; if they are more than a million, only where `events` is true. Without them
        there are no causes either. The options are those of a result in process.
        """
        return self._computation.report(
            path, title=title, events=events, positions=positions, areas=areas, causes=causes,
            explain=explain,
        )  # fmt: skip

    def persist(self) -> Self:
        """Keep the result of the run once it is computed."""
        self._computation.persist()
        return self

    def unpersist(self) -> Self:
        """Keep it no longer."""
        self._computation.unpersist()
        return self

    def _fluent(self, name: str) -> DataFrame:
        raise NotImplementedError

    def __getitem__(self, name: str) -> DataFrame:
        """The intervals of a fluent, or the happenings of an event, by name or `name/arity`."""
        fluents, events = (list(self._names(kind)) for kind in (True, False))
        if name in fluents:
            return self._fluent(name)
        if name in events:
            return self.event(name)
        known = dict.fromkeys(each for each in (*fluents, *events) if "/" not in each)
        raise CernisError(f"there is no fluent or event {name}; there are {', '.join(known)}")

    def __getattr__(self, name: str) -> DataFrame:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except CernisError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        names = [*self._names(True), *self._names(False)]
        return sorted({*super().__dir__(), *(name for name in names if name.isidentifier())})

    def _names(self, are_fluents: bool) -> Iterator[str]:
        """How fluents or events may be called: by name alone, and with their arity."""
        for relation in self._computation.defined(are_fluents):
            yield from (relation.name.partition("(")[0], relation.name, str(relation))

    def _listed(self) -> list[tuple[str, list[str]]]:
        computation = self._computation
        return [
            (noun, sorted({relation.name for relation in computation.defined(are_fluents)}))
            for noun, are_fluents in (("fluents", True), ("events", False))
        ]

    def __repr__(self) -> str:
        parts = [f"{noun} {_some(names)}" for noun, names in self._listed() if names]
        return f"<{type(self).__name__}: {'; '.join(parts) or 'nothing defined'}>"

    def _repr_html_(self) -> str:
        """A table for notebooks: what there is, and by which name."""
        rows = "".join(
            f"<tr><td>{noun.removesuffix('s')}</td><td><code>{escape(name)}</code></td></tr>"
            for noun, names in self._listed()
            for name in names
        )
        head = f"<p><b>{type(self).__name__}</b>: DataFrames, computed when they are used</p>"
        return f"{head}<table><tr><th>kind</th><th>name</th></tr>{rows}</table>"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


class Recognised(ResultFrames[Result]):
    """The result of a run over certain records."""

    _computation: CertainComputation

    @property
    def intervals(self) -> DataFrame:
        """All intervals: `fluent, args, value, start, end, open`, as `Result.intervals`.

        Rows are in no order. The end of an open interval is null.
        """
        return self._computation.intervals

    def fluent(self, name: str) -> DataFrame:
        """The intervals of one fluent: its arguments, then `value, start, end, open`.

        Arguments are whole numbers or floats where the types of the input's columns say so, and
        text else.
        """
        return self._computation.fluent(name)

    def _fluent(self, name: str) -> DataFrame:
        return self.fluent(name)

    def explain(self, question: str, time: Any = None) -> Explanation:
        """Why a pair such as `level(b7)=critical` held at a time, or why not; or an event.

        The input is read once more. Only the records that rules can reach from the question come to
        the driver, where they are evaluated again. Without a time, it is the last point at which it
        held.
        """
        return self._computation.explain(question, time)

    def write(self, folder: str | Path) -> Summary:
        """Write Parquet files as `cernis run` does, each by the task that has its rows.

        What an earlier run wrote into the folder is replaced. The workers must see the folder.
        """
        from cernis.spark.batch.answer_files import write

        return write(self._computation, Path(folder)).summary


class UncertainRecognised(ResultFrames[UncertainResult]):
    """The result of a run over uncertain records."""

    _computation: UncertainComputation

    @property
    def intervals(self) -> DataFrame:
        """`fluent, args, value, start, end, open, probability`, as of the in-process result.

        Rows are in no order.
        """
        return self._computation.intervals

    @property
    def probabilities(self) -> DataFrame:
        """`fluent, args, value, start, end, probability`, as of the in-process result."""
        return self._computation.probabilities

    @property
    def occurrences(self) -> DataFrame:
        """`event, args, start, occurrence, probability`, as of the in-process result."""
        return self._computation.occurrences

    def _fluent(self, name: str) -> DataFrame:
        from pyspark.sql.functions import col

        return self.intervals.where(col("fluent") == name.partition("/")[0])

"""What every task of a job knows: the plan, its routes, the settings of the run."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import pyarrow as pa

from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm as ValueForm
from cernis.evaluate.domain_retention import are_anchored
from cernis.kernels.array_types import Integers
from cernis.knowledge.ground_values import Value
from cernis.plan.builder import Plan
from cernis.plan.pointwise import Sliced, sliced
from cernis.plan.routes import Routes, find_routes
from cernis.records.record_columns import Column, RecordForm
from cernis.records.record_shapes import Shapes
from cernis.session.settings import Settings
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.entity_components import Components

Member = tuple[tuple[str, Value], ...]
"""The values of a member of a domain, each with its type: Python takes 3 for 3.0."""
Spans = tuple[tuple[int, float], ...]
"""From which query to before which one somebody is a member, each counted from 0."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of all the input: its first and last points, forms, and those of its values.

    `reach` is the last arrival of a retraction, matched or not.
    """

    first: int | None = None
    last: int | None = None
    reach: int | None = None
    forms: frozenset[RecordForm] = frozenset()
    values: Mapping[Slot, ValueForm] = field(default_factory=dict)

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            _least(self.first, other.first),
            _most(self.last, other.last),
            _most(self.reach, other.reach),
            self.forms | other.forms,
            _together(self.values, other.values),
        )


def _together(
    one: Mapping[Slot, ValueForm], other: Mapping[Slot, ValueForm]
) -> Mapping[Slot, ValueForm]:
    found = dict(one)
    for slot, form in other.items():
        found[slot] = found.get(slot, ValueForm.NOTHING) | form
    return found


def _least(one: int | None, other: int | None) -> int | None:
    known = [each for each in (one, other) if each is not None]
    return min(known, default=None)


def _most(one: int | None, other: int | None) -> int | None:
    known = [each for each in (one, other) if each is not None]
    return max(known, default=None)


@dataclass(frozen=True)
class Job:
    """A run of a plan on Spark. It travels to the workers with every task."""

    plan: Any
    """The pickled plan, compressed, and its length; or a broadcast of both."""
    settings: Settings
    buckets: int
    survey: Survey | None = None
    """What a survey of the input found, where one was needed beforehand."""
    members: Mapping[tuple[str, int], Mapping[Member, Spans]] | None = None
    """Domains that the input fills: since which query each member is there."""
    components: Mapping[int, Components] = field(default_factory=dict)
    """By step: which bucket linked entities belong to."""
    at_once: int | None = None
    """How many records a bucket evaluates at once, where the rules allow slices; None for all."""
    spreads: Mapping[int, Spread] = field(default_factory=dict, compare=False, repr=False)
    """By step: how keys are spread over its buckets, where it is not by hash alone."""
    folder: str | None = None
    """The folder into which tasks write their answers; None if answers are passed on."""
    counter: Any = field(default=None, compare=False, repr=False)
    """An accumulator of Spark's for the records that are read; None where there is none."""
    here: Loaded | None = field(default=None, compare=False, repr=False)
    """The plan itself, in the process that has it; it does not travel."""

    @property
    def loaded(self) -> Loaded:
        """The plan, unpacked once in each process."""
        if self.here is not None:
            return self.here
        return _loaded(self.plan if isinstance(self.plan, tuple) else self.plan.value)

    @property
    def tick(self) -> int:
        """The clock tick of the run."""
        return self.settings.tick or self.loaded.plan.checked.definitions.settings.tick

    def spread(self, step: int) -> Spread:
        """How keys are spread over the buckets of a step."""
        return self.spreads.get(step) or Spread(self.buckets)

    def placed(
        self, step: int, columns: Sequence[Column], length: int, kinds: Sequence[int] = ()
    ) -> Integers:
        """The bucket of each row at a step: by its values, or, of some kind, by its component."""
        if kinds and self.buckets > 1:
            return self.components[step].bucket_of(columns[0], kinds[0], self.buckets)
        return self.spread(step).of(columns, length)

    def tell_read(self, records: int) -> None:
        """Tell the driver of records that have been read. For show only: tasks may be repeated."""
        if self.counter is not None:
            self.counter.add(records)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "here": None}


def job_of(plan: Plan, settings: Settings, buckets: int, at_once: int | None = None) -> Job:
    """The job of a plan.

    Where no rule allows slices, there are none. With windows, a slice is some queries: there must
    be no domains that grow with the input, whose members may be taken back from long ago.
    """
    loaded = Loaded(plan)
    if settings.window is not None:
        at_once = None if plan.checked.definitions.domains else at_once
    elif settings.step or not any(map(loaded.sliced, loaded.routes.owned)):
        at_once = None
    return Job(_packed(plan), settings, buckets, at_once=at_once, here=loaded)


def _packed(plan: Plan) -> tuple[bytes, int]:
    whole = pickle.dumps(plan, protocol=5)
    return pa.compress(whole, "zstd", asbytes=True), len(whole)


@dataclass
class Loaded:
    """A plan in a worker, with what follows from it."""

    plan: Plan
    stages: dict[int, Plan] = field(default_factory=dict)
    slices: dict[int, Sliced | None] = field(default_factory=dict)

    @cached_property
    def routes(self) -> Routes:
        """Which relation goes where."""
        return find_routes(self.plan)

    @cached_property
    def stream_routes(self) -> Routes:
        """Which relation goes where if nobody knows what is still to come."""
        return find_routes(self.plan, by_links=False)

    @cached_property
    def shapes(self) -> Shapes:
        """What records are of."""
        return Shapes(self.plan.checked)

    @cached_property
    def is_anchored(self) -> bool:
        """May members of dynamic domains be forgotten that nothing in the window names?"""
        return are_anchored(self.plan)

    def stage(self, number: int) -> Plan:
        """The plan of one stage only."""
        if number not in self.stages:
            own = tuple(stage for stage in self.plan.stages if stage.number == number)
            self.stages[number] = replace(self.plan, stages=own)
        return self.stages[number]

    def sliced(self, number: int) -> Sliced | None:
        """A stage in the two parts that slices ask for; None if it cannot be sliced."""
        if number not in self.slices:
            self.slices[number] = sliced(self.plan, self.stage(number))
        return self.slices[number]

    def numeric_columns(self, form: RecordForm) -> list[bool]:
        """Which columns are numeric: rules compare or compute with their values."""
        return self.shapes.numeric_columns(form)


@lru_cache(maxsize=4)
def _loaded(plan: tuple[bytes, int]) -> Loaded:
    """Workers are used again from task to task, so a plan is unpacked once in each of them.

    Spark makes a worker run the garbage collector after every task. To look through modules and a
    plan with many facts takes 0.1 s each time. So what exists by then is excluded from collection.
    """
    from cernis.operators.definitions import simple_fluents as simple  # noqa: F401 - what comes later is not left out
    from cernis.operators.intervals import static_fluents as static  # noqa: F401 - what comes later is not left out

    found = Loaded(pickle.loads(pa.decompress(plan[0], plan[1], "zstd")))
    gc.freeze()
    return found

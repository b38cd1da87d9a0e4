"""The job that every task knows: the plan, its routes, the settings of the run."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cernis.answers.time_output import WHOLE_NUMBERS, TimeOutput
from cernis.check.model import Relation
from cernis.check.types import Slot
from cernis.check.value_forms import ValueForm
from cernis.errors import DataError
from cernis.kernels.array_types import Integers
from cernis.knowledge.ground_values import Value
from cernis.plan.builder import Plan
from cernis.records.record_columns import Column, RecordForm
from cernis.records.record_shapes import Shapes
from cernis.session.settings import Settings
from cernis.spark.exchange.buckets import Spread
from cernis.spark.exchange.entity_components import Components

if TYPE_CHECKING:
    from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings

Member = tuple[tuple[str, Value], ...]
"""The values of a member of a domain, each with its type, because 3 and 3.0 are equal in Python."""
Spans = tuple[tuple[int, float], ...]
"""Queries, counted from 0, at which a value is a member: from the first to before the last."""


@dataclass(frozen=True, slots=True)
class Survey:
    """The survey of the input: its first and last points, its forms, and the forms of its values.

    `reach` is the last arrival of a retraction, whether or not there is a record to take back.
    """

    first: int | None = None
    last: int | None = None
    reach: int | None = None
    forms: frozenset[RecordForm] = frozenset()
    values: Mapping[Slot, ValueForm] = field(default_factory=dict)
    uncertain: frozenset[Relation] = frozenset()
    """The relations of which some records are uncertain."""

    def __add__(self, other: Survey) -> Survey:
        return Survey(
            _least(self.first, other.first),
            _most(self.last, other.last),
            _most(self.reach, other.reach),
            self.forms | other.forms,
            _together(self.values, other.values),
            self.uncertain | other.uncertain,
        )


def _together(
    one: Mapping[Slot, ValueForm], other: Mapping[Slot, ValueForm]
) -> Mapping[Slot, ValueForm]:
    forms = dict(one)
    for slot, form in other.items():
        forms[slot] = forms.get(slot, ValueForm.NOTHING) | form
    return forms


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
    """The survey of the input, if one was needed before the run."""
    members: Mapping[tuple[str, int], Mapping[Member, Spans]] | None = None
    """The members of domains that the input fills, and the queries at which they are members."""
    components: Mapping[int, Components] = field(default_factory=dict)
    """By step: the buckets of linked entities."""
    at_once: int | None = None
    """How many records a bucket evaluates at once, where the rules allow slices; None for all."""
    spreads: Mapping[int, Spread] = field(default_factory=dict, compare=False, repr=False)
    """By step: how keys are spread over its buckets, where it is not by hash alone."""
    likely: UncertainSettings | None = None
    """How intervals are recognised where records may be uncertain; None if all are certain."""
    selected: frozenset[Relation] | None = None
    """The fluents and events that are written; None for all."""
    folder: str | None = None
    """The folder into which tasks write their answers; None if answers are passed on."""
    times: TimeOutput = WHOLE_NUMBERS
    """How times are written into that folder."""
    counter: Any = field(default=None, compare=False, repr=False)
    """An accumulator of Spark's for the records that are read; None where there is none."""
    here: Loaded | None = field(default=None, compare=False, repr=False)
    """The plan itself, in the process that has it; it does not travel."""

    @cached_property
    def loaded(self) -> Loaded:
        """The plan, unpacked once in each process and looked up once in each task."""
        if self.here is not None:
            return self.here
        return _loaded(self.plan if isinstance(self.plan, tuple) else self.plan.value)

    @property
    def tick(self) -> int:
        """The clock tick of the run."""
        return self.settings.tick or self.loaded.plan.checked.definitions.settings.tick

    @property
    def may_be_uncertain(self) -> bool:
        """Are records with a probability taken in?"""
        return self.likely is not None

    def spread(self, step: int) -> Spread:
        """How keys are spread over the buckets of a step."""
        return self.spreads.get(step) or Spread(self.buckets)

    def placed(
        self, step: int, columns: Sequence[Column], length: int, kinds: Sequence[int] = ()
    ) -> Integers:
        """The bucket of each row at a step, by the hash of its values.

        If the step links entities, `kinds` has the kind of the entity in the first column, and the
        row goes to the bucket of that entity's component.
        """
        if kinds and self.buckets > 1:
            return self.components[step].bucket_of(columns[0], kinds[0], self.buckets)
        return self.spread(step).of(columns, length)

    def tell_read(self, records: int) -> None:
        """Add to the driver's count of records that have been read.

        The count is for display only, because tasks may be repeated.
        """
        if self.counter is not None:
            self.counter.add(records)

    def __getstate__(self) -> dict[str, object]:
        return {each.name: self.__dict__[each.name] for each in fields(self)} | {"here": None}


def job_of(
    plan: Plan, settings: Settings, buckets: int, at_once: int | None = None,
    likely: UncertainSettings | None = None,
) -> Job:  # fmt: skip
    """The job of a plan; a bucket evaluates `at_once` records at once, if that can be done.

    All records of a bucket are evaluated together if they are uncertain, or if no rule allows
    slices. With windows, a slice is the records of some queries; then there must be no domain that
    grows with the input, because a retraction may take back one of its members from long ago.
    """
    plan = plan if likely is None else plan.over_uncertain
    loaded = Loaded(plan)
    if likely is not None:
        at_once = None
    elif settings.window is not None:
        at_once = None if plan.checked.definitions.domains else at_once
    elif settings.step or not any(plan.slices.values()):
        at_once = None
    return Job(_packed(plan), settings, buckets, at_once=at_once, likely=likely, here=loaded)


def plan_in_zone(plan: Plan, zone: str) -> Plan:
    """The plan with its naive times in a zone, unless the program or its caller says one."""
    definitions = plan.checked.definitions
    scale = definitions.settings.time.unless_said(zone)
    if scale.zone == definitions.settings.time.zone:
        return plan
    if scale.is_zone_asked:
        raise DataError(
            "the rules ask what clocks show, or have times without a zone, and do not say in which "
            f"zone: spark.sql.session.timeZone is {zone}, and without Spark it is UTC. Say "
            f"`:- time(zone('{zone}')).` in the rules, or timezone='{zone}'"
        )
    chosen = replace(definitions.settings, time=scale)
    checked = replace(plan.checked, definitions=replace(definitions, settings=chosen))
    return replace(plan, checked=checked)


def _packed(plan: Plan) -> tuple[bytes, int]:
    """The plan as it travels."""
    if not plan.checked.functions:
        return _packed_once(plan)
    # Functions of a script or a notebook travel as what they are by then, not by name.
    from pyspark import cloudpickle

    return _compressed(cloudpickle.dumps(plan, protocol=5))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=4)
def _packed_once(plan: Plan) -> tuple[bytes, int]:
    """With many facts, this takes as long as evaluating a million records."""
    return _compressed(pickle.dumps(plan, protocol=5))


def _compressed(whole: bytes) -> tuple[bytes, int]:
    return pa.compress(whole, "zstd", asbytes=True), len(whole)


@dataclass
class Loaded:
    """A plan in a worker, and the shapes of its records."""

    plan: Plan

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes of the records that the program reads."""
        return Shapes(self.plan.checked)


@lru_cache(maxsize=4)
def _loaded(plan: tuple[bytes, int]) -> Loaded:
    """Workers are used again from task to task, so a plan is unpacked once in each of them."""
    return Loaded(pickle.loads(pa.decompress(plan[0], plan[1], "zstd")))

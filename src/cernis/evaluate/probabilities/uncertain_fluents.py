"""Simple fluents under uncertainty: the proofs of their rules, then the course of each pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cernis.check.model import Pair, Relation
from cernis.errors import UnsupportedError
from cernis.evaluate.probabilities.circuits import Circuits
from cernis.evaluate.probabilities.courses import Courses, Pairs, courses_of, with_facts
from cernis.evaluate.probabilities.proof_groups import Actions, carried, grouped
from cernis.evaluate.probabilities.proofs import (
    Prover,
    Segments,
    Uncertainty,
    changes_relation,
    with_literals,
)
from cernis.evaluate.probabilities.uncertain_events import put_happenings
from cernis.evaluate.probabilities.uncertain_facts import Conjunctions, stacked
from cernis.evaluate.probabilities.uncertain_terminations import Ended
from cernis.kernels.array_types import Array, Booleans, Floats, Integers
from cernis.kernels.hashing import Numbering
from cernis.operators.definitions.grounding import allowed, grounded
from cernis.operators.definitions.instance_keys import InstanceKeys
from cernis.operators.definitions.rule_heads import head_column, slot_domains
from cernis.operators.definitions.values_apart import ending_values
from cernis.operators.distinct import distinct, with_first_times
from cernis.operators.query_context import Context, Points
from cernis.operators.rule_pipeline import run_steps
from cernis.plan.logical import Definition, Delay, InitialPoints, PointRule
from cernis.plan.open_heads import ends_any_value
from cernis.syntax.tree import Term, Variable
from cernis.tables.columns import Column, Rows
from cernis.tables.domains import Domain, numbers
from cernis.tables.interval_tables import Finder

_ANY = -1
_HALF = 31
_EVER, _NEVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(slots=True)
class _Points:
    """Initiations or terminations as rules prove them: arguments, value (-1: any), time, proof."""

    arguments: list[Array]
    values: Integers
    times: Integers
    proofs: Conjunctions


@dataclass(slots=True)
class _Initial:
    """What holds initially, each pair once, with its probability."""

    arguments: list[Array]
    values: Integers
    chances: Floats


@dataclass(slots=True)
class Outcome:
    """What rules do to the pairs of a fluent."""

    relation: Relation
    pairs: Pairs
    actions: Actions
    since: Integers
    """The first time at which each pair may be initiated."""


class UncertainFluent:
    """Collects the proofs of one fluent's rules and sorts them by pair."""

    def __init__(self, definition: Definition, context: Context, uncertainty: Uncertainty) -> None:
        self.relation = definition.relation
        self._definition = definition
        self._context = context
        self._uncertainty = uncertainty
        self._domains, self._value_domain = slot_domains(self.relation, context)
        if any(isinstance(rule, Delay) for rule in definition.rules):
            raise UnsupportedError(
                f"{self.relation}: delayed effects are not defined under uncertainty; initiate it "
                "by what is certain, such as the start of a statically determined fluent"
            )

    def outcome(self) -> Outcome:
        """All initiations and breaks of the pairs that may come to hold."""
        rules = [rule for rule in self._definition.rules if isinstance(rule, PointRule)]
        closed = [rule for rule in rules if not _is_open(rule)]
        initial = self._initial()
        points = [(rule, self._points(rule)) for rule in closed]
        found = {kind: [own for rule, own in points if rule.kind == kind]
                 for kind in ("initiation", "termination")}  # fmt: skip
        asked = [own for rule, own in points if rule.kind == "termination"]
        is_watched = self.relation in self._uncertainty.watched
        if len(closed) < len(rules):
            known = self._instances(found["initiation"], initial)
            for rule in rules:
                if _is_open(rule):
                    found[rule.kind].append(self._open_points(rule, *known))
                if _is_open(rule) and rule.kind == "termination" and is_watched:
                    asked.append(self._open_points(rule, *known, is_known=True))
        initiations, terminations = (self._stacked(found[k]) for k in found)
        if is_watched:
            self._tell(initiations, True)
            self._tell_terminations(self._stacked(asked), initiations, initial)
        return self._sorted(initiations, terminations, initial)

    # -- points -----------------------------------------------------------------------------

    def _points(self, rule: PointRule) -> _Points:
        proofs = Prover(self._uncertainty, self._context).run(rule.steps)
        assert isinstance(rule.head, Pair)
        arguments, values = self._projected(rule.head, proofs.rows)
        return _Points(arguments, values, proofs.rows.points, proofs.conjunctions())

    def _projected(self, head: Pair, rows: Rows) -> tuple[list[Array], Integers]:
        arguments = [
            head_column(arg, rows, domain)
            for arg, domain in zip(head.args, self._domains, strict=True)
        ]
        return arguments, self._values(head.value, rows)

    def _values(self, term: Term, rows: Rows) -> Integers:
        """Values are told apart by code even where they are numbers."""
        if isinstance(term, Variable) and term.name not in rows.columns:
            return np.full(rows.length, _ANY, np.int64)
        column = head_column(term, rows, self._value_domain)
        if self._value_domain is None:
            return self._coded.encode_numbers(column)
        return column

    @property
    def _coded(self) -> Domain:
        return self._value_domain or self._context.domains.value_domain(self.relation)

    def _initial(self) -> _Initial:
        """What the window begins with: what holds initially, or what held at its edge."""
        held = self._uncertainty.held
        if held is None:
            return self._initially()
        own = held.get(self.relation)
        if own is None:
            return self._nothing()
        values = own.values
        if self._value_domain is None:
            values = self._coded.encode(values.tolist())
        return _Initial(own.arguments, values, own.initial)

    def _nothing(self) -> _Initial:
        none = np.empty(0, np.int64)
        return _Initial([none] * self.relation.arity, none, np.empty(0))

    def _initially(self) -> _Initial:
        """Several clauses for one pair are independent of one another."""
        parts: list[tuple[list[Array], Integers, Floats]] = []
        for rule in self._definition.rules:
            if isinstance(rule, InitialPoints):
                rows = run_steps(rule.steps, None, self._context).settled()
                arguments, values = self._projected(rule.head, rows)
                first, _ = distinct([*arguments, values], [*self._domains, self._coded])
                chance = 1.0 if rule.probability is None else rule.probability
                own = [column[first] for column in arguments]
                parts.append((own, values[first], np.full(len(first), chance)))
        if not parts:
            return self._nothing()
        columns = [np.concatenate(own) for own in zip(*(part[0] for part in parts), strict=True)]
        values = np.concatenate([part[1] for part in parts])
        chances = np.concatenate([part[2] for part in parts])
        first, which = distinct([*columns, values], [*self._domains, self._coded])
        missing = np.ones(len(first))
        np.multiply.at(missing, which, 1 - chances)
        return _Initial([column[first] for column in columns], values[first], 1 - missing)

    def _stacked(self, parts: list[_Points]) -> _Points:
        if not parts:
            none = np.empty(0, np.int64)
            return _Points([none] * self.relation.arity, none, none, stacked([]))
        return _Points(
            [np.concatenate(own) for own in zip(*(p.arguments for p in parts), strict=True)],
            np.concatenate([p.values for p in parts]),
            np.concatenate([p.times for p in parts]),
            stacked([p.proofs for p in parts]),
        )

    def _tell(self, points: _Points, initiates: bool) -> None:
        """Initiations and terminations that are conditions of other rules."""
        values = points.values
        if self._value_domain is None:
            values = numbers(self._coded.decode(values))
        put_happenings(
            changes_relation(self.relation, initiates), [*points.arguments, values],
            [*self._domains, self._value_domain], points.times, points.proofs, self._context,
            self._uncertainty,
        )  # fmt: skip

    def tell_nothing(self) -> None:
        """Nothing is terminated, as far as is known yet."""
        nothing = self._stacked([])
        self._tell_terminations(nothing, nothing, self._nothing())

    def _tell_terminations(self, points: _Points, begun: _Points, initial: _Initial) -> None:
        """Terminations that are conditions of other rules, each as it may be asked for."""
        if not ends_any_value(self._definition):
            self._tell(points, False)
            return
        self._uncertainty.ended.add(self.relation)
        is_any = points.values == _ANY
        said = _taken(points, np.flatnonzero(~is_any))
        self._tell_ended(Ended.WHATEVER, points)
        self._tell_ended(Ended.ANY, _taken(points, np.flatnonzero(is_any)))
        self._tell_ended(Ended.SAID, said)
        each = self._stacked([said, self._of_known_values(points, begun, initial)])
        self._tell_ended(Ended.EACH, each)

    def _tell_ended(self, kind: Ended, points: _Points) -> None:
        columns, domains = list(points.arguments), list(self._domains)
        if kind.has_value:
            columns.append(self._shown(points.values))
            domains.append(self._value_domain)
        relation = kind.of(self.relation)
        self._uncertainty.events.add(relation)
        put_happenings(
            with_literals(relation), columns, domains, points.times, points.proofs, self._context,
            self._uncertainty,
        )  # fmt: skip

    def _of_known_values(self, points: _Points, begun: _Points, initial: _Initial) -> _Points:
        """Terminations of any value as those of each value known at an earlier point."""
        rows = np.flatnonzero(points.values == _ANY)
        known = self._known_pairs(begun, initial)
        pairs = zip(known.arguments, self._domains, strict=True)
        finder = Finder(list(pairs), len(known.times))
        wanted = [column[rows] for column in points.arguments]
        chosen, found = finder.all(wanted, len(rows))
        before = known.times[found] < points.times[rows[chosen]]
        rows, found = rows[chosen[before]], found[before]
        arguments = [column[found] for column in known.arguments]
        proofs = points.proofs.take(rows)
        return _Points(arguments, known.values[found], points.times[rows], proofs)

    def _known_pairs(self, begun: _Points, initial: _Initial) -> Points:
        """The pairs that grounding allows; without any, those there were, and since when."""
        if self._definition.groundings:
            return self._allowed_pairs()
        columns = [np.concatenate(o) for o in zip(begun.arguments, initial.arguments, strict=True)]
        values = np.concatenate([begun.values, initial.values])
        times = np.concatenate([begun.times, np.full(len(initial.values), _EVER)])
        domains = [*self._domains, self._coded]
        (*columns, values), since = with_first_times([*columns, values], domains, times)
        return Points(columns, values, since)

    def _allowed_pairs(self) -> Points:
        *args, value = (Variable(f"<{at}>") for at in range(self.relation.arity + 1))
        head = Pair(self.relation, tuple(args), value)
        rows = grounded(head, self._definition.groundings, Rows(1), self._context)
        if any(term.name not in rows.columns for term in (*args, value)):
            none = np.empty(0, np.int64)
            return Points([none] * self.relation.arity, none, none)
        arguments, values = self._projected(head, rows)
        return Points(arguments, values, np.full(rows.length, _EVER))

    # -- heads that leave arguments open ----------------------------------------------------

    def _instances(
        self, initiations: list[_Points], initial: _Initial
    ) -> tuple[list[Array], Integers]:
        """The distinct arguments there are, and since when each is there."""
        named = self._named()
        parts = [points.arguments for points in initiations] + [initial.arguments, *named]
        times = [points.times for points in initiations]
        times.append(np.full(len(initial.values), _EVER))
        if named:
            # With grounding rules, initiations are about what these name, and about nothing else.
            times = [np.full(len(own), _NEVER) for own in times]
            times.append(np.full(len(named[0][0]), _EVER))
        columns = [np.concatenate(own) for own in zip(*parts, strict=True)]
        return with_first_times(columns, self._domains, np.concatenate(times))

    def _named(self) -> list[list[Array]]:
        """The instances that grounding names, which heads may leave open to range over."""
        rules = [rule for rule in self._definition.rules if isinstance(rule, PointRule)]
        begins = any(_is_open(rule) and rule.kind == "initiation" for rule in rules)
        # To end what never began is nothing, unless another rule waits for it.
        is_asked = begins or self.relation in self._uncertainty.watched
        if not self._definition.groundings or not is_asked:
            return []
        args = tuple(Variable(f"<{at}>") for at in range(self.relation.arity))
        head = Pair(self.relation, args, Variable("<value>"))
        rows = grounded(head, self._definition.groundings, Rows(1), self._context)
        if any(arg.name not in rows.columns for arg in args):
            return []
        return [[head_column(a, rows, d) for a, d in zip(args, self._domains, strict=True)]]

    def _open_points(
        self, rule: PointRule, known: list[Array], since: Integers, is_known: bool = False
    ) -> _Points:
        """A head that leaves arguments open is about all instances that match the rest."""
        assert isinstance(rule.head, Pair)
        proofs = Prover(self._uncertainty, self._context).run(rule.steps)
        rows, args = proofs.rows, rule.head.args
        bound = [at for at, arg in enumerate(args)
                 if not isinstance(arg, Variable) or arg.name in rows.columns]  # fmt: skip
        finder = Finder([(known[at], self._domains[at]) for at in bound], len(since))
        wanted = [head_column(args[at], rows, self._domains[at]) for at in bound]
        chosen, found = finder.all(wanted, rows.length)
        if is_known or rule.kind == "initiation":
            # Only what has been initiated before, or is there by grounding, can be so again.
            there = since[found] < rows.points[chosen]
            chosen, found = chosen[there], found[there]
        picked = rows.take(chosen)
        more = {f"<{at}>": Column(known[at], self._domains[at], found)
                for at in range(len(args)) if at not in bound}  # fmt: skip
        picked = picked.with_columns(more)
        filled = tuple(a if at in bound else Variable(f"<{at}>") for at, a in enumerate(args))
        head = Pair(rule.head.relation, filled, rule.head.value)
        arguments, values = self._projected(head, picked)
        return _Points(arguments, values, picked.points, proofs.conjunctions().take(chosen))

    # -- pairs ------------------------------------------------------------------------------

    def _sorted(self, initiations: _Points, terminations: _Points, initial: _Initial) -> Outcome:
        given = [initiations.arguments, terminations.arguments, initial.arguments]
        lengths = [len(initiations.values), len(terminations.values), len(initial.values)]
        keys = InstanceKeys(self._domains, given, self._context)
        numbering = Numbering()
        begun, ended, held = (
            numbering.of(keys.of(own, length)) for own, length in zip(given, lengths, strict=True)
        )
        may = self._allowed(initiations.arguments, initiations.values)
        may_hold = self._allowed(initial.arguments, initial.values)
        both = np.concatenate([
            (begun[may] << _HALF) | initiations.values[may],
            (held[may_hold] << _HALF) | initial.values[may_hold],
        ])  # fmt: skip
        # Sorted by instance, so that the pairs of each follow one another.
        pairs = np.unique(both)
        instances, values = pairs >> _HALF, pairs & ((1 << _HALF) - 1)
        chances = np.zeros(len(pairs))
        chances[np.searchsorted(pairs, both[int(may.sum()) :])] = initial.chances[may_hold]
        since = np.full(len(pairs), _NEVER)
        np.minimum.at(since, np.searchsorted(pairs, both[: int(may.sum())]), initiations.times[may])
        since[chances > 0] = begins(self._context, self._uncertainty) - self._context.tick
        arguments = keys.arguments(numbering.keys[instances])
        found = Pairs(arguments, self._shown(values), self._domains, self._value_domain, chances)
        actions = _actions(
            len(numbering), instances, values, (begun, initiations), (ended, terminations),
            self._end_others(initiations.values),
        )  # fmt: skip
        return Outcome(self.relation, found, actions, since)

    def _end_others(self, values: Integers) -> Booleans:
        """For each initiation: does its value end others?"""
        ending = ending_values(self._definition, self._value_domain, self._context)
        return np.ones(len(values), np.bool_) if ending is None else ending.among(values)

    def _allowed(self, arguments: list[Array], values: Integers) -> Booleans:
        if not self._definition.groundings or not len(values):
            return np.ones(len(values), np.bool_)
        return allowed(
            self._definition.groundings, arguments, self._domains, values, self._coded,
            self._context,
        )  # fmt: skip

    def _shown(self, codes: Integers) -> Array:
        return codes if self._value_domain is not None else numbers(self._coded.decode(codes))


def _actions(
    count: int, instances: Integers, values: Integers,
    begun: tuple[Integers, _Points], ended: tuple[Integers, _Points],
    end_others: Booleans,
) -> Actions:  # fmt: skip
    """What each point does to each pair of its instance: initiates it, breaks it, or nothing."""
    offsets = np.searchsorted(instances, np.arange(count + 1)).astype(np.int64)
    parts = []
    for own, points in (begun, ended):
        many = np.diff(offsets)[own]
        rows = np.repeat(np.arange(len(own)), many)
        behind = np.cumsum(many) - many
        pairs = np.arange(len(rows)) + np.repeat(offsets[own] - behind, many)
        same = points.values[rows] == values[pairs]
        if points is begun[1]:
            keep, breaks = same | end_others[rows], ~same
        else:
            keep = same | (points.values[rows] == _ANY)
            breaks = np.ones(len(rows), np.bool_)
        rows, pairs, breaks = rows[keep], pairs[keep], breaks[keep]
        is_whole = len(rows) == len(own) and bool(np.all(many == 1))
        proofs = points.proofs if is_whole else points.proofs.take(rows)
        parts.append((pairs, points.times[rows], breaks.astype(np.int64), proofs))
    columns = list(zip(*parts, strict=True))
    pairs, times, breaks = (np.concatenate(own) for own in columns[:3])
    return Actions(pairs, times, breaks, stacked(list(columns[3])))


def _taken(points: _Points, rows: Integers) -> _Points:
    arguments = [column[rows] for column in points.arguments]
    return _Points(arguments, points.values[rows], points.times[rows], points.proofs.take(rows))


def _is_open(rule: PointRule) -> bool:
    """Does the head leave an argument open, and not only its value?"""
    assert isinstance(rule.head, Pair)
    names = {arg.name for arg in rule.head.args if isinstance(arg, Variable)}
    return bool(names & set(rule.open_variables)) or "_" in names


def begins(context: Context, uncertainty: Uncertainty) -> int:
    """The point from which on pairs have what they begin with."""
    edge = context.start if uncertainty.held is None else context.edge
    return edge + context.tick


def evaluate_fluent(
    definition: Definition, context: Context, uncertainty: Uncertainty, circuits: Circuits
) -> Courses:
    """The course of each pair of a fluent that depends on none of its own; and its segments."""
    outcome = UncertainFluent(definition, context, uncertainty).outcome()
    facts = uncertainty.facts
    groups = grouped(outcome.actions, facts, circuits, str(outcome.relation))
    after = carried(groups, outcome.pairs.initial, facts, circuits)
    since = begins(context, uncertainty)
    courses = courses_of(groups, after, outcome.pairs, since, context.tick)
    uncertainty.fluents[definition.relation] = Segments(*with_facts(courses, facts))
    return courses

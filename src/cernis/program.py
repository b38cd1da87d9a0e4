"""A program: loaded, checked, and ready to be planned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cernis.check.catalogue import EventEntry, FluentEntry
from cernis.check.checker import Checked
from cernis.check.loading.program_origin import FactSources, Origin, is_file_name, origin_of
from cernis.check.model import Relation
from cernis.check.rewrites.time_literals import AS_DIRECTED, ChosenTime
from cernis.errors import DataError, Diagnostic, ProgramError, Severity
from cernis.source import Sources
from cernis.syntax.parser import collector_paused
from cernis.syntax.time_scale import TimeScale

if TYPE_CHECKING:
    from cernis.answers.result import Result
    from cernis.answers.uncertain_result import UncertainResult
    from cernis.compare.program_differences import ProgramDifferences
    from cernis.compare.variations import Variation
    from cernis.evaluate.probabilities.shares import PairShares
    from cernis.explain.explanation_tree import Explanation
    from cernis.plan import Plan
    from cernis.records.record_columns import Records
    from cernis.records.record_sources import Events
    from cernis.session.session import Session
    from cernis.session.settings import Length, Point
    from cernis.session.uncertain_session import UncertainSession


@dataclass(frozen=True)
class Program:
    """A program without errors; its warnings are in `diagnostics`."""

    checked: Checked
    origin: Origin | None = field(default=None, compare=False, repr=False)
    """What it was made of, so that it can be made again with other facts."""

    def __repr__(self) -> str:
        """Where it is from, and how much of what there is.

        >>> from cernis import load
        >>> load("initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).")
        <Program <text>: 1 input event, 0 derived events, 1 fluent>
        """
        events = self.checked.catalogue.events.values()
        inputs = sum(event.is_input for event in events)
        counts = [
            (inputs, "input event"), (len(events) - inputs, "derived event"),
            (len(self.fluents), "fluent"),
        ]  # fmt: skip
        words = ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
        worth = len([each for each in self.diagnostics if each.severity is Severity.WARNING])
        warned = f"; {worth} warning{'' if worth == 1 else 's'} in .diagnostics" if worth else ""
        name = next((source.name for source in self.sources), "")
        return f"<Program {name}: {words}{warned}>"

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What there is to say about the program, by place."""
        return self.checked.diagnostics

    @property
    def sources(self) -> Sources:
        """The texts the program was read from."""
        return self.checked.sources

    @property
    def events(self) -> dict[Relation, EventEntry]:
        """The events it speaks of, input and derived."""
        return dict(self.checked.catalogue.events)

    @property
    def fluents(self) -> dict[Relation, FluentEntry]:
        """The fluents it speaks of, input and defined."""
        return dict(self.checked.catalogue.fluents)

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of its events and fluents."""
        from cernis.answers.reports.notebook_view import program_view

        return program_view(self.checked.catalogue, self.checked.definitions.auxiliary)

    @property
    def time_scale(self) -> TimeScale:
        """The unit of its time-points, and the zone of times without one."""
        return self.checked.definitions.settings.time

    def with_facts(self, facts: FactSources) -> Program:
        r"""The program with these facts, in place of any of the same predicates.

        Facts are as for `load`. Predicates whose facts come later are declared in the rules, as
        `:- dynamic(bed/2).` does, or have facts from the start.

        >>> from cernis import load
        >>> program = load('''
        ... :- dynamic(bed/2).
        ... initiatedAt(alarm(Ward)=true, T) :- happensAt(call(Bed), T), bed(Bed, Ward).
        ... ''')
        >>> beds = {"bed": ["b1", "b2"], "ward": ["icu", "er"]}
        >>> print(program.with_facts({"bed": beds}).run("call|3|3|b2\n").text(), end="")
        holdsFor(alarm(er)=true, [(4,inf)]).
        """
        if self.origin is None:
            raise DataError("facts can be given to programs that `cernis.load` made")
        program = Program(*self.origin.with_facts(facts).checked())
        if program.checked.has_errors:
            raise ProgramError(program.diagnostics, program.sources)
        return program

    @cached_property
    def plan(self) -> Plan:
        """How it is evaluated."""
        from cernis.plan import make_plan

        with collector_paused(to_be_run=True):
            return make_plan(self.checked)

    def run(
        self, events: Events, *, window: Length | None = None, step: Length | None = None,
        start: Point | None = None, end: Point | None = None, tick: int | None = None,
        ties: str | None = None, mapping: str | Path | Mapping[str, Any] | None = None,
        strict: bool = False, per_query: bool = False, epoch: bool = False,
        facts: FactSources | None = None,
    ) -> Result:  # fmt: skip
        """Recognise: when did what hold, given these events?

        Events are tables (Arrow, pandas, polars), lists of tuples or mappings, files, or text
        records: see `cernis.records.record_sources.read_events`. With a window, a query sees only
        what happened within it, and there is a query every step; without, one query sees all. A run
        goes from start, exclusive, to end; by default from just before the first record to the
        last. `mapping` says which columns of files are what, as `cernis.toml` does. A record that
        cannot be used is set aside, or is a DataError if `strict`. Input that is probably not what
        was meant, of which most records are not used, say, is an InputWarning. Times come out as
        timestamps if the input has such, unless `epoch` asks for whole numbers. `facts` are those
        of `with_facts`, which spares work if they serve several runs.

        >>> from cernis import load
        >>> program = load("initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).")
        >>> program.run([("win", 3, 3, "kim")]).holds_at(5).to_pylist()
        [{'fluent': 'rich', 'args': ['kim'], 'value': 'true'}]
        """
        if facts is not None:
            program = self.with_facts(facts)
            return program.run(
                events, window=window, step=step, start=start, end=end, tick=tick, ties=ties,
                mapping=mapping, strict=strict, per_query=per_query, epoch=epoch,
            )  # fmt: skip
        from cernis.answers.unused_records import warn_of_input
        from cernis.session.recognise import recognise
        from cernis.session.settings import settings

        chosen = settings(window, step, start, end, tick, ties, self.time_scale, epoch)
        result = recognise(
            self.plan, events, chosen, mapping=mapping, strict=strict, per_query=per_query
        )
        warn_of_input(result.summary, self.checked.catalogue)
        return result

    def session(
        self, *, window: Length | None = None, step: Length | None = None,
        start: Point | None = None, tick: int | None = None, ties: str | None = None,
        policy: str = "early", ids: str | None = None, future: Length | None = None,
        epoch: bool = False, facts: FactSources | None = None, causes: bool = False,
    ) -> Session:  # fmt: skip
        """A session: events are inserted and retracted, and each query reports what has changed.

        Settings are as those of `run`. The policy says when intervals are reported: `early`, as
        soon as they are recognised; `partial`, once their existence is settled; `final`, once they
        can no longer change. `ids` is the title of a column that identifies the records of one
        relation: one that comes again is ignored, and one is taken back by its id. A record that
        arrives or occurs more than `future` after a query is set aside at that query. Times come
        out as timestamps once the input has had such, unless `epoch` asks for whole numbers.
        `facts` are those of `with_facts`. With `causes`, the feed names the records that caused
        each change.

        >>> from cernis import load
        >>> session = load("initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).").session()
        >>> session.insert([("win", 3, 3, "kim")])
        >>> session.query(5).table()["fluent"].to_pylist()
        ['rich']
        """
        from cernis.session.session import Session
        from cernis.session.settings import length, settings

        chosen = settings(window, step, start, None, tick, ties, self.time_scale)
        kind: type[Session] = Session
        if causes:
            from cernis.session.caused_session import CausedSession

            kind = CausedSession
        return kind(
            (self if facts is None else self.with_facts(facts)).plan,
            chosen.window,
            chosen.step,
            chosen.start,
            chosen.tick,
            chosen.ties,
            policy,
            ids=ids, epoch=epoch,
            future=None if future is None else length(future, "future", self.time_scale),
        )  # fmt: skip

    def explain(
        self, events: Events, question: str, time: Point | None = None, *,
        window: Length | None = None, step: Length | None = None, start: Point | None = None,
        end: Point | None = None, tick: int | None = None, ties: str | None = None,
        mapping: str | Path | Mapping[str, Any] | None = None, uncertain: bool = False,
    ) -> Explanation:  # fmt: skip
        """Why a pair such as `level(b7)=critical` holds at a time, or why not; or an event.

        Without a time, it is the last point at which it does; a time of day, such as `10:32`, is
        the last one before the end of the run. Events and settings are those of
        `run`; only records that rules can reach from the question are evaluated. Events read once,
        by `records`, serve many questions. Of `uncertain` records it says how likely the pair is,
        and the share of each record in that.
        """
        from cernis.answers.time_output import TimeOutput
        from cernis.explain.explaining import RunLimits, explain
        from cernis.explain.uncertain_explanations import explain_uncertain
        from cernis.records.record_sources import read_events
        from cernis.session.settings import point, settings

        chosen = settings(window, step, start, end, tick, ties, self.time_scale)
        limits = RunLimits(
            chosen.window, chosen.step, chosen.start, chosen.end, chosen.tick, chosen.ties
        )
        records = read_events(events, self.checked, mapping, uncertain=uncertain)
        shown = TimeOutput(self.time_scale, records.dated)
        at_time = time if isinstance(time, str | None) else point(time, "time", self.time_scale)
        explain_one = explain_uncertain if uncertain else explain
        return explain_one(self.plan, records, question, at_time, limits, shown.text)

    def explain_all(
        self, events: Events, text: str, first: Point | None = None, last: Point | None = None, *,
        window: Length | None = None, step: Length | None = None, start: Point | None = None,
        end: Point | None = None, tick: int | None = None, ties: str | None = None,
        mapping: str | Path | Mapping[str, Any] | None = None, uncertain: bool = False,
    ) -> list[Explanation]:  # fmt: skip
        """Why a pair held, or an event happened, from one time to another: each time by itself.

        The text may name an entity, such as `b7`: then it is all that has it as an argument. The
        twenty latest intervals and happenings are explained, in the order of time. Of `uncertain`
        records, it is what held if all of them were true.
        """
        from cernis.answers.time_output import TimeOutput
        from cernis.explain.explaining import RunLimits, explain
        from cernis.explain.uncertain_explanations import explain_uncertain
        from cernis.explain.wider_questions import explain_over
        from cernis.records.record_sources import read_events
        from cernis.session.settings import point, settings

        chosen = settings(window, step, start, end, tick, ties, self.time_scale)
        limits = RunLimits(
            chosen.window, chosen.step, chosen.start, chosen.end, chosen.tick, chosen.ties
        )
        records = read_events(events, self.checked, mapping, uncertain=uncertain)
        low, high = (
            None if time is None else point(time, name, self.time_scale)
            for name, time in (("first", first), ("last", last))
        )
        shown = TimeOutput(self.time_scale, records.dated)
        explain_one = explain_uncertain if uncertain else explain
        return explain_over(
            self.plan, records, text, low, high, limits, shown.text, explain_one=explain_one
        )

    def record_shares(
        self, events: Events, question: str, time: Point, *, start: Point | None = None,
        end: Point | None = None, tick: int | None = None, ties: str | None = None,
        mapping: str | Path | Mapping[str, Any] | None = None,
    ) -> PairShares:  # fmt: skip
        """How likely a pair such as `on(lamp)=true` is at a time, and which records carry that.

        The share of a record is what goes of the probability if the record is not there. Only
        records that rules can reach from the pair are looked at.
        """
        from cernis.evaluate.probabilities.shares import PairAtPoint, record_shares
        from cernis.explain.questions import read_question
        from cernis.explain.reachable_records import reachable
        from cernis.knowledge.ground_values import value
        from cernis.records.record_sources import read_events
        from cernis.session.recognise import bounds
        from cernis.session.settings import point, settings

        target = read_question(question, self.checked)
        if target.value is None:
            raise DataError(f"{question} is an event: shares are those of a fluent's pair")
        chosen = settings(None, None, start, end, tick, ties, self.time_scale)
        records = read_events(events, self.checked, mapping, uncertain=True)
        tick = tick or self.checked.definitions.settings.tick
        pair = PairAtPoint(
            target.relation,
            tuple(map(value, target.args)),
            value(target.value),
            point(time, "time"),
        )
        return record_shares(
            self.plan, reachable(self.plan, records, target), pair, bounds(records, chosen, tick),
            tick=tick, ties=ties,
        )  # fmt: skip

    def diff(
        self, other: Program, events: Events, *, window: Length | None = None,
        step: Length | None = None, start: Point | None = None, end: Point | None = None,
        tick: int | None = None, ties: str | None = None, examples: int = 3,
        mapping: str | Path | Mapping[str, Any] | None = None,
    ) -> ProgramDifferences:  # fmt: skip
        """What another version of the program changes in the answer, with some examples explained.

        Definitions that are the same in both, and depend on no others, are evaluated once. Events
        and settings are those of `run`.
        """
        from cernis.compare.program_diff import diff
        from cernis.compare.version_runs import in_process
        from cernis.session.settings import settings

        chosen = settings(window, step, start, end, tick, ties, self.time_scale)
        evaluate = in_process(events, mapping)
        return diff(self.checked, other.checked, evaluate, chosen, examples=examples)

    def vary(
        self, facts: str | Iterable[str], events: Events, *, window: Length | None = None,
        step: Length | None = None, start: Point | None = None, end: Point | None = None,
        tick: int | None = None, ties: str | None = None,
        mapping: str | Path | Mapping[str, Any] | None = None,
    ) -> Variation:  # fmt: skip
        """What each value of a fact would have found: `limit(high, 100..140 by 10)`.

        With several facts, each combination of their values is tried. What does not depend on them
        is evaluated once. Events and settings are those of `run`.
        """
        from cernis.compare.variations import vary
        from cernis.compare.varied_facts import read_varied_fact
        from cernis.compare.version_runs import in_process
        from cernis.session.settings import settings

        chosen = settings(window, step, start, end, tick, ties, self.time_scale)
        texts = [facts] if isinstance(facts, str) else facts
        varied = [read_varied_fact(text, self.checked) for text in texts]
        return vary(self.checked, varied, in_process(events, mapping), chosen)

    def records(
        self, events: Events, mapping: str | Path | Mapping[str, Any] | None = None
    ) -> Records:
        """Read events, in any form that `run` takes, to be used more than once."""
        from cernis.records.record_sources import read_events

        return read_events(events, self.checked, mapping)

    def restore(self, path: str | Path) -> Session:
        """The session that `Session.save` wrote to a file; it goes on where it was.

        The program may have changed. A definition that has not changed, and that depends on no
        changed one, keeps its state. The rest is derived again from the records of the window, and
        `session.revision` reports what that changes. If something cannot be derived again, because
        it depends on forgotten records, it is a DataError that says what has changed.
        """
        from cernis.session.saved.session_file import restore

        return restore(self.plan, path)

    def uncertain_session(
        self, *, threshold: float = 0.5, thresholds: Mapping[str, float] | None = None,
        memory: int | None = None, durations: Mapping[str, Any] | str | Path | None = None,
        seed: int = 0, uncertain: Iterable[str] | None = None, window: Length | None = None,
        step: Length | None = None, start: Point | None = None, tick: int | None = None,
        ties: str | None = None, policy: str = "early", epoch: bool = False,
        mean_change: float = 0.05, ids: str | None = None, future: Length | None = None,
    ) -> UncertainSession:  # fmt: skip
        """A session over uncertain events: each query reports how likely intervals have changed.

        An interval that is reported already is reported again when its start or end changes, or
        when its mean has moved by more than `mean_change` since; with 0, whenever it has moved.
        `uncertain` names the relations of the input whose records may have a probability; all may,
        if none are named. The rest is as in `run_uncertain` and `session`, `ids` and `future` too.
        """
        from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
        from cernis.session.settings import length, settings
        from cernis.session.uncertain_session import UncertainSession

        chosen = settings(window, step, start, None, tick, ties, self.time_scale)
        likely = uncertain_settings(
            threshold, thresholds, memory, durations, seed, uncertain, mean_change=mean_change
        )
        likely.check_names(self.fluents)
        return UncertainSession(
            self.plan, likely, chosen.window, chosen.step, chosen.start, chosen.tick, chosen.ties,
            policy, epoch, ids,
            None if future is None else length(future, "future", self.time_scale),
        )  # fmt: skip

    def run_uncertain(
        self, events: Events, *, threshold: float = 0.5,
        thresholds: Mapping[str, float] | None = None, memory: int | None = None,
        durations: Mapping[str, Any] | str | Path | None = None, seed: int = 0,
        uncertain: Iterable[str] | None = None, window: Length | None = None,
        step: Length | None = None, start: Point | None = None, end: Point | None = None,
        tick: int | None = None, ties: str | None = None,
        mapping: str | Path | Mapping[str, Any] | None = None, strict: bool = False,
        epoch: bool = False,
    ) -> UncertainResult:  # fmt: skip
        """Recognise from uncertain events: how likely did what hold, and in which intervals?

        A record may have a probability. Intervals are those whose mean probability is at least
        the threshold, of which there may be one for each fluent by name. With `memory`, they are
        found point by point, and so many possible starts of each pair are remembered; `durations`
        say which to forget first: a file, or mean and deviation by fluent, in time-points.
        `uncertain` names relations of the input to be taken as uncertain even if no record of
        theirs is. The rest is as in `run`.
        """
        from cernis.answers.unused_records import warn_of_input
        from cernis.evaluate.probabilities.uncertain_settings import uncertain_settings
        from cernis.session.recognise import recognise_uncertain
        from cernis.session.settings import settings

        chosen = settings(window, step, start, end, tick, ties, self.time_scale, epoch)
        likely = uncertain_settings(threshold, thresholds, memory, durations, seed, uncertain)
        result = recognise_uncertain(
            self.plan, events, chosen, likely, mapping=mapping, strict=strict
        )
        warn_of_input(result.summary, self.checked.catalogue)
        return result


def load(
    source: str | Path, facts: FactSources = (), dialect: str | None = None, *,
    time_unit: str | None = None, timezone: str | None = None, round_times: bool | None = None,
    functions: Mapping[str, Any] | None = None,
) -> Program:  # fmt: skip
    """Load and check a program from a file or from its text.

    A `Path`, or a string of one line that ends like a rule file, is read as a file; any other
    string is the program itself; if it is none, and looks like the name of a file, the error says
    how to give that. Raises one ProgramError with all diagnostics if there is an
    error among them. The dialect, `cernis` or `rtec`, says how the text is read; without one, a
    directive in the text does, else a file ending in `.prolog` is read as `rtec`.

    Facts are files, of rule text or tables, or rule text of several lines; or tables by the names
    of predicates, `{"bed": beds}`: data frames of pandas, polars or Spark, Arrow tables, lists of
    tuples or of mappings, mappings of lists, or paths. A table's columns are known by the names
    that rules give the arguments, and others are left out; if rules give no such names, the order
    of the columns counts. Times become time-points.

    Time-points count the `time_unit`: s (the default), ms, us or ns. Times without a zone are in
    `timezone`, UTC unless it is said. Times that are finer than the unit are errors, or are rounded
    down if `round_times`. These three go before the directive `:- time(...)`.

    `functions` are pure functions by the names that conditions call them by, over whole columns of
    numpy, with annotations of what a row has; or what `cernis.column_function` makes.

    >>> def risk(pulse: float, oxygen: float) -> float:
    ...     return pulse / oxygen
    >>> program = load(
    ...     "initiatedAt(ill(X)=true, T) :- happensAt(vital(X, P, O), T), risk(P, O) > 1.",
    ...     functions={"risk": risk},
    ... )
    >>> program.run([("vital", 1, 1, "kim", 120, 85)]).holds_at(2)["fluent"].to_pylist()
    ['ill']
    """
    chosen = ChosenTime(time_unit, timezone, round_times)
    program = Program(
        *origin_of(source, facts, dialect, chosen_time=chosen, functions=functions).checked()
    )
    checked = program.checked
    if checked.has_errors:
        raise ProgramError((*checked.diagnostics, *_file_meant(source)), checked.sources)
    return program


def _file_meant(source: str | Path) -> Iterator[Diagnostic]:
    """What to say of a text that cannot be read, and that looks like the name of a file."""
    is_text = isinstance(source, str) and not is_file_name(source)
    if is_text and re.fullmatch(r"[\w./\\~ -]{1,255}(?<!\.)", str(source)):
        yield Diagnostic(
            "C007", Severity.ERROR,
            f"{source!r} was read as rules; for the file of that name, give Path({source!r})",
        )  # fmt: skip


def check_source(
    source: str | Path, facts: FactSources = (), dialect: str | None = None,
    facts_follow: bool = False, chosen_time: ChosenTime = AS_DIRECTED,
) -> Checked:  # fmt: skip
    """Load and check a program, errors and all.

    If its facts follow later, predicates that nothing defines are named in one note.
    """
    return origin_of(source, facts, dialect, facts_follow, chosen_time).checked()[0]

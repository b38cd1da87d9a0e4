"""A run: windows over input, one query after the other, and the answer joined over all."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import pyarrow as pa

from cernis.evaluate.answer import Answer
from cernis.evaluate.columns.from_scratch import FromScratch, StageLinks
from cernis.evaluate.population import Population
from cernis.evaluate.query_loop import Changed, News, QueryLoop, undisturbed
from cernis.evaluate.recorded_input import RecordedInput
from cernis.evaluate.relation_layout import context_of
from cernis.evaluate.windows import Window, windows
from cernis.evaluate.workspace import Workspace, leave, workspace_for
from cernis.operators.measuring import Profile
from cernis.operators.query_context import Context
from cernis.plan.builder import Plan
from cernis.plan.held_forms import Forms
from cernis.records.encoded_input import EncodedInput, Encoder, read_tables
from cernis.records.seen_forms import see_records
from cernis.records.text_records import Records

OnQuery: TypeAlias = Callable[[Window, Answer], None]

_QUERIES_BETWEEN: Final = 100
"""After so many queries what is young and unreachable is collected."""


class Run(QueryLoop):
    """Evaluates a plan over input, window by window: a session whose answers are kept."""

    memory: RecordedInput
    population: Population
    evaluator: FromScratch

    def __init__(
        self, plan: Plan, tick: int | None = None, ties: str | None = None,
        profile: Profile | None = None,
    ) -> None:  # fmt: skip
        self.profile = profile
        self.plan = plan
        self.checked = plan.checked
        self.tick = tick or self.checked.definitions.settings.tick
        self.ties = ties or self.checked.definitions.settings.ties
        self.queries = 0
        self.conflicts = 0

    def over(
        self, given: Mapping[str, pa.Table] | Records, start: int | None = None,
        end: int | None = None, window: int | None = None, step: int | None = None,
        on_query: OnQuery | None = None,
    ) -> Answer:  # fmt: skip
        """Run over tables of records by relation name, or over records read from text.

        `on_query` is called with each query and with the answer as of then: all that stands.
        """
        records = given if isinstance(given, Records) else read_tables(given, self.checked)
        self.enter_workspace(self.forms_of(records))
        return self._run(self.encoder.encode_records(records), start, end, window, step, on_query)

    def _run(
        self, given: EncodedInput, start: int | None, end: int | None, window: int | None,
        step: int | None, on_query: OnQuery | None,
    ) -> Answer:  # fmt: skip
        first = given.first if start is None else start + self.tick
        last = given.last if end is None else end
        start = (first if first is not None else 1) - self.tick
        last = last if last is not None else start
        self.begin(start)
        self.memory.take(given)
        with undisturbed():
            for each in windows(start, last, window, step):
                self.query(each)
                if on_query is not None:
                    on_query(each, self.evaluator.whole_answer())
                if self.queries % _QUERIES_BETWEEN == 0:
                    gc.collect(1)
        answer = self.answer()
        answer.records, answer.ignored = given.records, given.ignored
        return answer

    def forms_of(self, records: Records) -> Forms:
        """The forms of values as they are with some records."""
        forms = self.plan.forms.copy()
        see_records(forms, records.relations.values())
        return forms

    def enter_workspace(self, forms: Forms) -> None:
        """Hold values in some forms, with what an earlier run has worked out, if there was one."""
        self._workspace: Workspace = workspace_for(self.plan, forms)
        self.domains, self.memo = self._workspace.domains, self._workspace.memo
        self.encoder = Encoder(self.checked, self.domains, self.tick)

    def begin(self, start: int) -> None:
        """Begin at a point of time, with nothing known of what was before."""
        self.start = start
        self.population = self.membership()
        self.memory = RecordedInput(self.tick, self.plan.roles.in_time, self.population.relations)
        self.evaluator = self._evaluator()

    def membership(self) -> Population:
        """Who is in the domains that grow with the input: nobody yet."""
        return Population(self.checked.definitions)

    def _evaluator(self) -> FromScratch:
        return FromScratch(self.plan, self.memory, self.domains, self.tick, self.links())

    def links(self) -> StageLinks | None:
        """How the run is linked with runs of other stages, if it is of one stage."""
        return None

    def query(self, window: Window) -> None:
        """Bring the answer up to a query."""
        self.conflicts += self.answer_query(window).conflicts
        self.queries += 1

    def context(self, window: Window) -> Context:
        """What operators can ask for during a query, without any tables yet."""
        assert self.start is not None
        context = context_of(
            self.plan, self.domains, self.memo, self.tick, self.ties, window, self.start
        )
        context.profile = self.profile
        return context

    def tell(self, news: News) -> Changed:
        """Nothing: the answers of all queries are kept."""
        return {}

    def answer(self) -> Answer:
        """What all queries since the beginning have found; it is the last that is asked."""
        leave(self.plan, self._workspace)
        answer = self.evaluator.whole_answer()
        answer.queries, answer.conflicts = self.queries, self.conflicts
        return answer

"""A run over uncertain records window by window: a session, and all that its queries settle."""

from __future__ import annotations

from cernis.check.model import Relation
from cernis.evaluate.changes.stores import Rows, stacked
from cernis.evaluate.probabilities.course_tracks import joined_courses
from cernis.evaluate.probabilities.courses import Courses
from cernis.evaluate.probabilities.uncertain_run import UncertainAnswer
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.windows import windows
from cernis.evaluate.working_memory import Counts
from cernis.plan.builder import Plan
from cernis.records.record_columns import Records
from cernis.session.settings import Settings
from cernis.session.uncertain_session import UncertainSession, fluent_table


def relations_in(records: Records) -> list[str]:
    """The relations of which some records are uncertain."""
    return sorted({
        str(form.relation) for form, part in records.relations.items() if part.chances is not None
    })  # fmt: skip


class WindowedRun:
    """Evaluates a plan over uncertain records, window by window, and keeps the whole answer.

    Which relations may be uncertain must be said by the settings.
    """

    def __init__(self, plan: Plan, chosen: Settings, uncertain: UncertainSettings) -> None:
        self._chosen = chosen
        self._session = UncertainSession(
            plan, uncertain, chosen.window, chosen.step, None, chosen.tick, chosen.ties
        )
        self._passed: dict[Relation, list[Rows]] = {}
        self._settled: dict[Relation, list[Courses]] = {}
        self.queries = 0
        self.conflicts = 0

    @property
    def tick(self) -> int:
        """How far apart time-points are."""
        return self._session.tick

    @property
    def counts(self) -> Counts:
        """What became of the records."""
        return self._session.counts

    @property
    def waiting(self) -> int:
        """How many records the run ended before."""
        return self._session.waiting

    def over(self, records: Records, start: int, end: int) -> UncertainAnswer:
        """Run over records, retractions among them, from start, exclusive, to end."""
        session = self._session
        session.keep_all(records)
        session.start = start
        session.insert(records)
        for window in windows(start, end, self._chosen.window, self._chosen.step):
            self.conflicts += session.query(window.query).conflicts
            self.queries += 1
            for relation, rows in session.let_go.items():
                self._passed.setdefault(relation, []).append(rows)
            for relation, courses in session.settled.items():
                self._settled.setdefault(relation, []).append(courses)
        return self._whole()

    def _whole(self) -> UncertainAnswer:
        """The answer of the last query, and what was settled before it."""
        session = self._session
        answer = session.answer()
        for relation, rows in session.likely().items():
            # What the last query let go is there already.
            earlier = self._passed.get(relation, [])[:-1]
            encoding = session.spaces.encoding(relation)
            table, means = fluent_table(stacked(*earlier, rows), *encoding)
            answer.fluents[relation], answer.means[relation] = table, means
        for relation, parts in self._settled.items():
            if relation in answer.courses:
                answer.courses[relation] = joined_courses([*parts, answer.courses[relation]])
        return answer

"""Programs, records and ways to look at them that several folders of tests share."""

from __future__ import annotations

import io
from collections.abc import Iterable

import cernis
from cernis.check.checker import Checked
from cernis.knowledge.ground_values import Value
from cernis.program import Program
from cernis.records.gathering import Gathering
from cernis.records.record_columns import INFINITE, Records, cell
from cernis.records.record_shapes import Shapes
from cernis.records.text_records import read_stream

TOY = """\
initiatedAt(rich(X)=true, T)  :- happensAt(win_lottery(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose_wallet(X), T).
initiatedAt(location(X)=Y, T) :- happensAt(go_to(X, Y), T).
happy(X)=true iff rich(X)=true or location(X)=pub.
happensAt(party(X), T) :- happensAt(start(happy(X)=true), T).
"""

TOY_RECORDS = """\
go_to|9|9|chris|work
win_lottery|13|13|chris
go_to|17|17|chris|pub
lose_wallet|19|19|chris
go_to|21|21|chris|home
"""

TOY_ANSWER = """\
happensAt(party(chris), [13]).
holdsFor(happy(chris)=true, [(14,22)]).
holdsFor(location(chris)=home, [(22,inf)]).
holdsFor(location(chris)=pub, [(18,22)]).
holdsFor(location(chris)=work, [(10,18)]).
holdsFor(rich(chris)=true, [(14,20)]).
"""

KINDS = """\
buildFromPoints(speed(_)=_).
collectIntervals(near(_, _)=true).
initiatedAt(fast(V)=true, T) :- happensAt(ping(V), T), holdsAt(speed(V)=S, T), S > 10.
terminatedAt(fast(V)=true, T) :- happensAt(a_rather_long_name(V, N), T), N > 3.
initiatedAt(kept(V)=true, T) :- happensAt(order(item(V)), T).
initiatedAt(kept(V)=true, T) :- happensAt(exactly8(V), T).
initiatedAt(kept(V)=true, T) :- happensAt(exactly8x(V), T).
initiatedAt(pair(V)=W, T) :- happensAt(plain(V, W), T).
initiatedAt(zeroed=true, T) :- happensAt(zero, T).
holdsFor(meeting(V, W)=true, I) :- holdsFor(near(V, W)=true, I).
"""


def toy() -> Program:
    """Fluents of both kinds and a derived event."""
    return cernis.load(TOY)


def kinds() -> Program:
    """Input of every kind: events of 0, 1 and 2 arguments, points, intervals, compound terms."""
    return cernis.load(KINDS)


def read(program: Program, text: str) -> Records:
    """The records of a text."""
    return read_text(text, program.checked)


def read_text(lines: str | Iterable[str], checked: Checked) -> Records:
    """The records of lines, or of a text."""
    text = lines if isinstance(lines, str) else "\n".join(line.rstrip("\r\n") for line in lines)
    gathering = Gathering(Shapes(checked))
    read_stream(io.BytesIO(text.encode("utf-8", "surrogatepass")), "", gathering)
    return gathering.records()


Row = tuple[str, tuple[int | str, ...], tuple[Value, ...], int | None]


def rows(records: Records) -> dict[int, Row]:
    """The records by place: relation, times, values, and when they were retracted."""
    found: dict[int, Row] = {}
    for form, own in records.relations.items():
        for row in range(len(own)):
            times = tuple("inf" if t[row] == INFINITE else int(t[row]) for t in own.times)
            values = tuple(cell(column, row) for column in own.columns)
            gone = None if own.gone is None or own.gone[row] == INFINITE else int(own.gone[row])
            found[int(own.places[row])] = (str(form.relation), times, values, gone)
    return found


def asides(records: Records) -> list[tuple[int, str]]:
    """Lines and reasons of what was set aside."""
    return [(aside.line, aside.reason) for aside in records.set_aside]

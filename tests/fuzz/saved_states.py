"""Saved states of programs of every kind, and what becomes of them once they are altered.

`python -m tests.fuzz.saved_states SEED COUNT` alters so many session files and as many states of
streams, checksums computed anew, and tells how many were refused or gave the same answer. Then it
does so again, with the seal of the content computed anew, too: what is not refused then is some
state that a session could have left. Whatever else happens is told in full: another error than
`DataError`, an error of a later query, more memory or more time than a reader may take.
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import cernis
from cernis.errors import DataError
from cernis.program import Program
from cernis.session.saved import session_file
from cernis.session.session import Session
from cernis.spark.streaming import stream_state
from cernis.spark.streaming.bucket_store import BucketStore, Part
from tests.fuzz.alterations import altered, altered_tree
from tests.quick_folder import quick_folder
from tests.session.feeds import rows
from tests.spark.streaming.local_stream import LocalStream

SECONDS = 20
"""A reader that takes longer has stalled."""

MEMORY = 6 << 30
"""Bytes of address space that a run of this script may take."""

BASE = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
"""
EVENTS = """
win|3|3|ann
win|4|4|bob
lose|9|8|bob
go|5|5|ann|pub
go|9|7|bob|7
pay|6|6|ann|4
pay|8|8|bob|5.5
near|8|7|12|true|ann|bob
mode|9|9|on|ann
win|12|11|eve
knock|13|13|ann
go|14|14|eve|home
pay|15|15|eve|9
mode|16|16|on|ann
-win|17|4|bob
lose|19|18|ann
knock|19|19|bob
go|26|26|bob|pub
win|x|2|ann
win|27|27|zoë
"""
LATER = """
lose|28|22|eve
win|31|31|ann
pay|33|33|ann|12
go|34|34|zoë|pub
near|36|31|36|true|ann|zoë
knock|37|37|zoë
mode|38|38|off|ann
"""


@dataclass(frozen=True)
class Kind:
    """A kind of program, and how it is run."""

    rules: str
    settings: dict[str, Any] = field(default_factory=dict)
    is_uncertain: bool = False
    has_ids: bool = False

    @property
    def program(self) -> Program:
        """The program."""
        return _loaded(self.rules)

    def begun(self) -> Session:
        """A session that knows nothing yet."""
        settings = {"window": 20, "step": 5, "start": 0, **self.settings}
        if self.is_uncertain:
            return self.program.uncertain_session(**settings)
        return Session(self.program.plan, ids="id" if self.has_ids else None, **settings)

    def lines(self, text: str) -> str:
        """Records of some lines, as the program takes them."""
        lines = text.strip().splitlines()
        if self.has_ids:
            lines = [f"{line}|{number % 15}" for number, line in enumerate(lines)]
        if self.is_uncertain:
            lines = [
                line if number % 3 == 0 or line.startswith("-") else f"0.{number % 9 + 1}::{line}"
                for number, line in enumerate(lines)
            ]
        return "\n".join(lines) + "\n"


@cache
def _loaded(rules: str) -> Program:
    return cernis.load(rules)


KINDS = {
    "fluents": Kind(BASE + """
initiatedAt(at(X)=Y, T) :- happensAt(go(X, Y), T).
happy(X)=true iff rich(X)=true or at(X)=pub.
happensAt(party(X), T) :- happensAt(start(happy(X)=true), T).
initially(rich(eve)=true).
""", {"incremental": False}),
    "from changes": Kind(BASE + """
initiatedAt(at(X)=Y, T) :- happensAt(go(X, Y), T), \\+ holdsAt(rich(X)=true, T).
sad(X)=true iff at(X)=pub, not rich(X)=true.
happensAt(treat(X), T) :- happensAt(knock(X), T), holdsAt(rich(X)=true, T).
""", {"incremental": True}),
    "delays": Kind(BASE + """
initiatedAt(alarm(X)=on, T) :- happensAt(knock(X), T).
fi(alarm(X)=on, alarm(X)=off, 6). p(alarm(X)=on). fi(alarm(X)=off, alarm(X)=gone, 4).
ft(rich(X)=true, 12).
""", {"policy": "partial"}),
    "delays from changes": Kind(BASE + """
initiatedAt(alarm(X)=on, T) :- happensAt(knock(X), T).
fi(alarm(X)=on, alarm(X)=off, 6). fi(alarm(X)=off, alarm(X)=gone, 4).
""", {"incremental": True, "policy": "final"}),
    "cycles": Kind(BASE + """
initiatedAt(calm(X)=true, T) :- happensAt(go(X, _), T), \\+ holdsAt(cross(X)=true, T).
terminatedAt(calm(X)=true, T) :- happensAt(knock(X), T), holdsAt(cross(X)=true, T).
initiatedAt(cross(X)=true, T) :- happensAt(knock(X), T), holdsAt(calm(X)=true, T).
terminatedAt(cross(X)=true, T) :- happensAt(win(X), T).
"""),
    "allen": Kind(BASE + """
:- memory(30).
holdsFor(lone(X,Y)=true, I) :-
    holdsFor(near(X,Y)=true, A), holdsFor(rich(X)=true, B), allen(during, A, B, target, I).
holdsFor(once(X,Y)=true, I) :-
    holdsFor(near(X,Y)=true, A), holdsFor(rich(X)=true, B), before(A, B, union, I).
"""),
    "numbers": Kind(BASE + """
initiatedAt(paid(X)=A, T) :- happensAt(pay(X, A), T), A > 4.
initiatedAt(sum(X, B)=true, T) :- happensAt(pay(X, A), T), B is A * 2 + 1.
terminatedAt(sum(X, _)=true, T) :- happensAt(lose(X), T).
"""),
    "patterns": Kind(BASE + """
again(X) <- (win(X) seq lose(X)) within 20.
both(X, Y) <- (go(X, Y) and pay(X, _)) within 10.
quiet(X) <- not(knock(X))[win(X), go(X, _)] within 15.
happensAt(woe(X), T) :- happensAt(again(X), T), holdsAt(rich(X)=true, T).
"""),
    "growing domains": Kind(BASE + """
dynamicDomain(person(_)). dynamicDomain(place(_)).
grounding(win(X)) :- person(X).
grounding(go(X, Y)) :- person(X), place(Y).
grounding(poor(X)=true) :- person(X).
holdsFor(poor(X)=true, I) :- holdsFor(rich(X)=true, J), complement_all([J], I).
"""),
    "points": Kind(BASE + """
buildFromPoints(mode(_)=_).
s(P)=true iff mode(P)=on.
happensAt(any, T) :- happensAt(start(s(_P)=true), T).
"""),
    "ids": Kind(BASE + """
initiatedAt(at(X)=Y, T) :- happensAt(go(X, Y), T).
""", has_ids=True),
    "uncertain": Kind(BASE + """
initiatedAt(at(X)=Y, T) :- happensAt(go(X, Y), T).
initiatedAt(glad(X)=true, T) :- happensAt(knock(X), T), holdsAt(rich(X)=true, T).
""", {"threshold": 0.4}, is_uncertain=True),
    "uncertain, little memory": Kind(BASE, {
        "threshold": 0.5, "memory": 3, "durations": {"rich": (4.3, 2.4)}, "seed": 3,
    }, is_uncertain=True),
}  # fmt: skip


def told(session: Session, query: int) -> Counter[tuple[object, ...]]:
    """What a query tells."""
    feed = session.query(query)
    return Counter(rows(feed.table())) + Counter(rows(feed.happenings()))


def answers(session: Session, kind: Kind) -> list[object]:
    """What a session goes on to tell, and the intervals it knows in the end."""
    found: list[object] = [told(session, 30)]
    session.insert(kind.lines(LATER))
    found += [told(session, query) for query in (35, 40, 60)]
    found.append(Counter(rows(session.intervals())))
    found.append([session.counts.used, session.counts.all_set_aside, session.counts.all_too_late])
    return found


@cache
def saved(name: str, is_young: bool = False) -> bytes:
    """The file of a session of some kind; of a young one, before its window has moved."""
    kind = KINDS[name]
    session = kind.begun()
    session.insert(kind.lines(EVENTS))
    for query in (5,) if is_young else (5, 10, 15, 20, 25):
        session.query(query)
    with quick_folder() as folder:
        session.save(Path(folder) / "s")
        return (Path(folder) / "s").read_bytes()


@cache
def expected(name: str, is_young: bool) -> list[object]:
    """What follows from a file that nobody has altered."""
    return _followed(name, saved(name, is_young))


def _followed(name: str, content: bytes) -> list[object]:
    with quick_folder() as folder:
        file = Path(folder) / "s"
        file.write_bytes(content)
        session = KINDS[name].program.restore(file)
        with _as_failure():
            return answers(session, KINDS[name])


class Failed(Exception):
    """A state was accepted that cannot be used."""


@contextmanager
def _as_failure() -> Iterator[None]:
    try:
        yield
    except Stalled:
        raise
    except Exception as error:
        raise Failed(f"{type(error).__name__}: {error}") from error


class Stalled(Exception):
    """It has taken too long."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise Stalled where something takes longer."""

    def stop(*_: object) -> None:
        raise Stalled

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Outcome:
    """What became of an altered state: refused, same, other, or a failure."""

    word: str
    message: str = ""

    @property
    def is_failure(self) -> bool:
        """Is it what no reader may do?"""
        return self.word not in ("refused", "same", "other")


def outcome(followed: Callable[[], object], wanted: object) -> Outcome:
    """What becomes of a state: `followed` reads it and gives what follows from it."""
    try:
        with within(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = followed()
    except DataError as error:
        return Outcome("refused", str(error))
    except Stalled:
        return Outcome("stalled", traceback.format_exc(limit=-4))
    except (Exception, MemoryError):  # noqa: BLE001 - whatever it raises is told
        return Outcome("failed", traceback.format_exc(limit=-6))
    return Outcome("same" if found == wanted else "other")


def session_outcome(seed: int, is_sealed: bool = True) -> tuple[str, Outcome]:
    """What was altered in the session file of a seed, and what became of it."""
    random = Random(f"session {seed}")
    name = random.choice(sorted(KINDS))
    is_young = random.random() < 0.15
    alteration, content = altered(saved(name, is_young), session_file.LAYOUT, random, is_sealed)
    wanted = expected(name, is_young)
    return f"{name}: {alteration}", outcome(lambda: _followed(name, content), wanted)


# -- streams -----------------------------------------------------------------------------------

BATCHES = (EVENTS.strip().splitlines()[:9], EVENTS.strip().splitlines()[9:])
STREAMED = [name for name in KINDS if "from changes" not in name]


def _stream(name: str, folder: Path, buckets: int) -> LocalStream:
    kind = KINDS[name]
    likely = None
    if kind.is_uncertain:
        likely = kind.begun().chosen  # type: ignore[attr-defined]
    return LocalStream(
        kind.program, folder, 20, 5, buckets=buckets, policy=kind.settings.get("policy", "early"),
        start=0, ids="id" if kind.has_ids else None, likely=likely,
    )  # fmt: skip


@cache
def _streamed(name: str, buckets: int) -> tuple[Path, LocalStream, object]:
    """The checkpoint of a stream, the stream, and what it goes on to tell."""
    folder = Path(tempfile.mkdtemp())
    own = _stream(name, folder / "c", buckets)
    kind = KINDS[name]
    lines = kind.lines(EVENTS).splitlines()
    for batch in (lines[:9], lines[9:]):
        own.take(batch)
    shutil.copytree(folder / "c", folder / "copy")
    return folder, own, _stream_answers(name, own)


def _stream_answers(name: str, own: LocalStream) -> object:
    lines = KINDS[name].lines(LATER).splitlines()
    found = [_changes(own.take(batch)) for batch in (lines[:3], lines[3:], ["$clock|70"])]
    return found


def _changes(changes: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    plain = [tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in changes]
    return Counter(plain)


def stream_outcome(seed: int, is_sealed: bool = True) -> tuple[str, Outcome]:
    """What was altered in the checkpoint of a seed, and what became of it."""
    random = Random(f"stream {seed}")
    name = random.choice(STREAMED)
    buckets = random.choice((1, 2))
    folder, whole, wanted = _streamed(name, buckets)
    with quick_folder() as temporary:
        place = Path(temporary) / "c"
        shutil.copytree(folder / "copy", place)
        alteration = _alter_checkpoint(place, random, is_sealed)
        own = _stream(name, place, buckets)
        own.batch, own.state, own.clock = 2, 1, 27

        def followed() -> object:
            return _stream_answers(name, own)

        del whole
        return f"{name}, {buckets} buckets: {alteration}", outcome(followed, wanted)


def _alter_checkpoint(folder: Path, random: Random, is_sealed: bool) -> str:
    """Alter one part of one bucket's last state, or the list of its parts."""
    file = random.choice(sorted(folder.glob(f"state/*/{1:012}.state")))
    magic, _, rest = file.read_bytes().partition(b"\n")
    line, _, _ = rest.partition(b"\n")
    head = json.loads(line.partition(b" ")[2])
    if random.random() < 0.12:
        alteration, head = altered_tree(head, random)
        text = json.dumps(head, default=str).encode()
        # Parts are found by their distance from the beginning: keep it, if there is room.
        text += b" " * max(len(line) - 9 - len(text), 0) + b"\n"
        rest = rest[len(line) + 1 :]
        file.write_bytes(magic + b"\n" + b"%08x " % crc32(text) + text + rest)
        return f"{file.parent.name} head: {alteration}"
    number, bucket = map(int, file.parent.name.split("-"))
    shelf = BucketStore(folder / "state", number, bucket)
    parts = {part: bytes(own) for part, own in shelf.read(shelf.places(1)).items()}
    name = random.choice([*parts, *("main" for _ in range(6) if "main" in parts)])
    if not parts[name].startswith(b"cernis"):
        changed = bytearray(parts[name])
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        alteration, parts[name] = "a byte", bytes(changed)
    else:
        alteration, parts[name] = altered(parts[name], stream_state.LAYOUT, random, is_sealed)
    shelf.write(1, {key: Part(own) for key, own in parts.items()}, {})
    return f"{file.parent.name} {name}: {alteration}"


# -- the whole ---------------------------------------------------------------------------------


def tally(first: int, count: int, is_sealed: bool, is_verbose: bool = False) -> int:
    """Alter so many session files and states of streams; gives how many readers failed."""
    failures = 0
    for title, tried in (("session files", session_outcome), ("states of streams", stream_outcome)):
        counts: Counter[str] = Counter()
        for seed in range(first, first + count):
            alteration, found = tried(seed, is_sealed)
            counts[found.word] += 1
            is_failure = found.is_failure or (found.word == "other" and not is_sealed)
            failures += is_failure
            if is_failure or (found.word == "other" and is_verbose):
                print(f"{title}, seed {seed}: {alteration}\n{found.message}", flush=True)
        shown = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
        how = "sealed anew" if is_sealed else "as altered"
        print(f"{title} {how}, seeds {first} to {first + count - 1}: {shown}", flush=True)
    return failures


def main(first: int, count: int) -> int:
    """Alter session files and states of streams, sealed anew and not; 1 if a reader failed."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    return int(sum(tally(first, count, is_sealed) for is_sealed in (False, True)) > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

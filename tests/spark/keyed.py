"""Programs with partition keys of every kind, and random streams for them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

PEOPLE = ("ann", "bob", "cy", "'Far Out'", "7", "7.5", "eve")


@dataclass(frozen=True)
class Keyed:
    """Rules, and the shapes of records: `e` for events, `p` and `i` for points and intervals.

    A shape is the name, the kind, and what each argument is: a person `P`, one of many `W`, a place
    `Q` or a number `N`.
    """

    rules: str
    records: tuple[tuple[str, str, str], ...]


_ONE = """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
initiatedAt(at(X)=Y, T) :- happensAt(go(X, Y), T), \\+ happensAt(lose(X), T).
happy(X)=true iff rich(X)=true or at(X)=home.
happensAt(party(X), T) :- happensAt(start(happy(X)=true), T).
"""
_BASE = (("win", "e", "P"), ("lose", "e", "P"), ("go", "e", "PQ"))

PROGRAMS = {
    "one": Keyed(_ONE, _BASE),
    "pairs": Keyed(
        _ONE + """
holdsFor(both(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(happy(X)=true, A), holdsFor(rich(Y)=true, B),
    union_all([A, B], U), intersect_all([N, U], I).
initiatedAt(envies(X, Y)=true, T) :-
    happensAt(sees(X, Y), T), holdsAt(rich(Y)=true, T), \\+ holdsAt(rich(X)=true, T).
terminatedAt(envies(X, Y)=true, T) :- happensAt(end(both(X, Y)=true), T).
terminatedAt(envies(X, Y)=true, T) :- happensAt(sees(X, Y), T), happensAt(lose(Y), T).
""",
        (*_BASE, ("near", "i", "PP"), ("sees", "e", "PP")),
    ),
    "walked pairs": Keyed(
        """
initiatedAt(slow(X)=true, T) :- happensAt(win(X), T).
terminatedAt(slow(X)=true, T) :- happensAt(lose(X), T).
initiatedAt(at(X)=home, T) :- happensAt(go(X, home), T).
initiatedAt(at(X)=pub, T) :- happensAt(go(X, pub), T).
fi(at(X)=pub, at(X)=home, 4).
holdsFor(still(X)=true, I) :-
    holdsFor(slow(X)=true, S), holdsFor(at(X)=pub, P), relative_complement_all(S, [P], J),
    intDurGreater(J, 2, I).
holdsFor(together(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(slow(X)=true, A), holdsFor(slow(Y)=true, B),
    union_all([A, B], U), holdsFor(at(Y)=pub, P), intersect_all([N, U], J),
    relative_complement_all(J, [P], K), intDurGreater(K, 3, I).
holdsFor(brief(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(still(Y)=true, B), holdsFor(at(X)=home, H),
    intersect_all([N, B, H], J), intDurLess(J, 6, I).
holdsFor(either(X, Y)=true, I) :-
    holdsFor(together(X, Y)=true, A), holdsFor(brief(X, Y)=true, B), union_all([A, B], I).
""",
        (*_BASE, ("near", "i", "PP")),
    ),
    "only pairs": Keyed(
        """
initiatedAt(talks(X, Y)=N, T) :-
    happensAt(meet(X, Y), T), happensAt(mood(X, N), T), \\+ happensAt(mute(Y), T).
terminatedAt(talks(X, Y)=_, T) :- happensAt(part(X, Y), T).
""",
        (("meet", "e", "PP"), ("part", "e", "PP"), ("mood", "e", "PN"), ("mute", "e", "P")),
    ),
    "open head": Keyed(
        """
initiatedAt(met(V, W)=true, T) :- happensAt(meet(V, W), T), \\+ happensAt(bye(W, V), T).
terminatedAt(met(V, _W)=true, T) :- happensAt(gone(V), T).
terminatedAt(met(_V, W)=true, T) :- happensAt(lost(W), T).
""",
        (("meet", "e", "PP"), ("bye", "e", "PP"), ("gone", "e", "P"), ("lost", "e", "P")),
    ),
    "negated driver": Keyed(
        """
initiatedAt(odd(X, Y)=true, T) :-
    happensAt(left(X), T), happensAt(right(Y), T), \\+ happensAt(even(X, Y), T).
""",
        (("left", "e", "P"), ("right", "e", "P"), ("even", "e", "PP")),
    ),
    "conflicts": Keyed(
        """
initiatedAt(odd(X, Y)=a, T) :- happensAt(left(X), T), happensAt(right(Y), T).
initiatedAt(odd(X, Y)=b, T) :-
    happensAt(left(X), T), happensAt(right(Y), T), \\+ happensAt(even(X, Y), T).
initially(side(X)=left) :- side(X).
initially(side(X)=right) :- side(X).
initiatedAt(side(X)=left, T) :- happensAt(left(X), T).
initiatedAt(side(X)=right, T) :- happensAt(right(X), T).
side(ann). side(bob).
""",
        (("left", "e", "P"), ("right", "e", "P"), ("even", "e", "PP")),
    ),
    "phrases": Keyed(
        """
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
happensAt(settled(X), T) :- happensAt(holds rich(X)=true for at least 5, T).
long(X)=true iff rich(X)=true for at least 3.
""",
        (("win", "e", "P"), ("lose", "e", "P")),
    ),
    "derived driver": Keyed(
        """
happensAt(touch(X, Y), T) :- happensAt(meet(X, Y, N), T), N > 1.
initiatedAt(ill(X)=true, T) :- happensAt(cough(X), T).
terminatedAt(ill(X)=true, T) :- happensAt(cure(X), T).
initiatedAt(risk(Y, X)=true, T) :- happensAt(touch(X, Y), T), holdsAt(ill(X)=true, T).
terminatedAt(risk(Y, X)=true, T) :- happensAt(touch(Y, X), T), happensAt(cure(Y), T).
""",
        (("meet", "e", "PPN"), ("cough", "e", "P"), ("cure", "e", "P")),
    ),
    "initially": Keyed(
        """
initially(door(D)=shut) :- door(D).
initiatedAt(door(D)=open, T) :- happensAt(opens(D), T).
initiatedAt(door(D)=shut, T) :- happensAt(shuts(D), T).
initiatedAt(alarm(D)=true, T) :- happensAt(end(door(D)=shut), T).
fi(alarm(D)=true, alarm(D)=false, 5).
door(ann). door(bob). door(zoe).
""",
        (("opens", "e", "P"), ("shuts", "e", "P")),
    ),
    "own domain": Keyed(
        """
grounding(enters(X)) :- guest(X).
grounding(warned(X)=true) :- guest(X).
dynamicDomain(guest(_)).
initiatedAt(warned(X)=true, T) :- happensAt(call(X), T), \\+ happensAt(enters(X), T).
terminatedAt(warned(X)=true, T) :- happensAt(enters(X), T).
""",
        (("enters", "e", "P"), ("call", "e", "P")),
    ),
    "foreign domain": Keyed(
        """
grounding(enters(X)) :- guest(X).
grounding(pair(X, Y)=true) :- guest(X), guest(Y).
dynamicDomain(guest(_)).
initiatedAt(pair(X, Y)=true, T) :- happensAt(meet(X, Y), T).
terminatedAt(pair(X, Y)=true, T) :- happensAt(part(X, Y), T).
initiatedAt(told(X)=true, T) :- happensAt(part(X, Y), T), guest(Y).
""",
        (("enters", "e", "P"), ("meet", "e", "PP"), ("part", "e", "PP")),
    ),
    "changes": Keyed(
        """
initiatedAt(on(X)=N, T) :- happensAt(push(X, N), T).
terminatedAt(on(X)=_, T) :- happensAt(stop(X), T).
fi(on(X)=1, on(X)=2, 4).
initiatedAt(seen(X, Y)=true, T) :- happensAt(looks(X, Y), T), initiatedAt(on(Y)=N, T).
terminatedAt(seen(X, Y)=true, T) :- happensAt(looks(X, Y), T), terminatedAt(on(Y)=_, T).
""",
        (("push", "e", "PN"), ("stop", "e", "P"), ("looks", "e", "PP")),
    ),
    "cycle across keys": Keyed(
        """
initiatedAt(owes(X, Y)=true, T) :-
    happensAt(lends(Y, X), T), \\+ holdsAt(broke(X)=true, T), \\+ holdsAt(broke(Y)=true, T).
terminatedAt(owes(X, Y)=true, T) :- happensAt(pays(X, Y), T).
terminatedAt(owes(X, _Y)=true, T) :- happensAt(flees(X), T).
initiatedAt(broke(Y)=true, T) :- happensAt(end(owes(X, Y)=true), T), happensAt(flees(X), T).
initiatedAt(broke(X)=true, T) :-
    happensAt(asks(_, X), T), holdsAt(owes(X, Y)=true, T), \\+ holdsAt(rich(X)=true, T).
fi(broke(X)=true, broke(X)=false, 6).
p(broke(_)=true).
initiatedAt(rich(X)=true, T) :- happensAt(win(X), T).
terminatedAt(rich(X)=true, T) :- happensAt(lose(X), T).
initiatedAt(knows(X, Y)=true, T) :- happensAt(win(X), T), kin(X, Y).
terminatedAt(knows(X, _)=true, T) :- happensAt(lose(X), T).
terminatedAt(broke(X)=true, T) :- happensAt(win(X), T), holdsAt(knows(X, _)=true, T).
terminatedAt(broke(X)=true, T) :- happensAt(flees(X), T), holdsAt(knows(_, X)=true, T).
trusts(X, Y)=true iff near(X, Y)=true, not broke(X)=true, not broke(Y)=true.
kin(k, l). kin(k, m). kin(3, k). kin(7, 7.5). kin(ann, bob). kin(o, 5). kin(5, 6). kin(n, 3).
""",
        (("lends", "e", "WW"), ("pays", "e", "WW"), ("flees", "e", "W"), ("asks", "e", "WW"),
         ("win", "e", "W"), ("lose", "e", "W"), ("near", "i", "WW")),
    ),
    "looking back": Keyed(
        ":- memory(9)." + _ONE + """
holdsFor(later(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(rich(X)=true, A), before(A, N, target, I).
holdsFor(touching(X, Y)=true, I) :-
    holdsFor(near(X, Y)=true, N), holdsFor(happy(Y)=true, A), overlaps(A, N, union, I).
holdsFor(again(X)=true, I) :-
    holdsFor(rich(X)=true, A), holdsFor(at(X)=pub, B), allen(before, A, B, complement_inv, I).
""",
        (*_BASE, ("near", "i", "PP")),
    ),
    "two kinds linked": Keyed(
        """
happensAt(boards(P, B), T) :- happensAt(ticket(P, B, N), T), N > 0.
initiatedAt(aboard(P, B)=N, T) :- happensAt(boards(P, B), T), happensAt(mood(P, N), T).
initiatedAt(aboard(P, B)=0, T) :- happensAt(boards(P, B), T), holdsAt(full(B)=true, T).
terminatedAt(aboard(P, _)=_, T) :- happensAt(off(P), T).
initiatedAt(full(B)=true, T) :-
    happensAt(boards(P, B), T), ( holdsAt(tired(P)=true, T) ; happensAt(off(P), T) ).
terminatedAt(full(B)=true, T) :-
    happensAt(counted(B), T), findall(P, holdsAt(aboard(P, B)=_, T), L), length(L, N), N < 2.
initiatedAt(tired(P)=true, T) :- initiatedAt(aboard(P, B)=_, T), holdsAt(full(B)=true, T).
initially(tired(7)=true).
fi(tired(P)=true, tired(P)=false, 9).
""",
        (("ticket", "e", "WWN"), ("mood", "e", "WN"), ("off", "e", "W"), ("counted", "e", "W")),
    ),
    "points": Keyed(
        """
buildFromPoints(slow(_)=_).
collectIntervals(close(_, _)=true).
holdsFor(idle(X)=true, I) :-
    holdsFor(slow(X)=true, S), holdsFor(slow(X)=1, R), union_all([S, R], I).
holdsFor(linger(X, Y)=true, I) :-
    holdsFor(close(X, Y)=true, C), holdsFor(idle(X)=true, A), holdsFor(idle(Y)=true, B),
    intersect_all([C, A], J), relative_complement_all(J, [B], K), intDurGreater(K, 2, I).
happensAt(leaves(X), T) :- happensAt(end(idle(X)=true), T).
happensAt(apart(X, Y), T) :- happensAt(end(linger(X, Y)=true), T), \\+ happensAt(leaves(Y), T).
""",
        (("slow", "p", "P"), ("close", "i", "PP")),
    ),
    "patterns": Keyed(
        _ONE + """
:- consumption(turn/1, chronological).
moves(X) <- go(X, _) seq go(X, _) within 9.
turn(X) <- win(X) seq lose(X).
calm(X) <- not(go(X, _))[win(X), lose(X)] within 12.
spell(X) <- go(X, _) during rich(X)=true.
often(X, N) <- go(X, _) where N = count(X, past(10)).
chain(X, 1) <- win(X).
chain(X, K + 1) <- chain(X, K) seq win(X) where K < 4 within 15.
initiatedAt(restless(X)=true, T) :- happensAt(moves(X), T), \\+ happensAt(calm(X), T).
terminatedAt(restless(X)=true, T) :- happensAt(turn(X), T).
""",
        _BASE,
    ),
    "patterns of pairs": Keyed(
        """
:- consumption(after/2, recent).
friends(X, Y) <- meets_(X, Y) seq meets_(Y, X) within 12.
after(X, Y) <- friends(X, Y) seq gone(Y).
told(X, Y) <- (happy(X) and friends(X, Y)) within 20.
crowd <- friends(X, _) and gone(X) within 6.
first(X, Y) <- not(gone(X))[happy(X), friends(X, Y)] within 15.
greets(X, Y) <- happy(X) seq meets_(X, Y) within 25.
""",
        (("meets_", "e", "PP"), ("gone", "e", "P"), ("happy", "e", "P")),
    ),
    "numbers": Keyed(
        """
initiatedAt(level(X)=N, T) :- happensAt(sets(X, N), T), N >= 1.
initiatedAt(high(X, N)=true, T) :- happensAt(sets(X, N), T), holdsAt(level(X)=M, T), N > M.
happensAt(jump(N), T) :- happensAt(start(high(_, N)=true), T).
""",
        (("sets", "e", "PN"),),
    ),
}  # fmt: skip


def stream(keyed: Keyed, random: Random, count: int, retractions: bool = False) -> list[str]:
    """Random records, some of them late; with retractions, some are taken back."""
    lines = []
    for _ in range(count):
        name, kind, shape = random.choice(keyed.records)
        time = random.randint(0, 40)
        arrival = time + random.choice((0, 0, 0, random.randint(0, 12)))
        args = [_argument(each, random) for each in shape]
        if kind == "i":
            args = [str(time + random.randint(1, 15)), "true", *args]
        elif kind == "p":
            args = [random.choice(("true", "1")), *args]
        line = "|".join([str(time), *args])
        lines.append(f"{name}|{arrival}|{line}")
        if retractions and random.random() < 0.15:
            lines.append(f"-{name}|{arrival + random.randint(0, 15)}|{line}")
    return lines


def _argument(kind: str, random: Random) -> str:
    if kind == "P":
        return random.choice(PEOPLE)
    if kind == "W":
        return random.choice((*PEOPLE, *map(str, range(20)), *"klmnopq"))
    if kind == "Q":
        return random.choice(("home", "pub", "work"))
    return random.choice(("0", "1", "2", "3", "2.5", "1.0"))


def settings(random: Random) -> dict[str, int]:
    """Random windows and bounds, or none."""
    return random.choice((
        {}, {}, {"window": 10}, {"window": 12, "step": 5}, {"step": 7}, {"start": 4, "end": 30},
        {"end": 60}, {"start": -3},
    ))  # fmt: skip

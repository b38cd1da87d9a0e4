"""What random programs have found, cut down: each once made the engine differ from the reference.

The title says what it takes. The answer is the reference's, whatever it is.
"""

from __future__ import annotations

import re

import pytest
from _pytest.mark import ParameterSet

from tests.agreement.compare import Scenario, difference
from tests.generators.streams import Settings


def found(
    title: str, rules: str, events: str = "", settings: Settings | None = None
) -> ParameterSet:
    """A parameter: the scenario, with its title as name."""
    clauses = tuple(re.split(r"(?<=\.)\n", re.sub(r"\n +", "\n", rules.strip())))
    lines = tuple(line.strip() for line in events.strip().splitlines())
    scenario = Scenario(clauses, lines, settings or Settings())
    return pytest.param(scenario, id=title.replace(" ", "_"))


SCENARIOS = (
    found(
        "the time is compared and computed with",
        """happensAt(e(N), T) :- happensAt(speed(P, N), T), T =:= 15.
        initiatedAt(f(P)=N, T) :- happensAt(speed(P, _), T), (N is T mod 3 ; T > 16, N = 7).""",
        """speed|15|15|ann|1
        speed|17|17|ann|2""",
    ),
    found(
        "an unknown relation with records of two widths",
        "initiatedAt(f(P)=true, T) :- happensAt(ping(P), T).",
        """ping|1|1|ann
        dose|2|1|2|0.5|ann
        dose|7|7|0.5|ann""",
        {"start": 0, "end": 7},
    ),
    found(
        "a complement whose fluents never hold",
        """holdsFor(s(P2, N1)=true, I4) :- holdsFor(grip(P1, N1)=true, I1),
            holdsFor(mode(P1)=green, I2), holdsFor(grip(P2, N1)=true, I3),
            complement_all([I2, I1], I4).""",
    ),
    found(
        "constants and repeated variables of the first literal",
        """happensAt(e(ann), T) :- happensAt(pour(P1, 0.5), T).
        initiatedAt(f(0)=P1, T) :- happensAt(meet(P1, P1), T).
        initiatedAt(g=N1, T) :- happensAt(gauge(N1), T), not happensAt(gauge(3), T).""",
        """pour|12|12|bob|0.5
        pour|15|15|bob|2.5
        meet|9|9|cat|ann
        meet|9|9|bob|bob
        gauge|13|13|3
        gauge|9|9|0""",
    ),
    found(
        "the end of a fluent without arguments",
        "happensAt(e(ann), T) :- happensAt(end(weather=blue), T).",
        """weather|10|10|red
        weather|12|12|blue
        weather|15|15|red""",
    ),
    found(
        "a double negation around a disjunction",
        r"""initiatedAt(f(P1)=true, T) :- happensAt(paint(P1, C1), T), \+ (\+ pal(ann, P1)).
        pal(X, Y) :- friend(X, Y) ; friend(Y, X).
        friend(ann, bob).""",
        """paint|15|15|ann|blue
        paint|16|16|bob|blue""",
    ),
    found(
        "the default end of a run is the last point an interval tells of",
        "happensAt(e(P), T) :- happensAt(end(level(P)=N), T).",
        "level|15|15|21|2|ann",
    ),
    found(
        "a variable that a background literal gives",
        """s(C1)=true iff weather=C1 and adult(P1) and not (near(ann, P1)=true or near(bob,
            P1)=true).
        holdsFor(r(P1)=P1, I2) :- holdsFor(near(P1, P1)=true, I1), limit(P1, _),
            complement_all([I1], I2).
        holdsFor(q=true, I4) :- holdsFor(grip(bob, -1)=true, I1), holdsFor(grip(P1, 3)=true,
            I2), pal(P1, P1), complement_all([I2, I1], I4).
        adult(cat).
        limit(ann, -1).
        pal(X, Y) :- friend(X, Y) ; friend(Y, X).
        friend(ann, ann).""",
        "weather|16|16|green",
    ),
    found(
        "a head variable that nothing gives a value",
        r"""initiatedAt(f=true, T) :- happensAt(pour(_, A), T).
        s(N)=true iff (level(bob)=N or f=true), friend(P, Q).
        initiatedAt(g=true, T) :- happensAt(gauge(N), T), \+ holdsAt(s(1)=true, T).
        holdsFor(r(P)=true, I2) :- holdsFor(level(P)=1, I1), complement_all([I1], I2).
        friend(bob, ann).""",
        """pour|8|8|ann|2.5
        level|20|12|20|2|ann""",
    ),
    found(
        "a negative value",
        "initiatedAt(f=N, T) :- happensAt(gauge(N), T).",
        "gauge|8|8|-1",
    ),
    found(
        "two equal records are one happening",
        """initiatedAt(f=N, T) :- happensAt(paint(_, C2), T),
            aggregate_all(count, happensAt(paint(P2, C1), T), N).""",
        """paint|3|3|ann|red
        paint|3|3|ann|red""",
    ),
    found(
        "integers beside a rule that gives nothing",
        r"""initiatedAt(f(P, 3)=true, T) :- happensAt(pour(P, A), T).
        initiatedAt(f(ann, N3)=true, T) :- (happensAt(paint(_, C), T) ; happensAt(speed(_,
            N1), T)), findall(P2, happensAt(sell(P2, red, N2), T), L), length(L, N3),
            N3 =\= 5.""",
        "pour|16|10|ann|1.5",
    ),
    found(
        "an integer and a float that are one value do not break each other",
        r"""initiatedAt(g(ann)=0, T) :- happensAt(gauge(N1), T).
        initiatedAt(f=N1, T) :- initiatedAt(g(P1)=N1, T), not holdsAt(g(P1)=_, T), \+ rank(_,
            N1).
        initiatedAt(f=N1, T) :- happensAt(meet(_, _), T), holdsAt(g(P1)=N1, T),
            \+ (N1 mod 2 =:= T mod 3, happensAt(meet(P1, P1), T)).
        initiatedAt(f=N3, T) :- happensAt(gauge(N1), T), N2 is abs(N1 - N1), between(0, N2,
            N3), happensAt(meet(P1, P1), T).
        rank(red, 1).""",
        """gauge|2|2|1
        meet|10|10|ann|bob""",
        {"start": 0, "end": 38},
    ),
    found(
        "an open initiation reaches what was initiated before it",
        """initiatedAt(f(P)=true, T) :- happensAt(end(mode(P)=C), T).
        initiatedAt(f(_)=true, T) :- happensAt(alarm, T).""",
        """alarm|13|13
        mode|15|15|blue|ann""",
        {"start": 12, "end": 25},
    ),
    found(
        "a branch uses what a later literal gives",
        r"""happensAt(e(ann), T) :- happensAt(drop(P1), T), adult(P2),
            (P2 @=< P1 ; happensAt(drop(P1), T)).
        terminatedAt(f=true, T) :- happensAt(alarm, T), findall(N1, holdsAt(grip(_, N1)=true,
            T), L), length(L, N2), N3 is N2 * 2, (holdsAt(level(P1)=N2, T),
            \+ holdsAt(grip(P1, N3)=true, T) ; N4 is abs(N3 - 1), not happensAt(end(grip(ann,
            0)=true), T)).
        initiatedAt(f=true, T) :- happensAt(drop(_), T).
        adult(cat).""",
        """drop|14|14|bob
        alarm|15|15""",
    ),
    found(
        "a branch uses what another disjunction gives",
        """initiatedAt(f=true, T) :- happensAt(alarm, T).
        terminatedAt(f=true, T) :- happensAt(pour(_, A1), T), class(2, C1),
            (A1 =:= 9.0 ; taste(P1, C1)).
        class(_, green).
        class(_, blue).
        taste(ann, red).""",
        """alarm|6|6
        pour|6|6|ann|1.5""",
    ),
    found(
        "a disjunction that needs a time stands before the one that gives it",
        """terminatedAt(f(ann)=true, T) :- (holdsAt(g=1, T) ; P2 = ann), (happensAt(gauge(_),
            T) ; happensAt(ping(P1), T)).
        initiatedAt(f(ann)=true, T) :- happensAt(drop(_), T).
        initiatedAt(g=1, T) :- happensAt(ping(_), T).""",
        """drop|2|2|ann
        gauge|5|5|0""",
    ),
    found(
        "an interval that ends at the edge gives no instance",
        """holdsFor(s(C1, C2)=true, I5) :- holdsFor(weather=C1, I2), holdsFor(weather=C2,
            I3), complement_all([I3], I5).""",
        "weather|18|18|green",
        {"start": 17, "end": 22, "window": 4},
    ),
    found(
        "a forgotten interval gives no instance",
        """holdsFor(s(P1, P2, C1)=true, I2) :- holdsFor(mode(P1)=C1, I1),
            holdsFor(mode(P2)=C1, I2).
        r(C1)=C1 iff (weather=blue or weather=C1).""",
        """mode|6|6|blue|bob
        mode|8|8|blue|ann
        weather|8|8|red
        weather|9|9|blue""",
        {"start": 1, "end": 26, "window": 5},
    ),
    found(
        "initiatedAt and terminatedAt with a value that is reckoned with",
        """initiatedAt(f=N1, T) :- happensAt(end(mode(P1)=C1), T), N1 is abs(1 - 3).
        initiatedAt(g(bob)=3, T) :- (initiatedAt(f=0, T) ; happensAt(ping(P1), T)).
        holdsFor(s(N1)=true, I3) :- holdsFor(f=N1, I1), intDurLess(I1, N1 * 2, I3).
        terminatedAt(h(cat)=N1, T) :- happensAt(alarm, T), N1 is min(0, 3).
        initiatedAt(k(ann)=0, T) :- happensAt(alarm, T).
        terminatedAt(k(ann)=N1, T) :- terminatedAt(h(P1)=N1, T), N2 is abs(N1 - 1).""",
        """mode|9|9|green|ann
        alarm|12|12""",
        {"start": 8, "end": 23},
    ),
    found(
        "points and intervals of one input fluent",
        "happensAt(e(P1), T) :- happensAt(end(dose(P1)=_), T).",
        """dose|9|9|0.5|ann
        dose|15|15|21|0.5|bob""",
        {"start": 8, "end": 20},
    ),
    found(
        "what holds initially is not initiated at a point of the run",
        """initially(f=true).
        initiatedAt(g=true, T) :- initiatedAt(f=true, T).""",
    ),
    found(
        "grounding of a computed fluent with a number for a value",
        """grounding(s(P1)=N1) :- some_person(P1), some_number(N1).
        s(P1)=3 iff mode(P1)=green.
        dynamicDomain(some_number(_)).
        grounding(gauge(X0)) :- some_number(X0).
        initiatedAt(f=true, T) :- happensAt(gauge(N1), T), N1 =< 2.
        some_person(ann).""",
        """mode|8|8|green|ann
        gauge|9|9|3""",
    ),
    found(
        "points of a disjunction are taken in the order of time",
        """initiatedAt(f(P1, P1)=true, T) :- (happensAt(ping(P1), T) ; happensAt(pour(P1,
            A1), T)).
        terminatedAt(f(P1, P1)=true, T) :- happensAt(pour(P1, A1), T).
        initiatedAt(g(P1)=true, T) :- (happensAt(sell(P1, C1, 1), T) ; happensAt(sell(P1, C1,
            _), T) ; happensAt(speed(P1, N1), T)).""",
        """pour|7|7|bob|2.5
        ping|3|3|bob
        speed|2|2|bob|0
        sell|10|10|bob|green|-1""",
    ),
    found(
        "a record that was taken back is no member of a domain",
        """:- event(gauge(_)).
        grounding(s(P1)=2) :- some_person(P1), some_number(2).
        holdsFor(s(P1)=2, I) :- holdsFor(dose(P1)=1.5, I).
        some_person(ann).
        dynamicDomain(some_number(_)).
        grounding(gauge(X)) :- some_number(X).""",
        """gauge|5|5|2
        -gauge|9|5|2
        dose|12|11|12|1.5|ann""",
        {"start": 0, "end": 20, "step": 2},
    ),
    found(
        "input events with compound arguments",
        """initiatedAt(owed(P)=N, T) :- happensAt(pay(bill(P), N), T).
        initiatedAt(last=P, T) :- happensAt(spend(P, _), T).""",
        """pay|3|3|bill(ann)|5
        pay|4|4|tip(ann)|7
        spend|5|5|bill(ann)|5""",
    ),
    found(
        "if-then-else among the conditions",
        """initiatedAt(f(P)=C, T) :- happensAt(speed(P, N), T),
            (N > 2 -> C = red ; C = blue).""",
        """speed|1|1|ann|3
        speed|3|3|ann|1""",
    ),
    found(
        "blanks around fields",
        "initiatedAt(f(P)=M, T) :- happensAt(speed(P, M), T).",
        """speed | 1 | 1 | ann | 4
        speed|2|2| bob |5""",
    ),
    found(
        "variables that only grounding gives",
        """grounding(s(P1, N1)=red) :- some_person(P1), some_number(N1).
        s(P1, N1)=C1 iff (near(P1, P2)=true or weather=C1), friend(P2, P3), not f(N1)=true.
        some_person(ann).
        some_number(2).
        friend(ann, cat).""",
        "near|38|30|38|true|ann|ann",
        {"start": 0, "end": 38},
    ),
    found(
        "the arrival of a retraction counts for the default end of a run",
        "initiatedAt(f(0)=true, T) :- happensAt(ping(bob), T).",
        """ping|16|16|bob
        -ping|22|16|bob""",
    ),
    found(
        "terminatedAt of a rule that does not fire",
        r"""holdsFor(s(N1, P1)=true, I5) :- holdsFor(grip(P1, N1)=true, I3), intDurLess(I3, 1, I4),
            complement_all([I4], I5).
        terminatedAt(f(bob, N1)=bob, T) :- happensAt(gauge(N1), T),
            \+ holdsAt(s(N1, bob)=true, T).
        happensAt(e, T) :- terminatedAt(f(_, N1)=P1, T).
        initiatedAt(f(bob, -1)=ann, T) :- happensAt(gauge(N1), T).""",
        """grip|14|14|true|bob|1
        gauge|17|17|1""",
        {"start": 1, "end": 19},
    ),
    found(
        "terminatedAt of whatever value",
        """terminatedAt(f(P)=_, T) :- happensAt(ping(P), T).
        initiatedAt(f(P)=red, T) :- happensAt(sell(P), T).
        initiatedAt(g(P)=P, T) :- terminatedAt(f(P)=P, T).""",
        """sell|2|2|bob
        ping|5|5|bob""",
        {"start": 0, "end": 9},
    ),
    found(
        "terminatedAt of what only grounding names",
        """grounding(f(P)=true) :- some_person(P).
        terminatedAt(f(_)=true, T) :- happensAt(gauge(_), T).
        initiatedAt(f(P)=true, T) :- happensAt(ping(P), T).
        initiatedAt(g(P)=true, T) :- terminatedAt(f(P)=true, T).
        some_person(ann).""",
        "gauge|5|5|1",
        {"start": 0, "end": 9},
    ),
    found(
        "a variable that grounding gives beside a negated literal",
        r"""grounding(s(P1, P2)=true) :- some_person(P1), some_person(P2).
        holdsFor(s(P1, P2)=true, I5) :- holdsFor(mode(P2)=blue, I3), \+ pal(P1, P1),
            complement_all([I3], I5).
        some_person(ann).
        friend(bob, bob).
        pal(X, Y) :- friend(X, Y) ; friend(Y, X).""",
        "",
        {"start": 0, "end": 23},
    ),
    found(
        "a negated disjunction waits for all its variables",
        r"""initiatedAt(f=P1, T) :- happensAt(ping(P1), T), \+ known(P1).
        holdsFor(s(P1, P2)=true, I3) :- holdsFor(f=P1, I1), holdsFor(f=P2, I2),
            \+ pal(P1, P2), union_all([I2, I1], I3).
        pal(X, Y) :- friend(X, Y, Z) ; friend(Y, X, Z), Z \= x.
        known(X) :- (X = eel ; friend(X, _, _), \+ X = bob).
        friend(bob, ann, x).
        friend(cat, ann, y).""",
        """ping|8|8|ann
        ping|9|9|bob
        ping|10|10|cat
        ping|11|11|dog
        ping|12|12|eel""",
        {"start": 6, "end": 23},
    ),
    found(
        "an edge at the query time that rests on no point",
        """initiatedAt(f(P1)=N1, T) :- happensAt(speed(P1, N1), T).
        holdsFor(s(N1)=P1, I3) :- holdsFor(grip(P1, N1)=true, I1), holdsFor(f(P1)=N1, I3).
        happensAt(e(red), T) :- happensAt(start(s(N1)=_), T).""",
        """grip|12|12|true|bob|0
        speed|18|18|bob|-1""",
        {"start": 0, "end": 18},
    ),
    found(
        "an interval that ends at the query time beside an older point",
        "happensAt(e(P), T) :- happensAt(end(dose(P)=A), T).",
        """dose|7|7|2.5|ann
        dose|18|18|24|2.5|ann""",
        {"start": 0, "end": 23},
    ),
    found(
        "any value gives each instance once",
        "s(P)=true iff dose(P)=_.",
        """dose|1|1|4|0.5|ann
        dose|4|4|8|1.5|ann""",
        {"start": 0, "end": 30},
    ),
    found(
        "a variable of one list stands for any value",
        """holdsFor(s(P)=true, I) :- holdsFor(dose(P)=A, I2), intDurGreater(I2, 5, I).""",
        """dose|1|1|4|0.5|ann
        dose|4|4|8|1.5|ann""",
        {"start": 0, "end": 30},
    ),
    found(
        "a variable of one list that is taken away stands for any value",
        """s(P)=true iff mode(P)=red, not dose(P)=A.
        holdsFor(r(P)=true, I) :- holdsFor(mode(P)=red, I1), holdsFor(dose(P)=A, I2),
            union_all([I1, I2], I).""",
        """mode|1|1|10|red|ann
        dose|3|3|6|0.5|ann
        dose|5|5|8|1.5|ann
        mode|1|1|10|red|bob""",
        {"start": 0, "end": 20},
    ),
    found(
        "a variable twice in one list",
        "s(C)=true iff weather=C, not near(A, A)=true.",
        """weather|1|1|10|red
        near|2|2|5|true|ann|bob
        near|6|6|8|true|ann|ann""",
        {"start": 0, "end": 30},
    ),
    found(
        "a member given by a fact and by the input",
        r"""grounding(s(A1, P1, A2)=true) :- some_amount(A1), some_person(P1), some_amount(A2).
        holdsFor(s(A1, P1, A2)=true, I3) :- holdsFor(dose(P1)=A1, I1), holdsFor(dose(P1)=A2,
            I2), \+ I2 = [], union_all([I2, I1], I3).
        some_amount(1.5).
        some_person(bob).
        dynamicDomain(some_person(_)).
        grounding(dose(X0)=_) :- some_person(X0).""",
        "dose|7|7|1.5|bob",
        {"start": 0, "end": 18},
    ),
    found(
        "which of two effects is the shorter depends on the instance",
        """initiatedAt(f(P)=true, T) :- happensAt(ping(P), T).
        fi(f(P)=true, f(P)=false, R) :- limit(P, R).
        ft(f(P)=true, 5).
        limit(ann, 2).
        limit(bob, 7).""",
        """ping|1|1|ann
        ping|2|2|bob""",
        {"start": 0, "end": 20},
    ),
    found(
        "two effects at one point",
        """initiatedAt(f(P)=true, T) :- happensAt(ping(P), T).
        fi(f(P)=true, f(P)=false, 3).
        fi(f(P)=true, f(P)=maybe, 3).""",
        "ping|1|1|ann",
        {"start": 0, "end": 20},
    ),
    found(
        "a delayed effect where initiations count",
        """:- ties(initiation).
        initiatedAt(f(P)=true, T) :- happensAt(ping(P), T).
        terminatedAt(f(P)=true, T) :- happensAt(drop(P), T).
        ft(f(P)=true, 5).""",
        """ping|1|1|ann
        ping|3|3|ann
        drop|3|3|ann""",
        {"start": 0, "end": 20},
    ),
    found(
        "an open initiation forgets what does not hold at the edge",
        """initiatedAt(f(P1)=true, T) :- happensAt(sell(P1), T).
        initiatedAt(f(_)=true, T) :- happensAt(alarm, T).
        terminatedAt(f(P1)=true, T) :- happensAt(sell(P1), T).""",
        """sell|3|3|bob
        alarm|6|6""",
        {"start": 0, "end": 18, "window": 14},
    ),
    found(
        "an open initiation is about the fluent and not its value",
        """initiatedAt(f(_)=bob, T) :- happensAt(sell(ann), T).
        initiatedAt(f(red)=cat, T) :- happensAt(ping(ann), T).
        grounding(g(P1, N1)=P2) :- some_person(P1), some_number(N1), some_person(P2).
        initiatedAt(g(P1, _)=ann, T) :- happensAt(sell(P1), T).
        initiatedAt(g(P1, _)=P2, T) :- happensAt(sell(P1), T), P2 = P1.
        some_person(bob).
        some_number(2).""",
        """ping|9|9|ann
        sell|10|10|ann
        sell|16|16|bob""",
    ),
    found(
        "an open initiation of what grounding does not allow",
        """grounding(f(P1, P2)=C1) :- some_person(P1), some_person(P2), some_colour(C1).
        initiatedAt(f(ann, bob)=C1, T) :- happensAt(paint(C1), T).
        initiatedAt(f(_, P1)=blue, T) :- happensAt(meet(P1), T).
        happensAt(e(P2), T) :- initiatedAt(f(P1, P2)=C1, T).
        some_person(ann).
        some_colour(red).""",
        """paint|1|1|blue
        meet|3|3|ann
        meet|5|5|bob""",
    ),
    found(
        "several values of a computed fluent",
        """holdsFor(s(C1)= -1, I3) :- holdsFor(weather=C1, I3).
        holdsFor(s(C1)=2, I2) :- holdsFor(r(C1)=true, I2).
        s(C1)=3 iff s(C1)= -1, q(C1)=true.""",
        """weather|18|18|red
        r|22|20|22|true|red
        q|19|18|19|true|red""",
        {"start": 0, "end": 28},
    ),
    found(
        "any value in a background literal gives each instance once",
        """s(P1)=C1 iff r(P1)=true and taste(_, C1).
        taste(ann, red).
        taste(bob, red).""",
        "r|1|1|5|true|cat",
        {"start": 0, "end": 9},
    ),
    found(
        "a branch uses what if-then-else gives",
        r"""initiatedAt(f=N1, T) :- happensAt(alarm, T), (not linked(ann) -> N1 = 2 ; N1 = -1),
            (holdsAt(dose(_)=A1, T) ; \+ class(N1, _)).
        initiatedAt(g=C1, T) :- happensAt(alarm, T), (N1 = 1 ; N1 = 3),
            (N1 > 2 -> C1 = red ; C1 = blue).
        happensAt(e(P2), T) :- happensAt(drop(P1), T), (linked(P1) -> P2 = ann ; P2 = P1),
            (holdsAt(dose(P1)=A1, T) ; holdsAt(dose(P2)=A1, T)).
        class(N, green) :- N < 2, !.
        linked(bob).""",
        """alarm|3|3
        drop|11|11|ann
        drop|12|12|bob
        dose|14|10|14|1.5|cat
        dose|14|12|14|1.5|ann""",
        {"start": 0, "end": 18},
    ),
    found(
        "records that are ignored do not move the bounds of a run",
        "initiatedAt(f=bob, T) :- happensAt(start(dose(_)=A), T).",
        """dose|19|17|19|1.5|bob
        near|40|14|20|true|x|y
        near|soon|50|60|true|x|y
        -dose|50|17|19|9.5|bob""",
    ),
    found(
        "a run that starts behind all records",
        "initiatedAt(f(P)=true, T) :- happensAt(ping(P), T).",
        "ping|15|15|ann",
        {"start": 21},
    ),
    found(
        "dialect rtec: a named value that is initiated breaks others and terminates none",
        """:- dialect(rtec).
        initiatedAt(f(P)=N, T) :- happensAt(order(P, N), T).
        initiatedAt(f(P)=5, T) :- happensAt(ping(P), T).
        terminatedAt(f(P)=N, T) :- happensAt(gauge(P, N), T).
        initiatedAt(g(P, N)=true, T) :- terminatedAt(f(P)=N, T).
        initiatedAt(h(P)=true, T) :- happensAt(ping(P), T), not terminatedAt(f(P)=_, T).""",
        """order|2|2|ann|3
        ping|4|4|ann
        order|6|6|ann|7
        ping|8|8|ann
        gauge|8|8|ann|7""",
        {"start": 0, "end": 12},
    ),
    found(
        "dialect rtec: open arguments range over what grounding allows with any value",
        """:- dialect(rtec).
        grounding(f(of(P))=C) :- person(P), colour(C).
        grounding(g(P)=red) :- person(P).
        grounding(g(P)=C) :- guest(P), colour(C).
        initiatedAt(f(of(_))=C, T) :- happensAt(sell(C), T).
        initiatedAt(g(_)=C, T) :- happensAt(sell(C), T).
        initiatedAt(h(P)=true, T) :- initiatedAt(f(of(P))=C, T).
        initiatedAt(k(P, C)=true, T) :- initiatedAt(g(P)=C, T).
        person('Far Out').
        guest(bob).
        colour(green).""",
        """sell|4|4|blue
        sell|6|6|green
        sell|8|8|red""",
        {"start": -10, "end": 9},
    ),
    found(
        "large and negative times",
        """:- tick(3).
        initiatedAt(f(P)=N, T) :- happensAt(ping(P), T), N is T mod 5.
        holdsFor(s(P)=true, I) :- holdsFor(f(P)=N, I1), holdsFor(near(P, N)=true, I2),
            relative_complement_all(I1, [I2], I3), intDurLess(I3, 10, I).""",
        """ping|-2305843009213693951|-2305843009213693951|ann
        ping|-2305843009213693930|-2305843009213693945|ann
        ping|2305843009213693951|2305843009213693951|ann
        near|2305843009213693954|2305843009213693954|2305843009213693963|true|ann|1""",
    ),
    found(
        "memories reach back from the edge of the window where steps are longer",
        """:- memory(9).
        collectIntervals(near(_)=_).
        holdsFor(again(P)=true, I) :- holdsFor(near(P)=true, J), before(J, J, target, I).""",
        """near|18|16|18|true|ann
        near|38|36|38|true|ann
        near|20|18|20|true|bob
        near|38|36|38|true|bob""",
        {"start": 0, "end": 40, "window": 5, "step": 20},
    ),
    found(
        "rules with bounds of the window say the same between two windows as others",
        """initiatedAt(f(P)=on, T) :- happensAt(ping(P), T).
        fi(f(P)=on, f(P)=off, 8).
        initiatedAt(g(P)=true, T1, T, T2) :- happensAt(end(f(P)=on), T), T1 =< T, T < T2.
        initiatedAt(h(P)=true, T) :- happensAt(end(f(P)=on), T).""",
        "ping|18|18|ann",
        {"start": 0, "end": 40, "window": 5, "step": 20},
    ),
    found(
        "numbers that are too large count only for instances that there are",
        """holdsFor(s(P, N, Q)=true, I) :- holdsFor(grip(P, N)=true, I1), old(P),
            M is N + 1, holdsFor(near(P, Q)=true, I2), M > 0, union_all([I1, I2], I).
        old(ann).
        old(bob).""",
        """grip|5|5|true|ann|9223372036854775807
        grip|5|5|true|bob|3
        grip|5|5|true|eve|9223372036854775807
        near|5|5|9|true|bob|cat
        near|5|5|9|true|eve|cat""",
    ),
)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_equals_the_reference(scenario: Scenario) -> None:
    assert difference(scenario) == ""

"""Random programs about committees whose chairs facts name, and whose votes are counted."""

from __future__ import annotations

from random import Random

FACTS = "".join(f"seat(k{k}, {a}).\n" for k, a in ((1, "ann"), (1, "bob"), (2, "bob"), (2, "cid")))
SEATS = "".join(f"seat(k3, m{number}).\n" for number in range(9))
"""So many members that they are not written out one by one."""
CHAIRS = "chair(k1, ann).\nchair(k2, bob).\nchair(k3, m1).\n"
MORE_CHAIRS = "".join(f"chair(k3, m{number}).\n" for number in range(2, 9))

STATUS = (
    "initiatedAt(status(K, M)=open, T) :- happensAt(propose(A, K, M), T), seat(K, A)",
    "initiatedAt(status(K, M)=voting, T) :- happensAt(second(A, K, M), T), "
    "holdsAt(status(K, M)=open, T)",
    "initiatedAt(status(K, M)=closed, T) :- happensAt(close(A, K, M), T)",
    "terminatedAt(status(K, M)=_, T) :- happensAt(close(_, K, M), T), "
    "holdsAt(status(K, M)=closed, T)",
)
MORE_STATUS = (
    "fi(status(K, M)=voting, status(K, M)=closed, 7)",
    "fi(status(K, M)=open, status(K, M)=voting, 3)",
    "ft(status(K, M)=closed, 6)",
)
HELD_OF_MEMBERS = (
    "pow(close(A, K, M))=true iff status(K, M)=voting, chair(K, A)",
    "per(close(A, K, M))=true iff (status(K, M)=voting or status(K, M)=open), seat(K, A), "
    "chair(K, A)",
    "may(A, K, M)=S iff status(K, M)=S, seat(K, A)",
)
ASKING = (
    "happensAt(close(A, K, M), T), holdsAt(pow(close(A, K, M))=true, T)",
    "happensAt(close(A, K, M), T), \\+ holdsAt(pow(close(A, K, M))=true, T)",
    "happensAt(vote(A, K, M, _), T), \\+ holdsAt(per(close(A, K, M))=true, T), seat(K, A)",
    "happensAt(vote(A, K, M, _), T), holdsAt(pow(close(_, K, M))=true, T)",
    "happensAt(vote(A, K, M, _), T), \\+ holdsAt(pow(close(_, K, M))=true, T)",
    "happensAt(second(A, K, M), T), holdsAt(pow(close(A, K, M))=true, T), "
    "\\+ holdsAt(per(close(A, K, M))=true, T)",
)


def member_program(seed: int) -> str:
    """A program of fluents about the members of committees, and of rules that ask for them."""
    random = Random(seed)
    clauses = [*STATUS, *(clause for clause in MORE_STATUS if random.random() < 0.6)]
    clauses += HELD_OF_MEMBERS
    for body in random.sample(ASKING, random.randint(1, 3)):
        clauses.append(f"initiatedAt(warned(A)=true, T) :- {body}")
    if random.random() < 0.5:
        clauses.append("ft(warned(A)=true, 5)")
    facts = FACTS + SEATS + CHAIRS + (MORE_CHAIRS if random.random() < 0.5 else "")
    return "".join(f"{clause}.\n" for clause in clauses) + facts


VOTED = (
    "initiatedAt(voted(A, K, M)=V, T) :- happensAt(vote(A, K, M, V), T), seat(K, A)",
    "terminatedAt(voted(A, K, M)=_, T) :- happensAt(second(A, K, M), T)",
)
AYES, NAYS, ALL = (
    f"aggregate_all(count, holdsAt(voted(_, K, M)={value}, T), {name})"
    for value, name in (("aye", "Ayes"), ("nay", "Nays"), ("_", "All"))
)
POINTS = (
    "happensAt(start(status(K, M)=voting), T)",
    "happensAt(end(status(K, M)=voting), T)",
    "happensAt(start(status(K, M)=closed), T)",
    "happensAt(close(_, K, M), T), holdsAt(status(K, M)=voting, T)",
    "happensAt(second(_, K, M), T), \\+ holdsAt(status(K, M)=open, T)",
)
COUNTED = (
    f"{AYES}, {NAYS}, Ayes > Nays",
    f"{AYES}, {NAYS}, Ayes =< Nays",
    f"{AYES}, Ayes >= 2",
    f"{ALL}, quorum(K, Q), All >= Q",
    f"{ALL}, {AYES}, 2 * Ayes > All",
    "findall(A, holdsAt(voted(A, K, M)=aye, T), L), length(L, N), N > 1",
)
OF_COUNTS = (
    "initiatedAt(outcome(K, M)=carried, T)",
    "initiatedAt(outcome(K, M)=not_carried, T)",
    "terminatedAt(outcome(K, M)=_, T)",
    "initiatedAt(busy(K)=true, T)",
    "happensAt(counted(M, K), T)",
)
OF_BOTH = (
    "obl(declare(A, K, M))=O iff status(K, M)=closed, outcome(K, M)=O, chair(K, A)",
    "lost(K, M)=S iff status(K, M)=S, not outcome(K, M)=carried",
    "initiatedAt(warned(A)=false, T) :- happensAt(vote(A, K, M, V), T), "
    "holdsAt(outcome(K, M)=O, T), V \\= O, O \\= carried",
)
QUORUMS = "quorum(k1, 1).\nquorum(k2, 2).\nquorum(k3, 3).\n"


def counting_program(seed: int) -> str:
    """A program whose rules count votes, and say something of members at points of motions."""
    random = Random(seed)
    clauses = [*STATUS, *(clause for clause in MORE_STATUS if random.random() < 0.6)]
    for clause in VOTED:
        gate = random.choice(("", "", ", holdsAt(status(K, M)=voting, T)"))
        clauses.append(clause + gate)
    clauses += HELD_OF_MEMBERS[:2]
    for head in random.sample(OF_COUNTS, 3):
        clauses.append(f"{head} :- {random.choice(POINTS)}, {random.choice(COUNTED)}")
    if any("initiatedAt(outcome" in clause for clause in clauses) and random.random() < 0.7:
        clauses += random.sample(OF_BOTH, 2) if random.random() < 0.6 else OF_BOTH
    if any("outcome(K, M)=carried" in clause for clause in clauses) and random.random() < 0.7:
        clauses.append("ft(outcome(K, M)=carried, 6)")
    for head in ("initiatedAt(warned(A)=true, T)", "terminatedAt(warned(A)=true, T)"):
        asked = random.choice(("", f", {AYES}, Ayes > 0", ", \\+ happensAt(close(A, K, M), T)"))
        clauses.append(f"{head} :- {random.choice(POINTS)}, chair(K, A){asked}")
    for body in random.sample(ASKING, random.randint(0, 2)):
        clauses.append(f"initiatedAt(warned(A)=true, T) :- {body}")
    facts = FACTS + SEATS + CHAIRS + QUORUMS + (MORE_CHAIRS if random.random() < 0.5 else "")
    return "".join(f"{clause}.\n" for clause in clauses) + facts


def member_record(random: Random, time: int) -> str:
    """A record of the programs, at a time, without its arrival."""
    agent, committee = random.choice(
        [("ann", "k1"), ("bob", "k1"), ("bob", "k2"), ("cid", "k2"), ("m1", "k3"), ("m2", "k3"),
         ("m3", "k3"), ("m1", "k1")]
    )  # fmt: skip
    name = random.choice(["propose", "second", "vote", "vote", "vote", "close"])
    vote = f"|{random.choice(['aye', 'nay', 'aye', 'blank'])}" if name == "vote" else ""
    return f"{name}|{time}|{agent}|{committee}|{random.randint(1, 2)}{vote}"

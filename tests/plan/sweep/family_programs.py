"""Random programs whose rules bring things about for other keys than those they ask about."""

from __future__ import annotations

from random import Random

FACTS = "".join(f"seat(k{k}, {a}).\n" for k, a in ((1, "ann"), (1, "bob"), (2, "bob"), (2, "cid")))

STATUS = (
    "initiatedAt(status(K, M)=open, T) :- happensAt(propose(A, K, M), T), seat(K, A)",
    "initiatedAt(status(K, M)=voting, T) :- happensAt(second(A, K, M), T), "
    "holdsAt(status(K, M)=open, T)",
    "terminatedAt(status(K, M)=voting, T) :- happensAt(close(A, K, M), T), seat(K, A)",
    "terminatedAt(status(K, M)=_, T) :- happensAt(close(_, K, M), T)",
)
MORE_STATUS = (
    "fi(status(K, M)=voting, status(K, M)=closed, 7)",
    "fi(status(K, M)=open, status(K, M)=voting, 3)",
    "ft(status(K, M)=closed, 4)",
    "initiatedAt(proposer(K, M)=A, T) :- happensAt(propose(A, K, M), T)",
    "held(K, M)=true iff status(K, M)=voting or status(K, M)=closed",
)

CONDITIONS = (
    "holdsAt(status(K, M)=voting, T)",
    "\\+ holdsAt(status(K, M)=voting, T)",
    "holdsAt(status(K, M)=_, T)",
    "happensAt(start(status(K, M)=voting), T)",
    "\\+ happensAt(end(status(K, M)=_), T)",
    "\\+ happensAt(close(_, K, M), T)",
)
OF_RECORDS = ("seat(K, A)", "\\+ seat(K, A)", "M > 1", "K \\= k2")
RECORDS = ("vote(A, K, M, V)", "second(A, K, M)", "close(A, K, M)", "propose(A, K, M)")

HEADS = (
    "initiatedAt(voted(A, K, M)=V, T)",
    "terminatedAt(voted(A, K, M)=V, T)",
    "terminatedAt(voted(A, K, M)=_, T)",
    "initiatedAt(warned(A)=true, T)",
    "initiatedAt(warned(A)=false, T)",
    "terminatedAt(warned(A)=true, T)",
    "initiatedAt(busy(K)=true, T)",
    "terminatedAt(busy(K)=true, T)",
    "happensAt(counted(A, M), T)",
)
MORE = (
    "ft(warned(A)=true, 6)",
    "fi(warned(A)=true, warned(A)=false, 5)",
    "p(warned(A)=true)",
    "ft(busy(K)=true, 9)",
)
CHAINED = (
    "initiatedAt(praised(A)=true, T) :- happensAt(second(A, K, M), T), "
    "holdsAt(voted(A, K, M)=aye, T)",
    "terminatedAt(praised(A)=true, T) :- happensAt(vote(A, _, _, nay), T)",
)


def family_program(seed: int) -> str:
    """A program of fluents about pairs, and of others that follow from them."""
    random = Random(seed)
    clauses = [*STATUS, *(clause for clause in MORE_STATUS if random.random() < 0.6)]
    defined = {"voted"}
    clauses.append(_rule(random, HEADS[0], "vote(A, K, M, V)"))
    for _ in range(random.randint(2, 6)):
        head = random.choice(HEADS)
        record = RECORDS[0] if "=V" in head else random.choice(RECORDS)
        clauses.append(_rule(random, head, record))
        if head.startswith("initiatedAt"):
            defined.add(head[head.index("(") + 1 :].split("(")[0])
    for clause in MORE:
        if random.random() < 0.5 and clause.split("(")[1] in defined:
            clauses.append(clause)
    if any("p(warned" in each for each in clauses) and not any("warned(A)=true, " in each
                                                              for each in clauses[4:]):  # fmt: skip
        clauses = [each for each in clauses if not each.startswith("p(")]
    if random.random() < 0.5:
        clauses += CHAINED
    return "".join(f"{clause}.\n" for clause in clauses) + FACTS


def _rule(random: Random, head: str, record: str) -> str:
    body = [f"happensAt({record}, T)"]
    body += random.sample(OF_RECORDS, random.choice([0, 0, 1]))
    body += random.sample(CONDITIONS, random.choice([0, 1, 1, 2]))
    return f"{head} :- {', '.join(body)}"


def family_record(random: Random, time: int) -> str:
    """A record of the programs, at a time, without its arrival."""
    agent, committee = random.choice(["ann", "bob", "cid"]), random.choice(["k1", "k2"])
    name = random.choice(["propose", "second", "vote", "vote", "vote", "close"])
    vote = f"|{random.choice(['aye', 'nay', 'aye', 'blank'])}" if name == "vote" else ""
    return f"{name}|{time}|{agent}|{committee}|{random.randint(1, 2)}{vote}"

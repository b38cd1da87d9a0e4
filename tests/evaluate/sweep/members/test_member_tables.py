"""Members are written out with the keys of runs, whichever keys come first."""

import cernis
from tests.evaluate.sweep.test_sweep_then_columns import answers

RULES = """
:- event([open(committee:text, motion:integer), close(committee:text, motion:integer)]).
initiatedAt(status(K, M)=open, T) :- happensAt(open(K, M), T).
terminatedAt(status(K, M)=open, T) :- happensAt(close(K, M), T).
pow(K, A, M, Role)=true iff status(K, M)=open, seat(K, A), role(A, Role).
"""
SEATS = "".join(f"seat(k{number % 3}, a{number}).\n" for number in range(30))
ROLES = "".join(f"role(a{number}, {'chair' if number < 3 else 'seat'}).\n" for number in range(28))


def test_members_of_keys_that_come_later() -> None:
    plan = cernis.load(RULES + SEATS + ROLES + "seat(k0, a0). role(a0, guest).").plan
    (lane,) = plan.lanes
    (members,) = lane.head_members
    assert members.names == ("A", "Role")
    lines = "".join(
        f"{'open' if time % 3 else 'close'}|{time}|{time}|k{time % 4}|{time // 7}\n"
        for time in range(1, 60)
    )
    walked, by_columns = answers(plan, lines, 20, 10)
    assert walked == by_columns
    assert "pow(k0, a0, 1, guest)=true" in walked[-1]

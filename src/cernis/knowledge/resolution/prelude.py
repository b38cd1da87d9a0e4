"""The library predicates that are written in the language itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from cernis.knowledge.ground_values import Key
from cernis.syntax.tree import Clause, functor

_TEXT: Final = r"""
append([], L, L).
append([X|L], M, [X|N]) :- append(L, M, N).

append([], []).
append([L|Ls], R) :- append(L, M, R), append(Ls, M).

select(X, [X|L], L).
select(X, [Y|L], [Y|M]) :- select(X, L, M).

selectchk(X, L, M) :- select(X, L, N), !, M = N.

exclude(_, [], []).
exclude(P, [X|L], M) :- ( call(P, X) -> M = N ; M = [X|N] ), exclude(P, L, N).

include(_, [], []).
include(P, [X|L], M) :- ( call(P, X) -> M = [X|N] ; M = N ), include(P, L, N).

maplist(_, []).
maplist(P, [X|Xs]) :- call(P, X), maplist(P, Xs).

maplist(_, [], []).
maplist(P, [X|Xs], [Y|Ys]) :- call(P, X, Y), maplist(P, Xs, Ys).

maplist(_, [], [], []).
maplist(P, [X|Xs], [Y|Ys], [Z|Zs]) :- call(P, X, Y, Z), maplist(P, Xs, Ys, Zs).

foldl(_, [], A, A).
foldl(P, [X|L], A, B) :- call(P, X, A, C), foldl(P, L, C, B).

pairs_keys_values([], [], []).
pairs_keys_values([K-V|L], [K|Ks], [V|Vs]) :- pairs_keys_values(L, Ks, Vs).

pairs_keys([], []).
pairs_keys([K-_|L], [K|Ks]) :- pairs_keys(L, Ks).

pairs_values([], []).
pairs_values([_-V|L], [V|Vs]) :- pairs_values(L, Vs).
"""

PRELUDE: Final[frozenset[Key]] = frozenset({
    ("append", 3), ("append", 2), ("select", 3), ("selectchk", 3), ("exclude", 3), ("include", 3),
    ("maplist", 2), ("maplist", 3), ("maplist", 4), ("foldl", 4),
    ("pairs_keys_values", 3), ("pairs_keys", 2), ("pairs_values", 2),
})  # fmt: skip
"""The predicates the text above defines: the text itself is read only when one is called."""


def prelude() -> Mapping[Key, Sequence[Clause]]:
    """The clauses of each library predicate that is written in the language."""
    from cernis.syntax.parser import parse

    clauses: dict[Key, list[Clause]] = {}
    for item in parse(_TEXT, "<library>").items:
        if isinstance(item, Clause):
            clauses.setdefault(functor(item.head), []).append(item)
    return clauses

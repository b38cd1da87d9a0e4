"""Possible worlds of rows, counted out."""

from __future__ import annotations

import numpy as np

from cernis.evaluate.probabilities.uncertain_facts import TRUE
from cernis.evaluate.probabilities.worlds import Worlds

COUNTS = [0, 2, 1]
"""Three rows: one without uncertain proofs, one with two of them, one with one."""


def test_a_row_is_there_once_for_each_choice_of_true_proofs() -> None:
    worlds = Worlds(np.array(COUNTS))
    assert worlds.rows.tolist() == [0, 1, 1, 1, 1, 2, 2]
    assert worlds.first.tolist() == [0, 0, 2]


def test_proofs_are_true_in_half_of_the_worlds_and_certain_ones_in_all() -> None:
    worlds = Worlds(np.array(COUNTS))
    rows, ranks = np.array([0, 1, 1, 1, 2]), np.array([-1, 0, 1, -1, 0])
    proofs, places = worlds.members(rows, ranks)
    true_in: dict[int, list[int]] = {proof: [] for proof in range(len(rows))}
    for proof, place in zip(proofs.tolist(), places.tolist(), strict=True):
        assert worlds.rows[place] == rows[proof]
        true_in[proof].append(place)
    assert true_in == {0: [0], 1: [2, 4], 2: [3, 4], 3: [1, 2, 3, 4], 4: [6]}


def test_literals_single_out_each_world() -> None:
    worlds = Worlds(np.array(COUNTS))
    # Literals of variables 5, 6 and 7: the even ones negate.
    literals = np.array([11, 13, 15])
    columns = [column.tolist() for column in worlds.literals(literals)]
    assert [*zip(*columns, strict=True)] == [
        (TRUE, TRUE),
        (10, 12), (11, 12), (10, 13), (11, 13),
        (14, TRUE), (15, TRUE),
    ]  # fmt: skip


def test_without_uncertain_proofs_there_is_one_world_and_no_literal() -> None:
    worlds = Worlds(np.array([0, 0]))
    assert worlds.rows.tolist() == [0, 1]
    assert list(worlds.literals(np.empty(0, np.int64))) == []

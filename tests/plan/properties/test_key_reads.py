"""How what definitions read carries the key of their stage."""

from __future__ import annotations

import cernis
from cernis.plan.properties.key_reads import defined_relations, homes, links

PAIRS = """
initiatedAt(slow(V)=true, T) :- happensAt(speed(V), T).
initiatedAt(close(V, W)=true, T) :- happensAt(meet(W, V), T), holdsAt(slow(W)=true, T).
initiatedAt(warned=true, T) :- happensAt(storm, T), happensAt(speed(_), T).
"""


def test_each_relation_that_is_read_says_which_part_of_the_key_it_carries() -> None:
    program = cernis.load(PAIRS)
    stages = program.plan.stages
    found = links(program.checked, stages)
    named = {str(relation): read for relation, read in found.items()}
    assert {str(r) for stage in stages for r in defined_relations(stage)} == named.keys()
    (speed,) = named["slow/1"]
    assert (str(speed.relation), speed.pairs) == ("speed/1", ((0, 0),))
    keys = {str(r): key for stage in stages for r, key in stage.keys}
    for link in named["close/2"]:
        # A position of what is read carries the position of the key that has the same variable.
        variables = {"meet/2": "WV", "slow/1": "W"}[str(link.relation)]
        key = ["VW"[at] for at in keys["close/2"]]
        assert dict(link.pairs) == {variables.index(v): key.index(v) for v in key if v in variables}


def test_relations_are_kept_by_the_key_of_the_stage_that_defines_them() -> None:
    program = cernis.load(PAIRS)
    stages = program.plan.stages
    found = homes(stages, links(program.checked, stages))
    for number, stage in enumerate(stages):
        for relation in defined_relations(stage):
            assert found[relation].stage == number
            assert found[relation].positions == dict(stage.keys).get(relation, ())
    read = {link.relation for every in links(program.checked, stages).values() for link in every}
    assert read <= found.keys()

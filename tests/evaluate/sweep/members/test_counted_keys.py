"""Keys are put into groups in any order of their coming, and each is in one chain."""

from types import SimpleNamespace

import numpy as np

from cernis.evaluate.sweep.key_numbers import KeyNumbers
from cernis.evaluate.sweep.members.counted_keys import CountedKeys
from cernis.tables.domains import Domain


def chains(counted: CountedKeys) -> list[list[int]]:
    found = []
    for head in counted._heads.tolist():
        chain = []
        while head >= 0:
            chain.append(head)
            head = int(counted._nexts[head])
        found.append(sorted(chain))
    return found


def test_every_key_is_in_the_chain_of_its_group() -> None:
    random = np.random.default_rng(4)
    domains = [Domain([f"a{n}" for n in range(9)]), Domain([f"k{n}" for n in range(90)])]
    keys, groups = KeyNumbers(domains), KeyNumbers(domains[1:])
    lane = SimpleNamespace(of_keys=keys, latest=None)
    counted = CountedKeys(lane, [1], groups)  # type: ignore[arg-type]
    for count in (0, 30, 1, 200, 0):
        keys.enter([random.integers(0, 9, count), random.integers(0, 90, count)], count)
        counted.update()
        of_key = keys.columns(np.arange(keys.count))[1]
        for group, chain in enumerate(chains(counted)):
            assert chain == np.flatnonzero(of_key == group).tolist()
    assert not len(counted.changed())

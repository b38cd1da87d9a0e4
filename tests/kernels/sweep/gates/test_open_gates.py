"""What gates let pass, by keys that are known beforehand or searched."""

import numpy as np
import pytest

from cernis.kernels.sweep.gates.open_gates import open_masks


@pytest.mark.parametrize("seed", range(10))
def test_masks_of_points(seed: int) -> None:
    random = np.random.default_rng(seed)
    known = sorted({(int(k), int(t)) for k, t in random.integers(0, 9, (int(seed) * 4, 2))})
    keys, times = np.array(known, np.int64).reshape(-1, 2).T.copy()
    masks = random.integers(1, 2**60, len(known)).astype(np.uint64)
    points, moments = random.integers(0, 9, (2, 60))
    firsts = np.searchsorted(keys, np.arange(10))
    expected = dict(zip(known, masks.tolist(), strict=True))
    asked = zip(points.tolist(), moments.tolist(), strict=True)
    wanted = [expected.get(point, 0) for point in asked]
    for each in (firsts, np.empty(0, np.int64)):
        passed = np.zeros(60, np.uint64)
        open_masks(keys, times, masks, points, moments, each, passed)
        assert passed.tolist() == wanted

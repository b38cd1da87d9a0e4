"""Few changes are put together by what they are; many are left as they are."""

import numpy as np
import pytest

from cernis.evaluate.sweep import change_batches
from cernis.evaluate.sweep.change_batches import NO_TAGS, ChangeBatch, joined


def batch(key: int, mark: int) -> ChangeBatch:
    return ChangeBatch(np.array([key]), np.array([5]), np.ones(1, np.uint64), NO_TAGS, mark)


def test_few_changes_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [batch(1, 0), batch(2, 1), batch(3, 0)]
    assert [(each.keys.tolist(), each.mark) for each in joined(batches)] == [([1, 3], 0), ([2], 1)]
    monkeypatch.setattr(change_batches, "FEW", 2)
    assert joined(batches) is batches

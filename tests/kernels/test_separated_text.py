"""Lines and fields of a text, compiled and not."""

from random import Random

import numpy as np
import pytest

from cernis.kernels.separated_text import SeparatedText, separate


def lines_of(separated: SeparatedText) -> list[list[bytes]]:
    """The fields of each line."""
    widths = np.diff(separated.firsts).tolist()
    return [
        [separated.fields(np.array([line]), number).all_written()[0] for number in range(width)]
        for line, width in enumerate(widths)
    ]


def drawn(seed: int) -> bytes:
    chance = Random(seed)
    parts = [b"|", b"\n", b"a", b"bc", b"\r", b"\r\n", b"0123456789", b"\xff", b"\0", b"{", b"\v"]
    return b"".join(chance.choices(parts, k=chance.randrange(60))) + b"\n"


def expected(content: bytes) -> list[list[bytes]]:
    return [line.rstrip(b"\r").split(b"|") for line in content.split(b"\n")[:-1]]


def test_lines_and_fields() -> None:
    separated = separate(b"a|b\n\nlong line||x\r\nleft out")
    assert lines_of(separated) == [[b"a", b"b"], [b""], [b"long line", b"", b"x"]]
    assert separated.starts.tolist() == [0, 4, 5]


def test_an_empty_text_has_no_lines() -> None:
    assert separate(b"").size == 0


@pytest.mark.parametrize("seed", range(100))
def test_separators_are_found_as_by_the_twin(seed: int) -> None:
    print("seed", seed)
    content = drawn(seed)
    # A carriage return before a bar is part of its field.
    assert lines_of(separate(content)) == expected(content)


@pytest.mark.parametrize("seed", range(100))
def test_lines_are_grouped_as_by_the_twin(seed: int) -> None:
    print("seed", seed)
    content = drawn(seed)
    separated = separate(content)
    groups = np.random.default_rng(seed).integers(0, 1 + seed % 4, separated.size)
    grouped, order, bounds = separated.grouped(groups)
    assert order.tolist() == np.argsort(groups, kind="stable").tolist()
    assert bounds.tolist() == np.searchsorted(groups[order], range(len(bounds))).tolist()
    lines = expected(content)
    assert lines_of(grouped) == [lines[line] for line in order.tolist()]

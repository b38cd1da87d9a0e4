"""The state of buckets on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from cernis.errors import DataError
from cernis.spark.streaming.bucket_store import BucketStore, Checkpoint, Part


def shelf(folder: Path) -> BucketStore:
    return Checkpoint(folder).store(1, 3)


def content(own: BucketStore, version: int) -> dict[str, bytes]:
    return {name: bytes(part) for name, part in own.read(own.places(version)).items()}


def files(own: BucketStore) -> list[str]:
    return sorted(file.name for file in own._bucket_folder.iterdir())


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    own = shelf(tmp_path)
    places = own.write(0, {"seg0": Part(b"x" * 1000, True), "live": Part(b"one")}, {})
    kept = {"seg0": places["seg0"]}
    own.write(1, {"seg1": Part(b"y" * 10, True), "live": Part(b"two")}, kept)
    assert content(own, 1) == {"seg0": b"x" * 1000, "seg1": b"y" * 10, "live": b"two"}
    assert content(own, 0)["live"] == b"one"
    assert (own._bucket_folder / "000000000001.parts").stat().st_size == 10


def test_files_are_removed_when_nothing_needs_them(tmp_path: Path) -> None:
    own = shelf(tmp_path)
    zero = own.write(0, {"seg0": Part(b"x", True), "live": Part(b"0")}, {})
    one = own.write(1, {"live": Part(b"1")}, {"seg0": zero["seg0"]})
    two = own.write(2, {"live": Part(b"2")}, {"seg0": one["seg0"]})
    own.forget({1: one, 2: two})
    assert files(own) == ["000000000000.parts", "000000000001.state", "000000000002.state"]
    three = own.write(3, {"live": Part(b"3")}, {})
    own.forget({2: two, 3: three})
    assert "000000000000.parts" in files(own)
    four = own.write(4, {"live": Part(b"4")}, {})
    own.forget({3: three, 4: four})
    assert files(own) == ["000000000003.state", "000000000004.state"]


def test_a_version_is_written_again(tmp_path: Path) -> None:
    own = shelf(tmp_path)
    own.write(0, {"live": Part(b"first")}, {})
    own.write(0, {"live": Part(b"again"), "more": Part(b"", True)}, {})
    assert content(own, 0) == {"live": b"again", "more": b""}


@pytest.mark.parametrize("where", ["part", "head", "short", "gone", "other"])
def test_damage_names_the_bucket(tmp_path: Path, where: str) -> None:
    own = shelf(tmp_path)
    own.write(7, {"live": Part(b"precious")}, {})
    file = own._bucket_folder / "000000000007.state"
    whole = file.read_bytes()
    damaged = {
        "part": whole.replace(b"precious", b"prec1ous"),
        "head": whole.replace(b'"live"', b'"love"'),
        "short": whole[:-1],
        "other": b"something else",
        "gone": None,
    }[where]
    if damaged is None:
        file.unlink()
    else:
        file.write_bytes(damaged)
    with pytest.raises(DataError, match="state of bucket 3 of stage 1 cannot be used: .*state"):
        content(own, 7)


def test_a_format_of_the_future(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = shelf(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("cernis.spark.streaming.bucket_store.FORMAT", 99)
        own.write(0, {"live": Part(b"x")}, {})
    with pytest.raises(DataError, match="has format 99; this version reads format 1"):
        content(own, 0)


def test_a_checkpoint_is_of_one_stream(tmp_path: Path) -> None:
    own = Checkpoint(tmp_path / "c")
    assert own.claim({"program": "a", "buckets": 4})["buckets"] == 4
    assert own.claim({"program": "a", "buckets": None})["buckets"] == 4
    with pytest.raises(DataError, match="is of another stream: its program is a, not b"):
        own.claim({"program": "b", "buckets": None})
    own.claim({"program": "a", "facts": {}})
    with pytest.raises(DataError, match="another stream: the facts of age/2 were others"):
        own.claim({"program": "a", "facts": {"age/2": "c"}})
    (tmp_path / "c" / "stream.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        own.claim({"program": "a"})


def test_commits(tmp_path: Path) -> None:
    own = Checkpoint(tmp_path)
    assert own.last() == -1
    for number in range(103):
        own.commit(number, {"clock": number})
    assert own.last() == 102
    assert own.committed(102) == {"clock": 102}
    assert own.committed(1) is None

"""Files that appear in a folder: all are found, whatever their names and ages, and each once."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from cernis.errors import DataError
from cernis.spark.streaming import spool
from cernis.spark.streaming.file_source import Feeder
from cernis.spark.streaming.folder import (
    HIDDEN,
    NO_FILE,
    Bundles,
    Entry,
    FileLog,
    Listing,
    address,
    groups_of,
    path_of,
)  # fmt: skip
from tests.spark.test_mqtt import until

ODD = (
    "a#b.txt",
    "a?b.txt",
    "a b.txt",
    "a%20b.txt",
    "_a.txt",
    "ä.txt",
    "a\nb.txt",
    "a:b.txt",
    "a\\b",
)
"""Names that something or other does not like."""


def names(entries: list[Entry]) -> list[str]:
    return [os.path.basename(path_of(entry.address)) for entry in entries]


def put(folder: Path, name: str, age: float = 0.0) -> None:
    (folder / name).write_text("x\n")
    stamp = time.time() - age
    os.utime(folder / name, (stamp, stamp))


# -- the listing -----------------------------------------------------------------------------------


def test_names_and_ages_of_any_kind(tmp_path: Path) -> None:
    for number, name in enumerate(ODD):
        put(tmp_path, name, number * 1e8)
    (tmp_path / os.fsdecode(b"\xff.txt")).write_text("x\n")
    found = Listing(str(tmp_path)).new(set())
    assert names(found)[:-1] == list(reversed(ODD))
    assert all(entry.skipped is None for entry in found)
    assert all(entry.address.isascii() and entry.size == 2 for entry in found)
    assert all(Path(path_of(entry.address)).read_text() == "x\n" for entry in found)


def test_folders_below_links_and_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "_in" / "deep").mkdir(parents=True)
    put(tmp_path / "_in" / "deep", "a.txt")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "b.txt").symlink_to(tmp_path / "_in" / "deep" / "a.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.txt")
    found = Listing(str(tmp_path)).new(set())
    assert {name for name, own in zip(names(found), found, strict=True) if not own.skipped} == {
        "a.txt", "b.txt",
    }  # fmt: skip
    assert {(own.skipped) for own in found if own.skipped} == {NO_FILE}
    assert len(found) == 4


def test_what_is_not_finished_is_named(tmp_path: Path) -> None:
    (tmp_path / "_temporary").mkdir()
    (tmp_path / ".git").mkdir()
    for name in (".a.txt.x7", "_temporary/part", ".git/config", "b.txt._COPYING_", "c.txt"):
        put(tmp_path, name)
    found = {own.address: own.skipped for own in Listing(str(tmp_path)).new(set())}
    own = {os.path.basename(name): skipped for name, skipped in found.items()}
    assert own == {
        ".a.txt.x7": HIDDEN, "_temporary": HIDDEN, ".git": HIDDEN, "b.txt._COPYING_": HIDDEN,
        "c.txt": None,
    }  # fmt: skip


def test_patterns(tmp_path: Path) -> None:
    for name in ("a.txt", "b.csv", "c.json", "d.txt.gz"):
        put(tmp_path, name)
    assert names(Listing(str(tmp_path), "*.{txt,csv}").new(set())) == ["a.txt", "b.csv"]
    assert names(Listing(str(tmp_path), "[ac].*").new(set())) == ["a.txt", "c.json"]


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere cannot be listed: No such file"):
        Listing(str(tmp_path / "nowhere")).new(set())


@pytest.mark.parametrize("seed", range(3))
def test_each_is_found_once_whenever_it_comes(seed: int, tmp_path: Path) -> None:
    """Folders that look unchanged are not looked through, and nothing is missed by that."""
    print(f"seed {seed}")
    random = Random(seed)
    folders = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "c"]
    listing, known, all_names = Listing(str(tmp_path)), set[str](), []
    for round_ in range(60):
        for _ in range(random.randrange(3)):
            folder = random.choice(folders)
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{round_}-{random.random()}"
            put(folder, name, random.choice((0, 1e3, 1e8)))
            all_names.append(name)
            if random.random() < 0.5:
                # As if nothing had changed in this folder for long.
                os.utime(folder, (1e9 + round_ * 10, 1e9 + round_ * 10 + random.random()))
        found = listing.new(known)
        known |= {entry.address for entry in found}
        assert len(known) == len(all_names)
    assert sorted(names([Entry(each) for each in known])) == sorted(all_names)


# -- the log, and bundles --------------------------------------------------------------------------


def test_the_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "files")
    log.add([Entry(address("/in/a\nb"), None, 7), Entry("/in/.c", HIDDEN)], 5)
    log.close()
    with (tmp_path / "files" / "log").open("ab") as stream:
        stream.write(b"9 /in/unfini")
    again = FileLog(tmp_path / "files")
    assert (again.known, again.last) == ({"/in/a%0Ab", "/in/.c"}, 5)
    again.add([Entry("/in/.c"), Entry("/in/d")], 6)
    again.close()
    assert (tmp_path / "files" / "log").read_text() == "5 /in/a%0Ab\n5 /in/.c\n6 /in/d\n"


def test_one_stream_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_PATIENCE", 0.2)
    log = FileLog(tmp_path / "files")
    with pytest.raises(DataError, match="another stream goes on from"):
        FileLog(tmp_path / "files")
    log.close()


def feeder(tmp_path: Path, at_most: int | None = None) -> Feeder:
    (tmp_path / "in").mkdir(exist_ok=True)
    bundles = Bundles(tmp_path / "c" / "bundles", 2, at_most)
    return Feeder(Listing(str(tmp_path / "in")), tmp_path / "c", bundles)


def bundled(own: Feeder) -> list[str]:
    return names(list(own.bundles.entries()))


def test_what_is_found_is_in_one_bundle(tmp_path: Path) -> None:
    own = feeder(tmp_path)
    for number in range(5):
        put(tmp_path / "in", f"f{number}")
    own.look()
    own.look()
    assert sorted(bundled(own)) == [f"f{number}" for number in range(5)]
    assert len(list(own.bundles.folder.iterdir())) == 2
    own.stop()


def test_bundles_of_at_most_so_many_are_in_order(tmp_path: Path) -> None:
    own = feeder(tmp_path, 2)
    for number in range(5):
        put(tmp_path / "in", f"f{number}", 100 - number)
    own.look()
    put(tmp_path / "in", "older", 1e8)
    own.look()
    own.stop()
    files = sorted(own.bundles.folder.iterdir())
    files = sorted(files, key=lambda file: file.stat().st_mtime_ns)
    assert [file.name for file in files] == sorted(file.name for file in files)
    assert len(files) == 8
    lines = [file.read_text().split() for file in files]
    groups = [lines[at] + lines[at + 1] for at in range(0, 8, 2)]
    assert [sum("/in/" in each for each in group) for group in groups] == [2, 2, 1, 1]


@pytest.mark.parametrize("moment", ["before the log", "in the log", "in a bundle"])
def test_whenever_it_ends_nothing_is_lost_or_there_twice(moment: str, tmp_path: Path) -> None:
    own = feeder(tmp_path)
    put(tmp_path / "in", "a")
    put(tmp_path / "in", "b")
    own.look()
    own.stop()
    log, files = tmp_path / "c" / "log", sorted(own.bundles.folder.iterdir())
    if moment == "before the log":
        log.write_bytes(b"")
    elif moment == "in the log":
        log.write_bytes(log.read_bytes()[:-3])
    else:
        log.write_bytes(b"")
        files[0].replace(tmp_path / "c" / "unfinished" / files[0].name)
    again = feeder(tmp_path)
    again.look()
    assert sorted(bundled(again)) == ["a", "b"]
    again.stop()


def test_bundles_are_later_than_those_before_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark passes over what is older than what it has seen."""
    own = feeder(tmp_path)
    put(tmp_path / "in", "a")
    own.look()
    own.stop()
    (first,) = own.bundles.folder.iterdir()
    first.unlink()
    with monkeypatch.context() as patch:
        patch.setattr("cernis.spark.streaming.folder.time.time_ns", lambda: 10**18)
        put(tmp_path / "in", "b")
        again = feeder(tmp_path)
        again.look()
        again.stop()
    (second,) = again.bundles.folder.iterdir()
    assert second.name > first.name


def test_a_folder_or_a_log_that_cannot_be_used(tmp_path: Path) -> None:
    own = feeder(tmp_path)
    own.look()
    (tmp_path / "in").rmdir()
    troubles: list[bool] = []
    own.begin(lambda: True, lambda: troubles.append(True))
    until(lambda: bool(troubles))
    with pytest.raises(DataError, match="in cannot be listed: No such file"):
        own.see_trouble()
    own.stop()
    (tmp_path / "c" / "log").write_bytes(b"what?\n")
    with pytest.raises(DataError, match="cannot be kept"):
        feeder(tmp_path).look()


def test_groups_are_of_about_the_same_size() -> None:
    entries = [Entry(str(number), None, size << 20) for number, size in enumerate((9, 1, 8, 2, 4))]
    groups = groups_of(entries, 2)
    assert sorted(entry.address for group in groups for entry in group) == list("01234")
    assert max(sum(entry.size for entry in group) for group in groups) <= 13 << 20

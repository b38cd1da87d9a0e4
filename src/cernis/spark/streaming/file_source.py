"""A folder as the input of a stream: new files in it are listed for Spark in bundles."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cernis.errors import DataError
from cernis.spark.streaming.folder import Bundles, FileLog, Listing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EVERY: Final = 0.05
"""Seconds between two listings of a folder."""


@dataclass(frozen=True)
class FolderSource:
    """The files that appear in a folder, as `stream` takes them."""

    spark: SparkSession
    folder: Path
    pattern: str = "*"
    at_once: int | None = None

    def feeder(self, place: Path) -> Feeder:
        """A feeder for the folder, which keeps its log and bundles at a place in the checkpoint."""
        parts = self.spark.sparkContext.defaultParallelism
        bundles = Bundles(place / "bundles", parts, self.at_once)
        return Feeder(Listing(str(self.folder), self.pattern), place, bundles)

    def frame(self, feeder: Feeder) -> DataFrame:
        """The stream of lines that a feeder writes, one for each file."""
        reader = self.spark.readStream.format("text").option("cleanSource", "delete")
        if self.at_once is not None:
            reader = reader.option("maxFilesPerTrigger", feeder.bundles.parts)
        return reader.load(str(feeder.bundles.folder))


def files(
    spark: SparkSession, folder: str | Path, pattern: str = "*", at_once: int | None = None
) -> FolderSource:
    """The files that appear in a folder, or below it, of any format that a run can read.

    Each is read once, whatever its age and name; only what begins with a dot, or is in a folder
    `_temporary`, is skipped, named and counted. Files must appear as wholes (write them elsewhere
    and move them), and stay until they have been read. `at_once` is how many a micro-batch takes
    at most; the oldest come first.
    """
    source_folder = Path(folder).absolute()
    if not source_folder.is_dir():
        raise DataError(f"there is no folder {folder}")
    if at_once is not None and at_once < 1:
        raise DataError(f"at_once must be a positive whole number, not {at_once}")
    return FolderSource(spark, source_folder, pattern, at_once)


@dataclass
class Feeder:
    """Looks for new files and writes bundles of them for Spark, on call or in a thread."""

    listing: Listing
    place: Path
    bundles: Bundles
    _log: FileLog | None = None
    _guard: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _trouble: DataError | None = None

    def look(self) -> None:
        """Write bundles of all files that are new; a DataError if that cannot be done."""
        with self._guard:
            if not self._stopped.is_set():
                try:
                    self._look()
                except (OSError, ValueError) as error:
                    raise DataError(
                        f"the list of files in {self.place} cannot be kept: {error}. Restore the "
                        "checkpoint from a copy, or start with a new one"
                    ) from error

    def _look(self) -> None:
        if self._log is None:
            self._log = FileLog(self.place)
            self._log.add(self.bundles.entries(), 0)
            self.bundles.last = max(self.bundles.last, self._log.last)
        new = self.listing.new(self._log.known)
        if new:
            self.bundles.add(new)
            self._log.add(new, self.bundles.last)

    def begin(self, is_active: Callable[[], bool], on_trouble: Callable[[], None]) -> None:
        """Look again and again until the stream ends, the feeder is stopped, or looking fails."""
        threading.Thread(target=self._run, args=(is_active, on_trouble), daemon=True).start()

    def _run(self, is_active: Callable[[], bool], on_trouble: Callable[[], None]) -> None:
        while not self._stopped.wait(_EVERY):
            if not is_active():
                self.stop()
                return
            try:
                self.look()
            except DataError as error:
                self._trouble = error
                on_trouble()
                return

    def see_trouble(self) -> None:
        """Raise the error that has ended looking, if there is one."""
        if self._trouble is not None:
            raise self._trouble

    def stop(self) -> None:
        """Stop looking, and close the log so that another stream may use it."""
        self._stopped.set()
        with self._guard:
            if self._log is not None:
                self._log.close()
                self._log = None

"""The answers of tasks: blobs from which DataFrames are made, or files that tasks write themselves.

A task that is tried again writes the same files under the same names, so nothing is there twice.
"""

from __future__ import annotations

from pathlib import Path

from cernis.answers.relation_files import write_answer
from cernis.answers.selection import selected_answer
from cernis.evaluate.answer import Answer
from cernis.spark.exchange.batch_job import Job
from cernis.spark.exchange.exchange_rows import LAST, Kind, Row
from cernis.spark.exchange.packed_answers import packed_answer


def answer_row(answer: Answer, job: Job, bucket: int, step: int) -> Row:
    """The row of an answer: the answer itself, or the counts of what was written to files."""
    if job.folder is None:
        return Row(bucket, LAST, Kind.ANSWER, packed_answer(answer))
    if job.selected is not None:
        answer = selected_answer(answer, job.selected)
    counts = write_answer(answer, Path(job.folder), f"{bucket:05}-{step}", job.times)
    return Row(bucket, LAST, Kind.WRITTEN, counts)

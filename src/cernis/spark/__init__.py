"""Recognition on Apache Spark: the only layer that imports pyspark.

>>> from cernis.spark import recognise, stream
"""

from cernis.spark.batch.batch_run import recognise, recognise_uncertain
from cernis.spark.batch.recognised import Recognised, UncertainRecognised
from cernis.spark.batch.recogniser import recogniser
from cernis.spark.sinks import fold
from cernis.spark.streaming.file_source import files
from cernis.spark.streaming.stream_explanations import explain_stream
from cernis.spark.streaming.stream_query import Stream, stream

__all__ = [
    "Recognised",
    "Stream",
    "UncertainRecognised",
    "explain_stream",
    "files",
    "fold",
    "recognise",
    "recognise_uncertain",
    "recogniser",
    "stream",
]

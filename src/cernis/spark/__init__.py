"""Recognition on Apache Spark: the only layer that imports pyspark.

>>> from cernis.spark import recognise, stream
"""

from cernis.spark.batch import recognise
from cernis.spark.file_source import files
from cernis.spark.results import Recognised
from cernis.spark.sinks import fold
from cernis.spark.streaming import Stream, stream
from cernis.spark.uncertain import UncertainRecognised, recognise_uncertain

__all__ = [
    "Recognised",
    "Stream",
    "UncertainRecognised",
    "files",
    "fold",
    "recognise",
    "recognise_uncertain",
    "stream",
]

"""Recognition on Apache Spark: the only layer that imports pyspark.

>>> from cernis.spark import recognise
"""

from cernis.spark.batch import recognise
from cernis.spark.results import Recognised

__all__ = ["Recognised", "recognise"]

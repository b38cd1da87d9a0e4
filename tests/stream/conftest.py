"""The Spark session that the tests of streams use."""

from tests.spark.conftest import spark as spark

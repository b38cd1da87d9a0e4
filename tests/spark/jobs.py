"""Runs the pairs program on a session of some kind, in a process of its own; prints the answer.

python -m tests.spark.jobs cluster|connect EVENTS
"""

from __future__ import annotations

import os
import sys
import warnings

from tests.spark.keyed import PROGRAMS


def main(kind: str, events: str) -> None:
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    from cernis.spark import recognise
    from cernis.spark.spark_session import session

    if kind == "connect":
        spark = SparkSession.builder.remote("local[2]").getOrCreate()
    else:
        java = {"spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", "")}
        spark = session("local-cluster[2,1,2048]", {"spark.executor.memory": "1g", **java})
    lines = spark.read.text(events)
    fields = "transform(split(value, '[|]'), x -> x)"
    frame = lines.selectExpr(f"{fields} as f").selectExpr(
        "f[0] as name", "cast(f[1] as bigint) as arrival",
        "if(f[0] = 'near', null, cast(f[2] as bigint)) as occurrence",
        "if(f[0] = 'near', cast(f[2] as bigint), null) as start",
        "if(f[0] = 'near', cast(f[3] as bigint), null) as end",
        "if(f[0] = 'near', f[4], null) as value",
        "if(f[0] = 'near', slice(f, 6, 10), slice(f, 4, 10)) as args",
    )  # fmt: skip
    result = recognise(PROGRAMS["pairs"].rules, frame, partitions=3)
    sys.stdout.write(result.collect().text())
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The input of a batch job: DataFrames and files, splits, types, a survey before the run."""

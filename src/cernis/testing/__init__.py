"""Tests of rules: case files are read, run, judged and reported."""

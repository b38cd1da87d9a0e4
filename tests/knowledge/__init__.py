"""Tests of background knowledge."""

"""Syntax tree to checked program: names, types, safety, dependencies; or all that is wrong."""

from cernis.check.checker import Checked, check

__all__ = ["Checked", "check"]

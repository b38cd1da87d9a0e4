"""Checked program to logical plan: strata, operators, partition stages."""

from cernis.plan.builder import Plan, make_plan
from cernis.plan.plan_text import explain

__all__ = ["Plan", "explain", "make_plan"]

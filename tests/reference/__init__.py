"""A slow evaluator that reads like the definitions, to test the engine against.

It shares nothing with the engine but the syntax tree. `solve` is the resolution engine for
background knowledge; `records` reads input; `evaluate` runs a program, query by query, each
as `query` tells it: `overtime` for simple fluents and events, with `inertia` and `delays` for
their definitions, `static` for statically determined fluents. `patterns`, `uncertain` and
`credible` are evaluators of their own; `cases` runs the folders under `tests/cases` on all four.
"""

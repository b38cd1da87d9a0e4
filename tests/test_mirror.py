"""The tests mirror the source: folders are the same, and every module has tests.

A module has tests if one imports it by its name, if a file of tests is called after it, in the
folder of its name, or if it has examples that run as doctests. Others stand in a list, each with
the tests that reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_layers import PACKAGE, imported, module_name

TESTS = Path(__file__).parent

APART = {"agreement", "cases", "conformance", "fuzz", "generators", "mistakes", "reference"}
"""Folders about the whole, which have no folder of the source beside them."""

# Module: the tests that reach it, though none imports it by name.
REACHED: dict[str, str] = {
    "check.clause_parts": "check/test_lower.py",
    "check.dialect": "cases/rtec_*",
    "check.match_lengths": "cases/pattern_*",
    "check.pointrules": "check/test_lower.py",
    "check.predicates": "check/test_safety.py",
    "check.rewrites.clause_order": "cases/rtec_first_clause",
    "check.rewrites.constant_layers": "cases/dependencies_by_constants",
    "check.rewrites.free_variables": "cases/wildcard_*",
    "check.rewrites.grounded_heads": "cases/grounding_*",
    "check.rewrites.lifting": "cases/compound_* cases/lists*",
    "check.rewrites.mixed_kinds": "cases/values_of_both_kinds",
    "check.rewrites.open_values": "cases/rtec_unnamed_values cases/rtec_open_values_apart",
    "check.rewrites.pattern_recursion": "cases/pattern_recursion*",
    "check.rewrites.phrase_literals": "check/rewrites/test_phrase_rules.py",
    "check.rewrites.renaming": "cases/values_of_both_kinds",
    "check.rewrites.rewriting": "check/rewrites/test_phrase_rules.py",
    "check.rewrites.scopes": "cases/findall_* operators/test_collections.py",
    "check.rewrites.terminations": "cases/terminations_*",
    "check.rewrites.timers": "check/rewrites/test_phrase_rules.py cases/sugar_*",
    "cli.case_commands": "testing/test_case_sessions.py",
    "cli.compare_commands": "compare/test_program_diff.py",
    "cli.console": "cli/test_bad_input.py",
    "cli.formatting": "cli/test_fmt.py",
    "cli.graph_command": "cli/test_plan_and_graph.py report/test_graph_page.py",
    "cli.program_arguments": "cli/test_check.py",
    "cli.series_command": "answers/test_probability_series.py",
    "cli.uncertain_commands": "cli/test_run_command.py",
    "compare.definition_digests": "compare/test_program_diff.py",
    "compare.difference_report": "compare/test_program_diff.py",
    "compare.renamed_definitions": "compare/test_merged_programs.py",
    "compare.version_runs": "compare/test_program_diff.py",
    "evaluate.columns.affected": "evaluate/columns/test_cycle_rounds.py",
    "evaluate.columns.cycle_records": "evaluate/columns/test_time_walk.py",
    "evaluate.columns.from_scratch": "session/test_session.py cases/window_*",
    "evaluate.columns.pattern_history": "session/test_patterns.py",
    "evaluate.columns.snapshots": "evaluate/columns/test_cycle_rounds.py",
    "evaluate.columns.state": "cases/window_*",
    "evaluate.columns.strata": "test_walk.py cases/*",
    "evaluate.columns.window_carry": "cases/window_*",
    "evaluate.linked.linked_intake": "evaluate/linked/test_linked_walks.py",
    "evaluate.linked.linked_state": "evaluate/linked/test_linked_walks.py",
    "evaluate.population": "session/test_growing_domains.py cases/domains_*",
    "evaluate.probabilities.composites.delayed_courses": "agreement/test_uncertain_delays.py",
    "evaluate.probabilities.composites.occurrence_history": "agreement/test_uncertain_patterns.py",
    "evaluate.probabilities.composites.pattern_proofs": "agreement/test_uncertain_patterns.py",
    "evaluate.probabilities.credible.course_tracks": "session/test_uncertain_session.py",
    "evaluate.probabilities.courses": "agreement/test_uncertain_cases.py",
    "evaluate.probabilities.credible.credible_tables": "cases/credible_*",
    "evaluate.probabilities.credible.credible_tracks": "session/test_uncertain_session.py",
    "evaluate.probabilities.exact_carrying": "agreement/test_exact_probabilities.py",
    "evaluate.probabilities.proofs": "agreement/test_random_uncertain_programs.py",
    "evaluate.probabilities.tracked_probabilities": "session/test_uncertain_session.py",
    "evaluate.probabilities.uncertain_cycles": "agreement/test_random_uncertain_programs.py",
    "evaluate.probabilities.uncertain_edges": "agreement/test_random_uncertain_programs.py",
    "evaluate.probabilities.uncertain_events": "agreement/test_random_uncertain_programs.py",
    "evaluate.probabilities.uncertain_fluents": "agreement/test_random_uncertain_programs.py",
    "evaluate.probabilities.uncertain_records": "agreement/test_uncertain_cases.py",
    "evaluate.probabilities.uncertain_terminations": "agreement/test_random_uncertain_programs.py",
    "evaluate.probabilities.whole_probabilities": "agreement/test_uncertain_cases.py",
    "evaluate.recorded_input": "test_cases.py cases/window_*",
    "evaluate.sweep.bit_columns": "evaluate/sweep/test_sweep_then_columns.py",
    "evaluate.sweep.keyed_lane": "evaluate/sweep/test_sweep_then_columns.py",
    "evaluate.sweep.lane_intake": "evaluate/sweep/test_sweep_then_columns.py",
    "evaluate.sweep.lists.keyed_lists": "evaluate/sweep/test_sweep_then_columns.py",
    "evaluate.sweep.lists.source_rows": "evaluate/sweep/test_sweep_then_columns.py",
    "evaluate.sweep.sign_conditions": "evaluate/sweep/test_record_signs.py",
    "evaluate.sweep.sign_programs": "evaluate/sweep/test_record_signs.py",
    "evaluate.working_memory": "session/test_session.py",
    "explain.body_proofs": "explain/test_explaining.py",
    "explain.causes": "explain/test_explaining.py",
    "explain.misses": "explain/test_explaining.py",
    "geo.ais_messages": "geo/test_ais.py",
    "kernels.inertia.cycle_values": "kernels/inertia/test_unfold.py",
    "kernels.inertia.delayed_values": "kernels/inertia/test_delays.py",
    "kernels.inertia.due_heap": "kernels/inertia/test_unfold.py",
    "kernels.intervals.pair_operations": "kernels/intervals/test_list_operations.py",
    "kernels.sweep.lane_output": "fuzz/test_lanes.py",
    "kernels.sweep.lane_points": "fuzz/test_lanes.py",
    "kernels.sweep.lane_timers": "fuzz/test_lanes.py",
    "kernels.sweep.list_updates": "evaluate/sweep/lists/test_list_state.py",
    "kernels.sweep.lane_conflicts": "evaluate/sweep/test_sweep_then_columns.py",
    "kernels.sweep.past_points": "kernels/sweep/test_lane_arms.py fuzz/test_lanes.py",
    "kernels.sweep.lane_memo": "fuzz/test_lanes.py",
    "kernels.sweep.lane_revision": "fuzz/test_lanes.py",
    "kernels.sweep.lane_rows": "fuzz/test_lanes.py",
    "kernels.sweep.lane_walk": "fuzz/test_lanes.py",
    "kernels.shelf_rows": "tables/test_shelves.py",
    "knowledge.resolution.cells": "knowledge/resolution/test_resolution_engine.py",
    "knowledge.resolution.compiler": "knowledge/resolution/test_resolution_engine.py",
    "knowledge.resolution.goal_nodes": "knowledge/resolution/test_resolution_engine.py",
    "knowledge.rule_steps": "knowledge/test_materialise.py",
    "knowledge.rules": "knowledge/test_classify.py",
    "operators.comparison_programs": "evaluate/sweep/test_record_signs.py operators/test_fused.py",
    "operators.conditions": "agreement/test_random_programs.py cases/negation_*",
    "operators.context.coded_columns": "agreement/test_values_keep_their_form.py",
    "operators.context.fluent_points": "operators/definitions/test_postponing.py",
    "operators.context.lasting_results": "evaluate/test_workspace.py",
    "operators.context.query_caches": "operators/definitions/test_many_instances.py",
    "operators.context.query_relations": "test_walk.py",
    "operators.context.query_window": "test_walk.py",
    "operators.context.restriction": "spark/batch/test_slicing.py",
    "operators.context.value_encoding": "evaluate/test_workspace.py test_walk.py",
    "operators.definitions.change_points": "cases/delays_*",
    "operators.definitions.delayed_inertia": "cases/delays_*",
    "operators.definitions.effects": "cases/delays_*",
    "operators.definitions.fluent_heads": "cases/terminations_*",
    "operators.definitions.grounding": "cases/grounding_*",
    "operators.definitions.instance_keys": "operators/definitions/test_many_instances.py",
    "operators.definitions.marks": "test_walk.py",
    "operators.definitions.rule_heads": "agreement/test_random_programs.py",
    "operators.expressions": "operators/test_fused.py",
    "operators.intervals.bindings": "cases/static_*",
    "operators.intervals.gap_edges": "agreement/test_gaps.py cases/gap_*",
    "operators.intervals.interval_lists": "cases/static_*",
    "operators.intervals.static_fluents": "cases/static_*",
    "operators.occurrences": "operators/test_fused.py cases/start_*",
    "operators.patterns.derived_events": "operators/patterns/test_random_patterns.py",
    "operators.patterns.leftover_matches": "session/test_patterns.py",
    "operators.patterns.matches": "operators/patterns/test_random_patterns.py",
    "operators.patterns.pattern_operators": "operators/patterns/test_random_patterns.py",
    "operators.patterns.sliding_windows": "cases/pattern_length_window",
    "operators.patterns.totals": "cases/findall_facts",
    "operators.resolved_goals": "cases/collections_* cases/compound_values",
    "plan.pattern_plans": "plan/test_plan_text.py",
    "plan.pattern_steps": "plan/test_plan_text.py",
    "plan.pattern_words": "plan/test_plan_text.py",
    "plan.rule_planner": "plan/test_plan_text.py",
    "plan.rule_plans": "plan/test_plan_text.py",
    "records.encoded_input": "records/test_record_sources.py",
    "records.fields": "records/test_record_sources.py",
    "records.python_rows": "records/test_record_sources.py",
    "report.session_analysis": "cli/test_plan_and_graph.py",
    "session.replayed_session": "cli/test_run_command.py",
    "session.saved.column_shapes": "fuzz/test_saved_states.py",
    "session.saved.course_shapes": "session/test_uncertain_session.py",
    "session.saved.saved_delays": "agreement/test_uncertain_delays.py",
    "session.saved.saved_courses": "session/test_uncertain_session.py",
    "spark.batch.answer_rows": "spark/batch/test_batch_run.py",
    "spark.batch.single_task": "spark/batch/test_batch_run.py",
    "spark.batch.spark_pipeline": "spark/batch/test_batch_run.py",
    "spark.exchange.inbox": "spark/batch/test_batch_stage.py",
    "spark.exchange.ownership": "spark/batch/test_batch_stage.py",
    "spark.exchange.sending": "spark/streaming/test_local_stream.py",
    "spark.exchange.stage_output": "spark/batch/test_batch_stage.py",
    "spark.geo.geo_blobs": "spark/geo/test_positions.py",
    "spark.geo.geo_files": "spark/geo/test_positions.py",
    "spark.geo.geo_steps": "spark/geo/test_positions.py",
    "spark.input.event_frames": "spark/input/test_batch_input.py",
    "spark.input.partition_pipeline": "spark/input/test_partitioned_input.py",
    "spark.input.resolved_records": "spark/batch/test_batch_stage.py",
    "spark.streaming.stream_demands": "spark/streaming/test_local_stream.py",
    "spark.streaming.stream_session": "spark/streaming/test_local_stream.py",
    "syntax.faults": "syntax/test_recovery.py",
    "syntax.grammar": "syntax/test_parser.py",
    "syntax.pattern_parser": "syntax/test_parser.py",
    "testing.case_records": "testing/test_case_sessions.py testing/test_judging.py",
    "testing.case_runs": "testing/test_case_sessions.py testing/test_judging.py",
    "testing.pytest_items": "testing/test_pytest_plugin.py",
}


def modules() -> Iterator[tuple[str, Path]]:
    """The modules of the package by their names."""
    for path in PACKAGE.rglob("*.py"):
        if path.name not in ("__init__.py", "__main__.py"):
            yield module_name(path)[0], path


@cache
def imports_of_tests() -> frozenset[str]:
    """All that tests import, and the packages it is in."""
    found: set[str] = set()
    for path in TESTS.rglob("*.py"):
        module = ".".join(path.relative_to(TESTS.parent).with_suffix("").parts)
        for _, name in imported(path.read_text("utf-8"), module):
            parts = name.split(".")
            found |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return frozenset(found)


def untested() -> set[str]:
    """Modules that no test imports, that no file of tests is called after, without examples."""
    known = imports_of_tests()
    return {
        name.removeprefix("cernis.")
        for name, path in modules()
        if name not in known and not _has_file(path) and ">>> " not in path.read_text("utf-8")
    }


def _has_file(path: Path) -> bool:
    return (TESTS / path.relative_to(PACKAGE)).with_name(f"test_{path.name}").exists()


def test_every_module_has_tests() -> None:
    new = untested() - REACHED.keys()
    assert not new, f"write tests for {', '.join(sorted(new))}"


def test_the_list_has_nothing_that_has_tests_or_is_gone() -> None:
    old = REACHED.keys() - untested()
    assert not old, f"take out of the list: {', '.join(sorted(old))}"


def test_the_tests_in_the_list_are_there() -> None:
    named = {pattern for patterns in REACHED.values() for pattern in patterns.split()}
    gone = {pattern for pattern in named if not any(TESTS.glob(pattern))}
    assert not gone, f"there are no tests {', '.join(sorted(gone))}"


def test_folders_of_tests_are_folders_of_the_source() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    odd = {
        str(folder) for folder in folders
        if folder.parts and folder.parts[0] not in APART and not (PACKAGE / folder).is_dir()
    }  # fmt: skip
    assert odd == set()

"""Saves a session to a file and restores it, with the same rules or with others.

A file is first written under another name and then moved to its place, so that it is never there
in part.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Final

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.errors import DataError
from cernis.evaluate.probabilities.credible.durations import Durations
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import AnswerChanges, RelationChange
from cernis.operators.context.value_encoding import RelationDomains
from cernis.plan.builder import Plan
from cernis.session.feed import Feed
from cernis.session.saved.plain_trees import Layout, Tree, packed, sealed, unpacked
from cernis.session.saved.saved_shapes import FILE, check_state
from cernis.session.saved.saved_state import (
    FORMAT,
    ColumnReader,
    all_relations,
    content_of,
    counts_of,
    fill_memory,
    fill_policy,
    handover_of,
    migrated,
    resume,
    saved_tree,
    take_forms,
)
from cernis.session.saved.saved_values import relation_of
from cernis.session.saved.tree_shapes import check
from cernis.session.session import Session
from cernis.session.uncertain_session import UncertainSession
from cernis.tables.domains import Domain

LAYOUT: Final = Layout(b"cernis-session", FORMAT, "file of a session")


def save(session: Session, path: str | Path) -> None:
    """Write the state of a session to a file, in place of what was there."""
    content, _ = packed(sealed(tree_of(session)), LAYOUT)
    file = Path(path)
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise DataError(f"{file} cannot be written: {error.strerror or error}") from error


def tree_of(session: Session) -> Tree:
    """The content of a file: settings, digests of definitions, and the state of the session."""
    return {
        "settings": {
            "window": session.window, "step": session.step, "tick": session.tick,
            "ties": session.ties, "policy": session.policy.name,
            "incremental": session.incremental, "ids": session.ids,
            "future": session.future,
            "dated": session.dated,
            "epoch": session.epoch,
        },
        "version": session.version,
        "definitions": session.plan.definition_digests,
        "has_patterns": bool(session.plan.checked.definitions.patterns),
        "uncertain": asdict(session.chosen) if isinstance(session, UncertainSession) else None,
        "shown": sorted(map(str, session.reported_relations)),
        "session": saved_tree(session),
    }  # fmt: skip


def restore(plan: Plan, path: str | Path) -> Session:
    """The session of a file, which goes on where it was.

    With other rules, a definition keeps its state if neither it nor anything that it depends on has
    changed. All others are derived again from the records of the window, and `session.revision` has
    the changes. It is a DataError if a state would be lost that depends on forgotten records, or if
    the file cannot be used.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        format_read, tree = unpacked(content, LAYOUT)
        tree = content_of(format_read, tree)
        check(tree, FILE, "")
        return _restored(plan, {**tree, "session": migrated(format_read, tree["session"])})
    except DataError as error:
        raise DataError(f"{path} cannot be restored: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"{path} cannot be restored: it is damaged, or of another program "
            f"({type(error).__name__} {error}). Use a copy of it, or begin a new session"
        ) from error


def _restored(plan: Plan, tree: Tree) -> Session:
    session = _new_session(plan, tree)
    session.dated = tree["settings"].get("dated", False)
    session.epoch = tree["settings"].get("epoch", False)
    now = session.plan.definition_digests
    is_same = now == tree["definitions"]
    is_uncertain = isinstance(session, UncertainSession)
    check_state(tree["session"], session, is_uncertain, has_others=not is_same)
    if is_same:
        resume(session, tree["session"])
    else:
        _revise(session, tree, now)
    return session


def _new_session(plan: Plan, tree: Tree) -> Session:
    """A session with the settings of a file."""
    settings, likely = tree["settings"], tree.get("uncertain")
    common = (
        settings["window"],
        settings["step"],
        None,
        settings["tick"],
        settings["ties"],
        settings["policy"],
    )
    if likely is not None:
        durations = {name: Durations(**law) for name, law in likely["durations"].items()}
        named = None if likely["uncertain"] is None else tuple(likely["uncertain"])
        chosen = UncertainSettings(**{**likely, "durations": durations, "uncertain": named})
        return UncertainSession(
            plan, chosen, *common, ids=settings.get("ids"), future=settings.get("future")
        )
    return Session(
        plan, *common, settings["incremental"], settings.get("ids"), settings.get("future")
    )


# -- other rules -------------------------------------------------------------------------------


def _revise(session: Session, tree: Tree, now: dict[str, str]) -> None:
    """Let a session go on from the state of a session with other rules."""
    old, state = tree["definitions"], tree["session"]
    if not old.keys() & now.keys():
        raise DataError("it is of another program: no event and no fluent is in both")
    checked = session.plan.checked
    if checked.definitions.domains or state["population"]:
        raise DataError("the rules have changed, and they have domains that grow with the input")
    if checked.definitions.patterns or tree.get("has_patterns"):
        raise DataError("the rules have changed, and there are event patterns among them")
    take_forms(session, state)
    session.stop_walking()
    session.start, session.last = state["start"], state["last"]
    reader = ColumnReader.of(state, session.layout)
    fill_memory(session.memory, state["memory"], reader)
    session.memory.counts = counts_of(state["counts"])
    if state["standing"] is None:
        return
    relations = all_relations(session.layout)
    # Lists inside of rules have no digest; columns derive them again with their rules.
    known = {relation for relation in relations if str(relation) in now}
    kept = {relation for relation in known if old.get(str(relation)) == now[str(relation)]}
    derived_again = [
        tree for tree in state["standing"]["fluents"] + state["standing"]["events"]
        if relation_of(tree["relation"]) not in kept
    ]  # fmt: skip
    _refuse_loss(derived_again, session, relations)
    if isinstance(session, UncertainSession):
        _refuse_other_kinds(derived_again, session)
    fill_policy(session.policy, state["policy"], reader, relations)
    session.go_on(handover_of(state["standing"], reader, kept), False)
    if isinstance(session, UncertainSession) and state.get("more") is not None:
        _keep_probabilities(session, state["more"], reader, kept)
    session.evaluator.assume_reported(handover_of(state["standing"], reader, relations - kept))
    session.is_revised = True
    session.revision = _with_deletions(session.query(state["last"]), tree, reader, relations)
    session.is_revised = False


def _keep_probabilities(
    session: UncertainSession, tree: Tree, reader: ColumnReader, kept: set[Relation]
) -> None:
    """Go on from the courses and tracks of fluents whose rules are the same.

    While the window still reaches back to the start, all is derived again. Else what is derived
    again begins at the edge of the window, where it must not have been likely.
    """
    assert session.last is not None
    edge = session.edge(session.last)
    if edge == session.start:
        return
    from cernis.session.saved.saved_courses import likely_at

    lost = likely_at(tree, reader, all_relations(session.layout) - kept, edge + session.tick)
    if lost:
        named = ", ".join(map(str, lost))
        raise DataError(
            f"the rules have changed, and with them the meaning of {named}: they are likely at "
            f"{edge + session.tick} by records that are forgotten, and cannot be derived again. "
            "Begin a new session, or give what has changed a new name"
        )
    session.resume_extra_state(tree, reader, kept)


def _refuse_loss(trees: Iterable[Tree], session: Session, relations: set[Relation]) -> None:
    """Refuse to derive again what depends on forgotten records."""
    assert session.last is not None
    assert session.start is not None
    edge = session.edge(session.last)
    if edge == session.start:
        return
    lost = {}
    for tree in trees:
        relation = relation_of(tree["relation"])
        columns = tree["columns"]
        is_input = _is_input(relation, session)
        is_fluent = len(columns) == 3 or isinstance(session, UncertainSession)
        if relation in relations and is_fluent and not is_input:
            count = int(np.count_nonzero(columns[0]["rows"] < edge + session.tick))
            if count:
                lost[str(relation)] = count
    if lost:
        named = ", ".join(f"{name} ({count})" for name, count in sorted(lost.items()))
        raise DataError(
            f"the rules have changed, and with them the meaning of {named}: so many intervals of "
            f"theirs begin at {edge} or before, in records that are forgotten, and cannot be "
            "derived again. Begin a new session, or give what has changed a new name"
        )


def _refuse_other_kinds(trees: Iterable[Tree], session: UncertainSession) -> None:
    """Refuse fluents that had probabilities and have none by the new rules, or the reverse."""
    catalogue = session.plan.checked.catalogue.fluents
    uncertain = session.plan.uncertainties.of(session.uncertain).fluents
    for tree in trees:
        relation, width = relation_of(tree["relation"]), len(tree["columns"])
        if relation in catalogue and width > 2 and (width > 3) != (relation in uncertain):
            raise DataError(
                f"the rules have changed, and {relation} "
                + ("has a probability now" if width == 3 else "has no probability any more")
                + ". Begin a new session, or give what has changed a new name"
            )


def _is_input(relation: Relation, session: Session) -> bool:
    entry = session.plan.checked.catalogue.fluents.get(relation)
    return entry is not None and entry.kind is FluentKind.INPUT


def _with_deletions(feed: Feed, tree: Tree, reader: ColumnReader, relations: set[Relation]) -> Feed:
    """The feed, with deletions of all rows of relations that no longer exist."""
    state = tree["session"]
    early = tree["settings"]["policy"] == "early"
    former: dict[Relation, RelationDomains] = {}

    def taken_back(trees: Iterable[Tree]) -> AnswerChanges:
        changes = {}
        for each in trees:
            relation = relation_of(each["relation"])
            if relation not in relations and str(relation) in tree["shown"]:
                domains: list[Domain | None] = [Domain() for _ in each["arguments"]]
                former[relation] = domains, Domain()
                rows = reader.rows(each, (domains, [None, None, former[relation][1]]))
                changes[relation] = RelationChange(rows, rows.take(np.empty(0, np.int64)))
        return changes

    reported = state["standing"]["fluents"] if early else state["policy"]["reported"]
    feed.fluents = {**feed.fluents, **taken_back(reported)}
    feed.events = {**feed.events, **taken_back(state["standing"]["events"])}
    feed.encoding = ChainMap(former, feed.encoding)
    return feed

"""A session in a file, and back, under the same rules or others.

A file is written beside its place and moved there, so it is whole or not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from cernis.check.model import FluentKind, Relation
from cernis.errors import DataError
from cernis.evaluate.probabilities.durations import Durations
from cernis.evaluate.probabilities.uncertain_settings import UncertainSettings
from cernis.evaluate.query_loop import Change, Changed
from cernis.plan.builder import Plan
from cernis.plan.definition_diff import digests
from cernis.session.feed import Encoding, Feed
from cernis.session.saved.plain_trees import Layout, Tree, packed, sealed, unpacked
from cernis.session.saved.saved_shapes import FILE, check_state
from cernis.session.saved.saved_state import (
    FORMAT,
    Incoming,
    content_of,
    counts_of,
    fill_memory,
    fill_policy,
    left,
    migrated,
    relations,
    resume,
    standing_of,
    take_forms,
)
from cernis.session.saved.saved_values import relation_of
from cernis.session.saved.tree_shapes import check
from cernis.session.session import Session
from cernis.session.uncertain_session import UncertainSession
from cernis.tables.domains import Domain

LAYOUT: Final = Layout(b"cernis-session", FORMAT, "file of a session")


def save(session: Session, path: str | Path) -> None:
    """Write all that a session knows to a file, in place of what was there."""
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
    """What a file holds: settings, definitions by digest, and all that the session knows."""
    return {
        "settings": {
            "window": session.window, "step": session.step, "tick": session.tick,
            "ties": session.ties, "policy": session.policy.name,
            "incremental": session.incremental, "ids": session.ids,
            "future": session.future,
        },
        "version": session.version,
        "definitions": digests(session.plan.checked),
        "has_patterns": bool(session.plan.checked.definitions.patterns),
        "uncertain": asdict(session.chosen) if isinstance(session, UncertainSession) else None,
        "shown": sorted(map(str, session.shown)),
        "session": left(session),
    }  # fmt: skip


def restore(plan: Plan, path: str | Path) -> Session:
    """The session of a file, which goes on where it was.

    Under other rules, a definition that has not changed, and that depends on no changed one, keeps
    its state; the rest is derived again from the records of the window, and `session.revision` has
    what that changes. It is a DataError if a state would be lost that depends on forgotten records,
    or if the file cannot be used.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        found, tree = unpacked(content, LAYOUT)
        tree = content_of(found, tree)
        check(tree, FILE, "")
        return _restored(plan, {**tree, "session": migrated(found, tree["session"])})
    except DataError as error:
        raise DataError(f"{path} cannot be restored: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise DataError(
            f"{path} cannot be restored: it is damaged, or of another program "
            f"({type(error).__name__} {error}). Use a copy of it, or begin a new session"
        ) from error


def _restored(plan: Plan, tree: Tree) -> Session:
    session = _begun(plan, tree)
    now = digests(plan.checked)
    is_same = now == tree["definitions"]
    is_uncertain = isinstance(session, UncertainSession)
    check_state(tree["session"], session, is_uncertain, has_others=not is_same)
    if is_same:
        resume(session, tree["session"])
    else:
        _revise(session, tree, now)
    return session


def _begun(plan: Plan, tree: Tree) -> Session:
    """A session with the settings of a file."""
    told, likely = tree["settings"], tree.get("uncertain")
    where = told["window"], told["step"], None, told["tick"], told["ties"], told["policy"]
    if likely is not None:
        durations = {name: Durations(**own) for name, own in likely["durations"].items()}
        named = None if likely["uncertain"] is None else tuple(likely["uncertain"])
        chosen = UncertainSettings(**{**likely, "durations": durations, "uncertain": named})
        return UncertainSession(plan, chosen, *where)
    return Session(plan, *where, told["incremental"], told.get("ids"), told.get("future"))


# -- other rules -------------------------------------------------------------------------------


def _revise(session: Session, tree: Tree, now: dict[str, str]) -> None:
    """Let a session go on from one of other rules."""
    old, own = tree["definitions"], tree["session"]
    if not old.keys() & now.keys():
        raise DataError("it is of another program: no event and no fluent is in both")
    checked = session.plan.checked
    if checked.definitions.domains or own["population"]:
        raise DataError("the rules have changed, and they have domains that grow with the input")
    if isinstance(session, UncertainSession):
        raise DataError("the rules have changed, and the session is over uncertain records")
    if checked.definitions.patterns or tree.get("has_patterns"):
        raise DataError("the rules have changed, and there are event patterns among them")
    take_forms(session, own)
    session.start, session.last = own["start"], own["last"]
    given = Incoming.of(own, session.spaces)
    fill_memory(session.memory, own["memory"], given)
    session.memory.counts = counts_of(own["counts"])
    if own["standing"] is None:
        return
    known = relations(session.spaces)
    kept = {relation for relation in known if old.get(str(relation)) == now[str(relation)]}
    told = [
        tree for tree in own["standing"]["fluents"] + own["standing"]["events"]
        if relation_of(tree["relation"]) not in kept
    ]  # fmt: skip
    _see_nothing_lost(told, session, known)
    fill_policy(session.policy, own["policy"], given, known)
    session.go_on(standing_of(own["standing"], given, kept), False)
    session.evaluator.assume_reported(standing_of(own["standing"], given, known - kept))
    session.revision = _without(session.query(own["last"]), tree, given, known)
    session.go_on(session.handed_over(), bool(own["incremental"]) and session.may_be_incremental)


def _see_nothing_lost(told: Iterable[Tree], session: Session, known: set[Relation]) -> None:
    """Refuse to derive again what depends on forgotten records."""
    assert session.last is not None
    assert session.start is not None
    edge = session.edge(session.last)
    if edge == session.start:
        return
    lost = {}
    for tree in told:
        relation = relation_of(tree["relation"])
        columns = tree["columns"]
        is_input = _is_input(relation, session)
        if relation in known and len(columns) == 3 and not is_input:
            begun = int(np.count_nonzero(columns[0]["rows"] < edge + session.tick))
            if begun:
                lost[str(relation)] = begun
    if lost:
        named = ", ".join(f"{name} ({count})" for name, count in sorted(lost.items()))
        raise DataError(
            f"the rules have changed, and with them the meaning of {named}: so many intervals of "
            f"theirs begin at {edge} or before, in records that are forgotten, and cannot be found "
            "anew. Begin a new session, or give what has changed a new name"
        )


def _is_input(relation: Relation, session: Session) -> bool:
    entry = session.plan.checked.catalogue.fluents.get(relation)
    return entry is not None and entry.kind is FluentKind.INPUT


def _without(feed: Feed, tree: Tree, given: Incoming, known: set[Relation]) -> Feed:
    """The feed, with all taken back that was reported of relations that no longer exist."""
    own = tree["session"]
    early = tree["settings"]["policy"] == "early"
    former: dict[Relation, tuple[list[Domain | None], Domain | None]] = {}

    def taken_back(trees: Iterable[Tree]) -> Changed:
        found = {}
        for each in trees:
            relation = relation_of(each["relation"])
            if relation not in known and str(relation) in tree["shown"]:
                domains: list[Domain | None] = [Domain() for _ in each["arguments"]]
                former[relation] = domains, Domain()
                rows = given.rows(each, (domains, [None, None, former[relation][1]]))
                found[relation] = Change(rows, rows.take(np.empty(0, np.int64)))
        return found

    told = own["standing"]["fluents"] if early else own["policy"]["reported"]
    feed.fluents = {**feed.fluents, **taken_back(told)}
    feed.events = {**feed.events, **taken_back(own["standing"]["events"])}
    feed.encoding = partial(_encoding, former, feed.encoding)
    return feed


def _encoding(
    former: dict[Relation, tuple[list[Domain | None], Domain | None]], others: Encoding,
    relation: Relation,
) -> tuple[list[Domain | None], Domain | None]:  # fmt: skip
    return former[relation] if relation in former else others(relation)

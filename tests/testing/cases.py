"""Runs texts of cases over one small program."""

import atexit
import shutil
import tempfile
from pathlib import Path

from cernis.testing.case_files import case_file
from cernis.testing.case_sessions import CaseOutcome, CaseSession

RULES = """
initiatedAt(level(B)=critical, T) :-
    happensAt(hr(B, Rate), T), Rate > 120, not holdsAt(muted(B)=true, T).
terminatedAt(level(B)=critical, T) :- happensAt(hr(B, Rate), T), Rate < 100.
initiatedAt(muted(B)=true, T)  :- happensAt(mute(B), T).
terminatedAt(muted(B)=true, T) :- happensAt(unmute(B), T).
happensAt(alarm(B), T) :- happensAt(start(level(B)=critical), T).
visit(B) <- mute(B) seq unmute(B).
initiatedAt(watched(B)=W, T) :- happensAt(hr(B, _), T), holdsAt(ward(B)=W, T).
"""

SESSION = CaseSession()
FOLDER = Path(tempfile.mkdtemp(prefix="cernis-cases-"))
"""One folder for all, so that the program is loaded once."""
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)


def outcome_of(text: str) -> CaseOutcome:
    """The outcome of the first case of a text."""
    rules = FOLDER / "ward.cer"
    if not rules.exists():
        rules.write_text(RULES, "utf-8")
    file = case_file(text, FOLDER / "ward.certest")
    return SESSION.outcome(file, file.cases[0])

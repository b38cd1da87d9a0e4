"""cernis recognises composite events: it tells when what your rules speak of held.

>>> import cernis
>>> program = cernis.load('''
... initiatedAt(rich(X)=true, T) :- happensAt(win_lottery(X), T).
... terminatedAt(rich(X)=true, T) :- happensAt(lose_wallet(X), T).
... ''')
>>> [str(relation) for relation in program.fluents]
['rich/1']
>>> result = program.run([("win_lottery", 13, 13, "kim"), ("lose_wallet", 19, 19, "kim")])
>>> result
<Result: 1 intervals of 1 fluents, 0 happenings of 0 events>
>>> result.fluent("rich").to_pylist()
[{'x': 'kim', 'value': 'true', 'start': 14, 'end': 20, 'open': False}]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cernis.errors import CernisError, InputWarning, ProgramError, ProgramWarning
    from cernis.knowledge.user_functions import column_function
    from cernis.program import Program, load
    from cernis.tables.allocation import keep_freed_memory

__all__ = [
    "CernisError", "InputWarning", "Program", "ProgramError", "ProgramWarning", "column_function",
    "keep_freed_memory", "load",
]  # fmt: skip
__version__ = "0.1.0"

_HOMES = {
    "CernisError": "cernis.errors",
    "InputWarning": "cernis.errors",
    "Program": "cernis.program",
    "ProgramError": "cernis.errors",
    "ProgramWarning": "cernis.errors",
    "column_function": "cernis.knowledge.user_functions",
    "keep_freed_memory": "cernis.tables.allocation",
    "load": "cernis.program",
}


def __getattr__(name: str) -> Any:
    # Names are imported when they are first used, so that importing cernis costs next to nothing.
    if name not in _HOMES:
        raise AttributeError(f"module 'cernis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

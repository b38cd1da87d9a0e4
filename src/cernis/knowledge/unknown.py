"""What to say of a predicate that nothing defines."""

from __future__ import annotations

from collections.abc import Iterable

from cernis.knowledge.ground_values import Key, label
from cernis.knowledge.resolution.builtins import BUILTINS, CHANGES_THE_PROGRAM, SPEAKS


def unknown(key: Key, known: Iterable[Key]) -> str:
    """Why a predicate cannot be answered, with the names that come near it.

    >>> unknown(("linkd", 2), [("linked", 2), ("port", 1)])
    'is not defined; did you mean linked/2?'
    >>> unknown(("linked", 3), [("linked", 2)])
    'is not defined; there is linked/2'
    """
    name, arity = key
    if name in CHANGES_THE_PROGRAM or name in SPEAKS:
        return "; ".join(refusal(name))
    everything = {*known, *BUILTINS}
    arities = sorted(each for each in everything if each[0] == name)
    if arities:
        return f"is not defined; there is {_listed(arities)}"
    near = _near(name, arity, everything)
    hint = f"did you mean {_listed(near)}?" if near else "define it, or give it as a table"
    return f"is not defined; {hint}"


def refusal(name: str) -> tuple[str, ...]:
    """Why a predicate of other systems is refused, and what to do; nothing for other names.

    >>> refusal("write")
    ('acts on the outside, which a rule may not', 'take it out of the rule')
    """
    if name in CHANGES_THE_PROGRAM:
        return (
            "changes the program, which a rule may not",
            "give changing knowledge as a table, with :- valid",
        )
    if name in SPEAKS:
        return "acts on the outside, which a rule may not", "take it out of the rule"
    return ()


def _near(name: str, arity: int, known: Iterable[Key]) -> list[Key]:
    from difflib import get_close_matches

    names: dict[str, list[Key]] = {}
    for key in sorted(known):
        names.setdefault(key[0], []).append(key)
    close = get_close_matches(name, names, n=3, cutoff=0.7)
    keys = [key for each in close for key in names[each]]
    return [key for key in keys if key[1] == arity] or keys


def _listed(keys: list[Key]) -> str:
    return " or ".join(map(label, keys[:3]))

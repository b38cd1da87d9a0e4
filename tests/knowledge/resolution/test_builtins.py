from cernis.knowledge import BUILTINS, BuiltinKind, builtin
from cernis.knowledge.resolution.gather import COLLECTIONS
from cernis.knowledge.resolution.library import ANSWERS, TESTS
from cernis.knowledge.resolution.prelude import PRELUDE, prelude
from cernis.knowledge.resolution.prolog_arithmetic import COMPARISONS

CONTROL = {key for key, known in BUILTINS.items() if known.kind is BuiltinKind.CONTROL}
SIMPLE = {("=", 2), ("is", 2)}


def test_what_is_listed_is_there_and_what_is_there_is_listed() -> None:
    comparisons = {(name, 2) for name in COMPARISONS}
    there = comparisons | COLLECTIONS.keys() | ANSWERS.keys() | TESTS.keys() | PRELUDE | SIMPLE
    assert there | CONTROL == set(BUILTINS)
    assert not there & CONTROL


def test_the_prelude_defines_what_it_says() -> None:
    assert set(prelude()) == PRELUDE
    assert all(BUILTINS[key].library for key in PRELUDE)


def test_positions_are_arguments() -> None:
    for (_, arity), known in BUILTINS.items():
        for mode in known.modes:
            assert not {*mode.needs} & {*mode.binds}
            assert all(at < arity for at in (*mode.needs, *mode.binds, *known.goals))


def test_conjunctions_take_any_number_of_goals() -> None:
    assert builtin(",", 5) == builtin(",", 2)
    assert builtin(";", 3) is not None
    assert builtin(",", 1) is None
    assert builtin("nowhere", 2) is None


def test_modes() -> None:
    less, unify, found = builtin("<", 2), builtin("=", 2), builtin("findall", 3)
    assert less is not None
    assert unify is not None
    assert found is not None
    assert less.modes[0].needs == (0, 1)
    assert [(mode.needs, mode.binds) for mode in unify.modes] == [((0,), (1,)), ((1,), (0,))]
    assert found.modes[0].binds == (2,)
    assert found.goals == (1,)

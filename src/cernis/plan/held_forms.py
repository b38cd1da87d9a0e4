"""How the values of each class of arguments are held: as numbers of one form, or as codes.

This is the one place where it is decided. A class that rules compare or compute with is held as an
array of numbers as long as all its values are whole numbers, or all are floats, whether they come
from input, from facts, from the text of rules, or are computed. Any other class is held as codes of
its domain, and so is one whose values identify instances. Forms are only ever added: what is held
as codes stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping

from cernis.check.types import Slot, Types
from cernis.check.value_forms import Flow, ValueForm, form_of_expression
from cernis.plan.logical import Stage
from cernis.syntax.tree import variables

ARRAYS = (ValueForm.NOTHING, ValueForm.INTEGER, ValueForm.FLOAT)
"""The forms of classes that may be held as arrays of numbers."""


class Forms:
    """The forms that the values of each class have by now."""

    def __init__(self, types: Types, stages: Iterable[Stage] = ()) -> None:
        self._types = types
        self._numeric = _numeric_classes(types) - _key_classes(types, stages)
        self._sources = {types.find(slot) for slot in types.slots()}
        self._sources |= {types.find(flow.target) for flow in types.flows}
        self._forms = types.forms()
        self._sources |= self._forms.keys()
        self._input: dict[Slot, ValueForm] = {}
        self._readers = _readers(types)
        self._arrays: frozenset[Hashable] | None = None
        self._numeric_slots: dict[Hashable, list[tuple[int, Slot]]] = {}
        self._spread()

    def copy(self) -> Forms:
        """The forms as they are now."""
        other = Forms.__new__(Forms)
        other._types, other._numeric, other._sources = self._types, self._numeric, self._sources
        other._forms, other._input = dict(self._forms), dict(self._input)
        other._readers = self._readers
        other._arrays, other._numeric_slots = self._arrays, self._numeric_slots
        return other

    def see(self, slots: Mapping[Slot, ValueForm]) -> None:
        """Take note of the forms of input."""
        is_new = False
        for slot, form in slots.items():
            known = self._input.get(slot)
            if known is not form and (known is None or form & ~known):
                self._input[slot] = form if known is None else known | form
                is_new |= self._add(slot, form)
        if is_new:
            self._spread()

    def of(self, slot: Hashable) -> ValueForm:
        """The forms that the values of a slot's class have."""
        return self._forms.get(self._types.find(slot), ValueForm.NOTHING)

    def is_numeric(self, slot: Slot) -> bool:
        """May the class of a slot be held as an array of numbers?"""
        return self._types.find(slot) in self._numeric

    def numeric_slots(
        self, name: Hashable, slots: Callable[[], Iterable[Slot]]
    ) -> list[tuple[int, Slot]]:
        """Of slots with one name, those that may be held as arrays of numbers, and their places."""
        if name not in self._numeric_slots:
            numbered = enumerate(slots())
            self._numeric_slots[name] = [each for each in numbered if self.is_numeric(each[1])]
        return self._numeric_slots[name]

    def arrays(self) -> frozenset[Hashable]:
        """The classes that are held as arrays of numbers."""
        if self._arrays is None:
            known = (each for each in self._numeric if self.of(each) in ARRAYS)
            self._arrays = frozenset(known)
        return self._arrays

    def input(self) -> Mapping[Slot, ValueForm]:
        """The forms of what has come as input, by slot."""
        return self._input

    def _add(self, node: Hashable, form: ValueForm) -> bool:
        leader = self._types.find(node)
        before = self._forms.get(leader, ValueForm.NOTHING)
        self._forms[leader] = before | form
        if form & ~before:
            self._arrays = None
        return bool(form & ~before)

    def _spread(self) -> None:
        """Follow expressions from the forms of their variables to what they give values to."""
        waiting = dict.fromkeys(range(len(self._types.flows)))
        while waiting:
            place, _ = waiting.popitem()
            flow = self._types.flows[place]
            if self._add(flow.target, self._result(flow)):
                waiting.update(dict.fromkeys(self._readers.get(self._types.find(flow.target), ())))

    def _result(self, flow: Flow) -> ValueForm:
        def of_variable(name: str) -> ValueForm:
            leader = self._types.find((flow.scope, name))
            # What nothing is known of, a time-point for one, may be anything.
            return self.of(leader) if leader in self._sources else ValueForm.ANY

        return form_of_expression(flow.expression, of_variable)


def _readers(types: Types) -> dict[Hashable, list[int]]:
    """For each class, the flows whose expressions read a variable of it, by their places."""
    readers: dict[Hashable, list[int]] = {}
    for place, flow in enumerate(types.flows):
        for name in {variable.name for variable in variables(flow.expression)}:
            readers.setdefault(types.find((flow.scope, name)), []).append(place)
    return readers


def _numeric_classes(types: Types) -> frozenset[Hashable]:
    return frozenset(types.find(slot) for slot in types.slots() if types.is_numeric(*slot))


def _key_classes(types: Types, stages: Iterable[Stage]) -> frozenset[Hashable]:
    """The classes of arguments that stages have for keys."""
    known = set(types.slots())
    keys = [
        (relation, position) for stage in stages for relation, own in stage.keys for position in own
    ]
    slots: list[Slot] = [(kind, *key) for key in keys for kind in ("event", "fluent")]
    return frozenset(types.find(slot) for slot in slots if slot in known)

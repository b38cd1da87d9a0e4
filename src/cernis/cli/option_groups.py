"""Groups of options: a command takes its options as one object, and commands share groups.

Typer reads the options of a command from the parameters of a function. Here they are the fields of
a dataclass instead. A field whose type is a dataclass again stands for a group: its fields are
options of the command, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

Options = TypeVar("Options")


def takes(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Turn a function of an object with options into one that Typer makes a command of."""
    parameters = list(_parameters(options))

    def made(function: Callable[[Options], None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            function(_filled(options, values))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = {each.name: each.annotation for each in parameters}
        command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return command

    return made


def _parameters(options: type[Any]) -> Iterator[Parameter]:
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        if is_dataclass(hints[field.name]):
            yield from _parameters(hints[field.name])
        else:
            yield Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=_default(field),
                annotation=hints[field.name],
            )


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return Parameter.empty if field.default is MISSING else field.default


def _filled(options: type[Options], values: dict[str, Any]) -> Options:
    hints = get_type_hints(options, include_extras=True)
    contents = {
        field.name: _filled(hints[field.name], values)
        if is_dataclass(hints[field.name])
        else values[field.name]
        for field in fields(options)  # type: ignore[arg-type]
    }
    return options(**contents)

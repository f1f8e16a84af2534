"""Which lines of the machine were executed: by a proof, or by the histories of a campaign.

A rule that no path of any obligation reaches is not proved, whatever the table says; one that no history reaches was
not tried on any server. So each records the lines of the machine that it executes, and what is left over is listed.
"""

import dis
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias, TypeVar

from attrs import frozen

import reattach.machine

T = TypeVar("T")

Line: TypeAlias = tuple[str, int]
"""The name of a module of the machine, and a line of it."""

_MACHINE = Path(reattach.machine.__path__[0])


def recorded(function: Callable[[], T], lines: set[Line]) -> T:
    """The function's result; each line of the machine that it executes is added to ``lines``."""

    def called(frame: FrameType, _: str, __: Any) -> "Callable[[FrameType, str, Any], Any] | None":
        """Follow the functions of the machine, and no others."""
        module = _module_of(frame.f_code.co_filename)
        if not module or lines.issuperset(_lines_in(module, frame.f_code)):
            return None

        def followed(frame: FrameType, event: str, _: Any) -> "Callable[[FrameType, str, Any], Any]":
            if event == "line":
                lines.add((module, frame.f_lineno))
            return followed

        return followed

    before = sys.gettrace()
    sys.settrace(called)
    try:
        return function()
    finally:
        sys.settrace(before)


@cache
def _lines_in(module: str, code: CodeType) -> frozenset[Line]:
    return frozenset((module, line) for line in _lines(code))


@cache
def _module_of(file: str) -> str:
    """The module of the machine that a file is; empty for any other file."""
    path = Path(file)
    return path.stem if path.parent == _MACHINE else ""


@frozen
class Function:
    """A function of the machine, with its lines that can be executed."""

    module: str
    name: str
    lines: frozenset[int]


def functions(module: str) -> Iterator[Function]:
    """The functions of a module of the machine, from its source."""
    source = _MACHINE / f"{module}.py"
    yield from _functions(module, "", compile(source.read_text(encoding="utf-8"), str(source), "exec"))


def left_over(module: str, executed: Iterable[Line]) -> Iterator[tuple[Function, tuple[int, ...]]]:
    """The functions of a module of which something was not executed, each with the lines."""
    done = {line for name, line in executed if name == module}
    for function in functions(module):
        rest = tuple(sorted(function.lines - done))
        if rest:
            yield function, rest


def _functions(module: str, around: str, code: CodeType) -> Iterator[Function]:
    for constant in code.co_consts:
        if not isinstance(constant, CodeType):
            continue
        name = f"{around}{constant.co_name}"
        if constant.co_flags & 0x1:  # CO_OPTIMIZED: the body of a function, not of a class
            yield Function(module, name, frozenset(_lines(constant)))
        yield from _functions(module, f"{name}.", constant)


def _lines(code: CodeType) -> set[int]:
    return {line for _, line in dis.findlinestarts(code) if line is not None and line != code.co_firstlineno}

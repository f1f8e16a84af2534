"""Which lines of the machine a proof has executed.

A rule that no path of any obligation reaches is not proved, whatever the table says. So the prover can record each line
of the machine that it executes, and what is left over is listed (``reattach_proofs.ledger``).
"""

import dis
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias, TypeVar

import reattach.machine

T = TypeVar("T")

Line: TypeAlias = tuple[str, int]
"""The name of a module of the machine, and a line of it."""

_MACHINE = str(Path(reattach.machine.__path__[0]))


def recorded(function: Callable[[], T], lines: set[Line]) -> Callable[[], T]:
    """The function, made to add each line of the machine that it executes to ``lines``."""

    def local(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            lines.add((_module(frame.f_code.co_filename), frame.f_lineno))
        return local

    def enter(frame: FrameType, event: str, _: object) -> Any:
        return local if _module(frame.f_code.co_filename) else None

    def run() -> T:
        before = sys.gettrace()
        sys.settrace(enter)
        try:
            return function()
        finally:
            sys.settrace(before)

    return run


def lines_of(module: str) -> frozenset[Line]:
    """Every line of a module of the machine that can be executed inside of a function."""
    source = Path(_MACHINE, f"{module}.py")
    code = compile(source.read_text(encoding="utf-8"), str(source), "exec")
    return frozenset((module, line) for function in _functions(code) for line in _lines(function))


def _functions(code: CodeType, inside: bool = False) -> list[CodeType]:
    found = [code] if inside else []
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            # The body of a class is executed when the module is imported; its methods are what counts.
            found += _functions(constant, inside or bool(constant.co_flags & 0x2))  # CO_NEWLOCALS: a function
    return found


def _lines(code: CodeType) -> set[int]:
    return {line for _, line in dis.findlinestarts(code) if line is not None and line != code.co_firstlineno}


@cache
def _module(filename: str) -> str:
    """The name of the machine's module that a file is; empty if it is none."""
    path = Path(filename)
    return path.stem if str(path.parent) == _MACHINE else ""

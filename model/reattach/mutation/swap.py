"""Changing a function for a while, so that everybody who calls it calls the changed one.

A function is compiled again from its own source with a change in it, and its code object is exchanged: its name, its
globals and its identity stay, so all who imported it see the change, and all see it undone.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from types import CodeType, FunctionType


class NoSuchFunctionError(Exception):
    """There is no function of this name."""


class DoesNotFitError(Exception):
    """A change's text does not occur exactly once in its function: the code has changed under it."""


def function_at(name: str) -> FunctionType:
    """The function that a dotted name names. Raises NoSuchFunctionError."""
    try:
        found = resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise NoSuchFunctionError(f"there is no function {name}") from error
    if not isinstance(found, FunctionType):
        raise NoSuchFunctionError(f"{name} is not a function")
    return found


def source_of(function: FunctionType) -> str:
    """The source of a function, without its indentation."""
    return textwrap.dedent(inspect.getsource(function))


def compiled(function: FunctionType, tree: ast.Module) -> CodeType:
    """The code of a changed function: ``tree`` is its parsed source, changed. Its lines keep their numbers."""
    original = function.__code__
    ast.increment_lineno(tree, original.co_firstlineno - 1)
    module = compile(tree, original.co_filename, "exec")
    (code,) = (part for part in module.co_consts if isinstance(part, CodeType) and part.co_name == original.co_name)
    return code.replace(co_qualname=original.co_qualname)


def edited(function: FunctionType, *changes: tuple[str, str]) -> CodeType:
    """The code of a function with pieces of its source replaced, one after the other. Raises DoesNotFitError."""
    source = source_of(function)
    for old, new in changes:
        if source.count(old) != 1:
            raise DoesNotFitError(f"{old!r} occurs {source.count(old)} times in {function.__qualname__}")
        source = source.replace(old, new)
    return compiled(function, ast.parse(source))


@contextmanager
def swapped(function: FunctionType, code: CodeType) -> Iterator[None]:
    """Run with other code for one function."""
    original = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = original

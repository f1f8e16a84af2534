"""Changing a function of the machine for a while, so that everybody who calls it calls the changed one.

A function is compiled again from its own source with a change in it, and its code object is exchanged: its name, its
globals and its identity stay, so all who imported it see the change, and all see it undone. What the proofs have cached
may rest on the old code, so the caches are emptied on the way in and on the way out.
"""

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

MACHINE = "reattach.machine"


class NoSuchFunctionError(Exception):
    """The machine has no function of this name."""


def function_named(name: str) -> FunctionType:
    """The function of the machine that ``module.function`` or ``module.Class.method`` names."""
    module, _, qualified = name.partition(".")
    found: object = importlib.import_module(f"{MACHINE}.{module}")
    for part in qualified.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, FunctionType):
        raise NoSuchFunctionError(f"{MACHINE} has no function {name}")
    return found


def source_of(name: str) -> str:
    """The source of a function, without its indentation."""
    return textwrap.dedent(inspect.getsource(function_named(name)))


def compiled(name: str, tree: ast.Module) -> CodeType:
    """The code of a changed function: ``tree`` is its parsed source, changed. Its lines keep their numbers."""
    original = function_named(name).__code__
    ast.increment_lineno(tree, original.co_firstlineno - 1)
    module = compile(tree, original.co_filename, "exec")
    (code,) = (part for part in module.co_consts if isinstance(part, CodeType) and part.co_name == original.co_name)
    return code.replace(co_qualname=original.co_qualname)


@contextmanager
def swapped(name: str, code: CodeType) -> Iterator[None]:
    """Run the machine with other code for one function."""
    function = function_named(name)
    original = function.__code__
    function.__code__ = code
    forget()
    try:
        yield
    finally:
        function.__code__ = original
        forget()


def forget() -> None:
    """Empty every cache of the proofs."""
    for module in [module for name, module in sys.modules.items() if name.startswith("reattach_proofs")]:
        for value in list(vars(module).values()):
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()

"""Changing a function of the machine for a while, and what the proofs have to do about it.

What the proofs have cached may rest on the old code, so the caches are emptied on the way in and on the way out.
"""

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType

from reattach.mutation import swap
from reattach.mutation.machine import MACHINE as MACHINE


def function_named(name: str) -> FunctionType:
    """The function of the machine that ``module.function`` or ``module.Class.method`` names."""
    return swap.function_at(f"{MACHINE}.{name}")


def source_of(name: str) -> str:
    """The source of a function, without its indentation."""
    return swap.source_of(function_named(name))


def compiled(name: str, tree: ast.Module) -> CodeType:
    """The code of a changed function: ``tree`` is its parsed source, changed. Its lines keep their numbers."""
    return swap.compiled(function_named(name), tree)


@contextmanager
def swapped(name: str, code: CodeType) -> Iterator[None]:
    """Run the machine with other code for one function."""
    with swap.swapped(function_named(name), code):
        forget()
        try:
            yield
        finally:
            forget()


def forget() -> None:
    """Empty every cache of the proofs."""
    for module in [module for name, module in sys.modules.items() if name.startswith("reattach_proofs")]:
        for value in list(vars(module).values()):
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()

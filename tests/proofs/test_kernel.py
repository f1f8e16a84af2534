"""The machine is written so that running it symbolically is sound: what Python lets nobody intercept does not occur.

``is`` and ``type(x)`` take no part in the forking of paths, an ``except`` could hide an exception, sets, caches, loops
without a bound and recursion end in a refusal at best, and ``assert`` may be switched off. None of them is in the
modules that are proved, except ``is`` between things that are never symbolic.
"""

import ast
from pathlib import Path

import pytest

import reattach.machine
from reattach_proofs.ledger import KERNEL

FOLDER = Path(reattach.machine.__path__[0])

FORBIDDEN_CALLS = {"type", "id", "hash", "repr", "str", "format", "int", "float", "set", "frozenset", "eval", "exec"}
FORBIDDEN_NODES = (ast.Try, ast.Assert, ast.Set, ast.SetComp, ast.While, ast.Global, ast.Nonlocal)
NEVER_SYMBOLIC = {"None", "True", "False"}


def findings(source: str) -> list[str]:
    """What stands in the way of running this source symbolically."""
    tree = ast.parse(source)
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, FORBIDDEN_NODES):
            found.append(f"line {node.lineno}: {type(node).__name__}")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"line {node.lineno}: {node.func.id}()")
        elif isinstance(node, ast.Compare):
            found += [
                f"line {node.lineno}: is"
                for operator, right in zip(node.ops, node.comparators, strict=True)
                if isinstance(operator, ast.Is | ast.IsNot) and not _is_never_symbolic(right)
            ]
        elif isinstance(node, ast.FunctionDef):
            found += [] if _is_property(node) else [f"line {node.lineno}: decorated"]
            found += [f"line {node.lineno}: recursive"] if _calls(node, node.name) else []
    return found


def _is_never_symbolic(node: ast.expr) -> bool:
    """A member of an enumeration, or a constant of the language."""
    match node:
        case ast.Constant():
            return str(node.value) in NEVER_SYMBOLIC
        case ast.Attribute(value=ast.Name(id=name), attr=member):
            return name[0].isupper() and member.isupper()
        case _:
            return False


def _is_property(node: ast.FunctionDef) -> bool:
    return all(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def _calls(node: ast.FunctionDef, name: str) -> bool:
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == name
        for each in ast.walk(node)
    )


@pytest.mark.parametrize("module", KERNEL)
def test_a_module_has_nothing_that_goes_wrong_in_silence(module: str) -> None:
    assert findings((FOLDER / f"{module}.py").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(x, y): return x is y",
        "def f(x): return x is not g(x)",
        "def f(x): return type(x)",
        "def f(x):\n    try:\n        return x\n    except Exception:\n        return 0",
        "def f(x): return x in {1, 2}",
        "def f(x): return frozenset([x])",
        "@lru_cache\ndef f(x): return x",
        "def f(x): return f(x - 1)",
        "def f(x):\n    while x > 0:\n        x -= 1",
        "def f(x):\n    assert x > 0",
        "def f(x): return int(x)",
    ],
)
def test_what_goes_wrong_in_silence_is_found(source: str) -> None:
    assert findings(source) != []


def test_what_is_harmless_is_not_found() -> None:
    assert findings("def f(kind, x):\n    '''Words.'''\n    return kind is Kind.ONE or x is None") == []

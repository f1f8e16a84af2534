"""Every small change of a function: each comparison, boundary and condition, one at a time.

Each comparison operator is exchanged for its neighbours, each integer moved by one, each truth value flipped, each
``and`` made an ``or``, each negation dropped and each bare condition negated; where that is asked for, each statement
that only calls something is left out.
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from types import CodeType, FunctionType

from attrs import frozen

from reattach.mutation import swap

_NEIGHBOURS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE),
    ast.NotEq: (ast.Eq, ast.Lt, ast.Gt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


@frozen
class Mutation:
    """One change of one function."""

    package: str
    function: str
    """Module and name, within the package."""
    old: str
    """The expression that is changed."""
    new: str
    nth: int
    """Which of the places in the function where the same is changed into the same, from 1."""
    index: int
    """Which of the function's changes it is."""
    lines: tuple[int, ...]
    """The lines of the expression in its module."""
    calls: bool = False
    """Whether statements that only call something are among the function's changes."""

    @property
    def module(self) -> str:
        """The module that it changes, within the package."""
        return self.function.partition(".")[0]

    def target(self) -> FunctionType:
        """The function that it changes."""
        return swap.function_at(f"{self.package}.{self.function}")

    def __str__(self) -> str:
        place = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.function}: {self.old}  ->  {self.new}{place}"

    def code(self) -> CodeType:
        """The function's code with the change."""
        target = self.target()
        tree = ast.parse(swap.source_of(target))
        _changes(tree, self.calls)[self.index].make()
        return swap.compiled(target, ast.fix_missing_locations(tree))


@frozen
class _Change:
    about: ast.AST
    """The smallest expression that shows what is changed."""
    make: Callable[[], None]
    into: ast.AST | None = None
    """What stands in its place, if it is not changed itself."""


def mutations(package: str, modules: Sequence[str], *, calls: bool = False) -> Iterator[Mutation]:
    """Every change of every function of these modules, in the order of their sources.

    Functions that need a cell of their class (``super()``) are left alone: they cannot be compiled by themselves.
    """
    for module in modules:
        for function in _functions(f"{package}.{module}"):
            yield from of_function(package, f"{module}.{function}", calls=calls)


def _functions(module: str) -> list[str]:
    found: list[str] = []
    for name, value in vars(import_module(module)).items():
        if getattr(value, "__module__", None) != module:
            continue
        if isinstance(value, FunctionType):
            found.append(name)
        elif inspect.isclass(value):
            own = [
                each
                for each in vars(value).values()
                if isinstance(each, FunctionType) and each.__module__ == value.__module__
            ]
            found += [f"{name}.{each.__name__}" for each in own if each.__closure__ is None and not _is_made(each)]
    return found


def _is_made(function: FunctionType) -> bool:
    """Whether a method is special, or has no source of its own: ``attrs`` has made it."""
    return function.__name__.startswith("__")


def of_function(package: str, function: str, *, calls: bool = False) -> Iterator[Mutation]:
    """Every change of one function."""
    target = swap.function_at(f"{package}.{function}")
    source, first = swap.source_of(target), target.__code__.co_firstlineno
    seen: dict[tuple[str, str], int] = {}
    for index in range(len(_changes(ast.parse(source), calls))):
        change = _changes(ast.parse(source), calls)[index]
        old, about = ast.unparse(change.about), change.about
        change.make()
        new = ast.unparse(change.into or about)
        seen[old, new] = seen.get((old, new), 0) + 1
        span = range(getattr(about, "lineno", 1), (getattr(about, "end_lineno", None) or 1) + 1)
        lines = tuple(first - 1 + line for line in span)
        yield Mutation(package, function, old, new, seen[old, new], index, lines, calls)


def _changes(tree: ast.Module, calls: bool) -> list[_Change]:
    """Every change of a function, in a fixed order. Each may be made once on a tree."""
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    found: list[_Change] = []
    for statement in function.body:
        for node in ast.walk(statement):
            for name, value in ast.iter_fields(node):
                children = value if isinstance(value, list) else [value]
                for at, child in enumerate(children):
                    if isinstance(child, ast.AST):
                        put = _setter(node, name, at if isinstance(value, list) else None)
                        found += _of_node(node, name, child, put)
                        if calls and _is_call(child):
                            found.append(_Change(child, partial(put, ast.Pass()), ast.Pass()))
    return found


def _setter(node: ast.AST, name: str, at: int | None) -> Callable[[ast.AST], None]:
    def put(child: ast.AST) -> None:
        if at is None:
            setattr(node, name, child)
        else:
            getattr(node, name)[at] = child

    return put


def _of_node(parent: ast.AST, name: str, node: ast.AST, put: Callable[[ast.AST], None]) -> Iterator[_Change]:
    match node:
        case ast.Compare():
            for at, operator in enumerate(node.ops):
                for other in _NEIGHBOURS[type(operator)]:
                    yield _Change(node, _exchanging(node, at, other()))
        case ast.BoolOp():
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield _Change(node, partial(setattr, node, "op", other_op))
        case ast.Constant(value=bool()):
            yield _Change(_shown(parent, node), partial(setattr, node, "value", not node.value))
        case ast.Constant(value=int() as number):
            for by in (1, -1):
                yield _Change(_shown(parent, node), partial(setattr, node, "value", number + by))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Change(node, partial(put, operand), operand)
        case ast.expr() if _is_condition(parent, name):
            negated = ast.UnaryOp(ast.Not(), node)
            yield _Change(node, partial(put, negated), negated)
        case _:
            pass


def _exchanging(node: ast.Compare, at: int, other: ast.cmpop) -> Callable[[], None]:
    def make() -> None:
        node.ops[at] = other

    return make


def _shown(parent: ast.AST, node: ast.Constant) -> ast.AST:
    return parent if isinstance(parent, ast.expr | ast.keyword | ast.Return | ast.Assign | ast.AugAssign) else node


def _is_condition(parent: ast.AST, name: str) -> bool:
    return (
        (isinstance(parent, ast.If | ast.IfExp | ast.While) and name == "test")
        or (isinstance(parent, ast.comprehension) and name == "ifs")
        or (isinstance(parent, ast.match_case) and name == "guard")
        or (isinstance(parent, ast.BoolOp) and name == "values")
    )


def _is_call(node: ast.AST) -> bool:
    """Whether a statement only calls something, awaited or not."""
    if not isinstance(node, ast.Expr):
        return False
    value = node.value.value if isinstance(node.value, ast.Await) else node.value
    return isinstance(value, ast.Call)

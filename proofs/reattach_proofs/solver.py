"""Z3, as the executor and the prover use it: a stack of terms that are assumed, and whether they can hold together.

Seed and effort are fixed, and effort is counted in Z3's own resource units, never by a clock, so that a run can be
repeated. ``unknown`` is an error, never an answer.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import z3
from attrs import frozen

from reattach_proofs.terms import Function, Interpretation, Op, Sort, Term, fold, negation

RLIMIT = 50_000_000
"""Effort per question."""

VERSION = f"Z3 {z3.get_version_string()}"


class Unknown(BaseException):
    """The solver gave no answer within its effort."""


@frozen(eq=False)
class Model:
    """Values under which everything that was assumed holds."""

    model: z3.ModelRef

    def satisfies(self, term: Term) -> bool:
        """Whether the term is true under them."""
        return bool(z3.is_true(self.model.eval(translated(term), model_completion=True)))

    @cached_property
    def interpretation(self) -> Interpretation:
        """The same as ordinary values; what the model leaves open is 0 or false."""
        names: dict[str, int | bool] = _Zeros()
        functions: dict[str, Callable[[int], int | bool]] = _Constants()
        for declared in self.model.decls():
            value = self.model[declared]
            if isinstance(value, z3.FuncInterp):
                functions[declared.name()] = _function(value)
            else:
                names[declared.name()] = _value(value)
        return Interpretation(names, functions)


class _Zeros(dict[str, int | bool]):
    def __missing__(self, key: str) -> int:
        return 0


class _Constants(dict[str, Callable[[int], int | bool]]):
    def __missing__(self, key: str) -> Callable[[int], int]:
        return lambda _: 0


def _function(given: z3.FuncInterp) -> Callable[[int], int | bool]:
    table = {
        given.entry(at).arg_value(0).as_long(): _value(given.entry(at).value()) for at in range(given.num_entries())
    }
    otherwise = _value(given.else_value())
    return lambda argument: table.get(argument, otherwise)


def _value(given: Any) -> int | bool:
    return bool(z3.is_true(given)) if z3.is_bool(given) else int(given.as_long())


class Solver:
    """What is assumed, in scopes."""

    def __init__(self, rlimit: int = RLIMIT) -> None:
        self._solver = z3.SimpleSolver()
        self._solver.set("rlimit", rlimit)
        self._solver.set("random_seed", 0)
        self.checks = 0

    def push(self) -> None:
        """Open a scope."""
        self._solver.push()

    def pop(self, scopes: int = 1) -> None:
        """Forget what was assumed in the innermost scopes."""
        self._solver.pop(scopes)

    def add(self, term: Term) -> None:
        """Assume a term."""
        z3.Z3_solver_assert(_CONTEXT.ref(), self._solver.solver, translated(term).as_ast())

    def satisfiable(self, *terms: Term) -> bool:
        """Whether the terms can hold together with what is assumed. Raises Unknown."""
        self.checks += 1
        answer = self._solver.check(*map(translated, terms))
        if answer == z3.unknown:
            raise Unknown(self._solver.reason_unknown())
        return bool(answer == z3.sat)

    def model(self) -> Model:
        """Values for the last question that was answered with yes."""
        return Model(self._solver.model())

    def entails(self, term: Term) -> bool:
        """Whether the term must hold. Raises Unknown."""
        return not self.satisfiable(negation(term))


_CONTEXT = z3.main_ctx()
_SORTS = {Sort.INTEGER: z3.IntSort(), Sort.TRUTH: z3.BoolSort()}
_functions: dict[Function, z3.FuncDeclRef] = {}


def translated(term: Term) -> Any:
    """Z3's form of a term; made once."""
    return term.cached if term.cached is not None else fold(term, _translate, _Cached())


class _Cached(dict[Term, Any]):
    """The results of ``_translate``, kept in the terms themselves."""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, Term) and key.cached is not None

    def __getitem__(self, key: Term) -> Any:
        return key.cached

    def __setitem__(self, key: Term, value: Any) -> None:
        key.cached = value


def _translate(term: Term, args: tuple[Any, ...]) -> Any:
    match term.op:
        case Op.CONSTANT:
            return z3.IntVal(term.value) if term.sort is Sort.INTEGER else z3.BoolVal(term.value)
        case Op.NAME:
            return z3.Const(term.value, _SORTS[term.sort])
        case Op.APPLY:
            function = _functions.get(term.value)
            if function is None:
                function = z3.Function(term.value.name, z3.IntSort(), _SORTS[term.sort])
                _functions[term.value] = function
            return function(*args)
        case Op.PLUS:
            return z3.ArithRef(z3.Z3_mk_add(_CONTEXT.ref(), 2, _asts(args)), _CONTEXT)
        case Op.MINUS:
            return z3.ArithRef(z3.Z3_mk_sub(_CONTEXT.ref(), 2, _asts(args)), _CONTEXT)
        case Op.LESS:
            return z3.BoolRef(z3.Z3_mk_lt(_CONTEXT.ref(), *_asts(args)), _CONTEXT)
        case Op.AT_MOST:
            return z3.BoolRef(z3.Z3_mk_le(_CONTEXT.ref(), *_asts(args)), _CONTEXT)
        case Op.EQUAL:
            return z3.BoolRef(z3.Z3_mk_eq(_CONTEXT.ref(), *_asts(args)), _CONTEXT)
        case Op.NOT:
            return z3.BoolRef(z3.Z3_mk_not(_CONTEXT.ref(), *_asts(args)), _CONTEXT)
        case Op.AND:
            return z3.BoolRef(z3.Z3_mk_and(_CONTEXT.ref(), len(args), _asts(args)), _CONTEXT)
        case Op.OR:
            return z3.BoolRef(z3.Z3_mk_or(_CONTEXT.ref(), len(args), _asts(args)), _CONTEXT)
        case Op.CHOICE:
            made = z3.Z3_mk_ite(_CONTEXT.ref(), *_asts(args))
            return z3.BoolRef(made, _CONTEXT) if term.sort is Sort.TRUTH else z3.ArithRef(made, _CONTEXT)


def _asts(args: tuple[Any, ...]) -> Any:
    return (z3.Ast * len(args))(*(arg.as_ast() for arg in args))

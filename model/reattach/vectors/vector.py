"""What a vector is, and how it is laid out in its file."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from attrs import frozen

SCHEMA = "reattach-vector/1"

EXPECT = "expect"
"""The key, wherever it stands in a vector, under which the machine's answer is."""

WIDTH = 160
"""Characters of a line in a vector's file; what is longer is broken up."""

Plain: TypeAlias = dict[str, Any]
"""Data as JSON has it."""


@frozen
class Case:
    """A question that is worth asking."""

    name: str
    """Says what it tests; the name of its file."""
    tests: str
    """The same as a sentence."""
    clauses: tuple[str, ...]
    """Those that its answer follows from."""
    question: Plain


@frozen
class Kind:
    """One kind of vectors."""

    name: str
    about: str
    """Its README: what the fields mean, and how to run it."""
    cases: Callable[[], tuple[Case, ...]]
    answered: Callable[[Plain], Plain]
    """The question with the machine's answers put in."""


def document_of(kind: Kind, case: Case) -> Plain:
    """What the file of a case holds."""
    head = {"schema": SCHEMA, "kind": kind.name, "name": case.name, "tests": case.tests, "clauses": list(case.clauses)}
    return {**head, **kind.answered(case.question)}


def question_of(document: Plain) -> Plain:
    """What is asked in a document: all of it but the head and the answers."""
    head = {"schema", "kind", "name", "tests", "clauses"}
    asked: Plain = _without_answers({key: value for key, value in document.items() if key not in head})
    return asked


def to_text(value: Any) -> str:
    """JSON that people can read: what fits on a line stands on one. ASCII only, the same bytes everywhere."""
    return f"{_laid_out(value, '')}\n"


def _without_answers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_answers(inner) for key, inner in value.items() if key != EXPECT}
    if isinstance(value, list):
        return [_without_answers(inner) for inner in value]
    return value


def _laid_out(value: Any, indent: str, before: int = 0) -> str:
    short = json.dumps(value)
    if not isinstance(value, dict | list) or (indent and len(indent) + before + len(short) < WIDTH):
        return short
    deeper = f"{indent}  "
    if isinstance(value, dict):
        keys = {key: f"{json.dumps(key)}: " for key in value}
        lines = [f"{deeper}{keys[key]}{_laid_out(inner, deeper, len(keys[key]))}" for key, inner in value.items()]
        opened, closed = "{", "}"
    else:
        lines = [f"{deeper}{_laid_out(inner, deeper)}" for inner in value]
        opened, closed = "[", "]"
    return "\n".join([opened, ",\n".join(lines), f"{indent}{closed}"])

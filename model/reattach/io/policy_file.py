"""Policies from files: TOML with the fields of ``Policy`` under their own names, or a preset by its name.

A preset is a policy of the reference server, and declares what that server has besides.

One file serves both sides: ``reattach serve`` runs by it, where what is left out has its default; ``reattach probe``
holds a server to it, where what is left out is not declared. A probe's file may also say what only a declaration has
(``takeover``, ``transport_buffer_bytes``).
"""

import tomllib
from collections.abc import Collection
from pathlib import Path

from attrs import asdict, fields, frozen
from cattrs.errors import BaseValidationError

from reattach.io.trace import first_reason, strict_converter
from reattach.machine.policy import CONDITIONS, SHORT, Policy
from reattach.oracle.declaration import Declaration, declaration_of

PRESETS = {"default": Policy(), "short": SHORT}
"""By the name that ``--policy`` takes. A file of the same name is reached as ``./short``."""

REFERENCE_TRANSPORT_BYTES = 65_536
"""What a preset declares to lie between the reference server and a client at most, with the small buffers of both."""

_CONVERTER = strict_converter()
_POLICY_KEYS = {attribute.name for attribute in fields(Policy)}


@frozen
class PolicyError(Exception):
    """A policy cannot be used: the file, and the key and what is wrong with it."""

    source: str
    reason: str

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}"


def read_policy(source: str) -> Policy:
    """The policy of a preset or a file, to run by. Raises PolicyError."""
    if source in PRESETS:
        return PRESETS[source]
    given = _read(source)
    _check_signs(source, given)
    if given.takeover is False:
        raise PolicyError(source, "takeover: the reference server takes over from a view that is still open")
    chosen = _chosen(given)
    _check(source, Policy(**chosen), chosen, _POLICY_KEYS)
    return Policy(**chosen)


def read_declaration(source: str) -> Declaration:
    """The declaration of a preset or a file, to be held to. Raises PolicyError."""
    if source in PRESETS:
        return declaration_of(PRESETS[source], takeover=True, transport_buffer_bytes=REFERENCE_TRANSPORT_BYTES)
    given = _read(source)
    check_declaration(source, given)
    return given


def check_declaration(source: str, given: Declaration) -> None:
    """Raises PolicyError if what is declared cannot be. ``source`` is where it stands."""
    _check_signs(source, given)
    chosen = _chosen(given)
    # What is not declared is not known, so nothing is said about how it fits.
    _check(source, Policy(**chosen), chosen, chosen)


def _chosen(given: Declaration) -> dict[str, int]:
    return {key: value for key, value in asdict(given).items() if key in _POLICY_KEYS and value is not None}


def _check_signs(source: str, given: Declaration) -> None:
    negative = [key for key, value in asdict(given).items() if value is not None and value < 0]
    if negative:
        raise PolicyError(source, f"{negative[0]}: must not be negative")


def _check(source: str, policy: Policy, chosen: Collection[str], known: Collection[str]) -> None:
    for condition, holds in CONDITIONS.items():
        about = [key for key in sorted(_POLICY_KEYS) if key in condition]
        if all(key in known for key in about) and not holds(policy):
            defaults = [f"{key} is {getattr(policy, key)} by default" for key in about if key not in chosen]
            remark = f" ({', '.join(defaults)})" if defaults else ""
            raise PolicyError(source, f"{condition} does not hold{remark}")


def _read(source: str) -> Declaration:
    try:
        text = Path(source).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise PolicyError(source, "not UTF-8 text") from None
    except OSError as error:
        known = ", ".join(PRESETS)
        raise PolicyError(source, f"neither a preset ({known}) nor a readable file: {error.strerror}") from None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(source, f"not TOML: {error}") from None
    try:
        return _CONVERTER.structure(document, Declaration)
    except BaseValidationError as error:
        raise PolicyError(source, first_reason(error)) from None

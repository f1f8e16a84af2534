"""Recordings: observations as JSON Lines.

The first line is a header, ``{"schema": "reattach-trace/1", ...}``; every other line is one observation, tagged by
``type``, in the order in which the recorder consumed them. Fields that have their default are left out. Text is ASCII
with JSON escapes, so that a recording can be shown on a terminal and passed through any tool.
"""

import json
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args

from attrs import field, frozen
from cattrs import Converter, ForbiddenExtraKeysError, transform_error
from cattrs.errors import BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from reattach.io.files import write_atomically
from reattach.io.redact import Redactor
from reattach.oracle.observation import (
    Body,
    Closed,
    Comment,
    Expect,
    Frame,
    Json,
    Observation,
    Quiet,
    ReadPaused,
    ReadResumed,
    Request,
    Response,
    Restarted,
    Settled,
    Vantage,
)

SCHEMA = "reattach-trace/1"

TYPES: dict[str, type[Observation]] = {
    "request": Request,
    "response": Response,
    "body": Body,
    "frame": Frame,
    "comment": Comment,
    "read-paused": ReadPaused,
    "read-resumed": ReadResumed,
    "closed": Closed,
    "quiet": Quiet,
    "expect": Expect,
    "settled": Settled,
    "restarted": Restarted,
}
"""The observations by their tag in a recording."""

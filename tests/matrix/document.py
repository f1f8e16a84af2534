"""What the generated documents have in common: how they were made, and their data as a file holds it."""

import json
from typing import Any, TypeVar

from attrs import frozen
from cattrs.preconf.json import make_converter


@frozen(kw_only=True)
class Made:
    """How a document was made."""

    day: str
    seed: int
    seconds: int
    """How long it all took, builds included."""


Document = TypeVar("Document", bound=Made)
_CONVERTER = make_converter()


def to_json(document: Made) -> str:
    """The data, as the file holds it."""
    return json.dumps(_CONVERTER.unstructure(document), indent=0, ensure_ascii=False) + "\n"


def from_json(text: str, kind: type[Document]) -> Document:
    """Read what ``to_json`` wrote."""
    data: Any = json.loads(text)
    return _CONVERTER.structure(data, kind)

"""All kinds of vectors, and the files that they come in."""

from reattach.vectors.clients import CLIENT
from reattach.vectors.cursors import CURSOR
from reattach.vectors.decisions import DECISION
from reattach.vectors.deliveries import DELIVERY
from reattach.vectors.stores import STORE
from reattach.vectors.vector import SCHEMA, Kind, Plain, document_of, question_of, to_text
from reattach.vectors.windows import WINDOW

KINDS = {kind.name: kind for kind in (CURSOR, DECISION, WINDOW, DELIVERY, CLIENT, STORE)}


def documents_of(kind: Kind) -> list[Plain]:
    """The vectors of a kind, those that ask least first."""
    documents = [document_of(kind, case) for case in kind.cases()]
    return sorted(documents, key=lambda document: (len(to_text(question_of(document))), document["name"]))


def files() -> dict[str, str]:
    """Every file, by its path: of each kind the README, the manifest, and a file for each vector."""
    written: dict[str, str] = {}
    for kind in KINDS.values():
        documents = documents_of(kind)
        written[f"{kind.name}/README.md"] = kind.about
        listed = [{"file": f"{each['name']}.json", "tests": each["tests"]} for each in documents]
        written[f"{kind.name}/manifest.json"] = to_text({"schema": SCHEMA, "kind": kind.name, "cases": listed})
        for document in documents:
            path = f"{kind.name}/{document['name']}.json"
            assert path not in written, path
            written[path] = to_text(document)
    return written

"""Replays the committed vectors and does nothing else, so that it can be measured what they execute."""

import json
from pathlib import Path

from reattach.machine.cursor import format_event_id
from reattach.vectors.kinds import KINDS
from reattach.vectors.vector import question_of

if __name__ == "__main__":
    for name, kind in KINDS.items():
        for path in sorted((Path(__file__).parents[2] / "spec/vectors" / name).glob("*.json")):
            if path.name != "manifest.json":
                document = json.loads(path.read_text("utf-8"))
                kind.answered(question_of(document))
                if document.get("expect", {}).get("presence") == "present":
                    _, *parts = document["expect"].values()
                    format_event_id(*parts)  # a cursor that was read is the header again

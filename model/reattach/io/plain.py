"""Text that came from the other side, made safe to show.

What a server sends may hold terminal escapes, bidirectional overrides or lone surrogates. They are shown as escapes,
never sent to a terminal or into XML.
"""

import json

from reattach.oracle.observation import Json


def plain(text: str) -> str:
    """The text on one line, with everything that does not print escaped as JSON escapes it."""
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def plain_lines(text: str) -> str:
    """The same, keeping line breaks."""
    return "\n".join(plain(line) for line in text.split("\n"))


def plain_json(value: Json) -> str:
    """A JSON value on one line, readable and safe."""
    return plain(json.dumps(value, ensure_ascii=False, separators=(", ", ": ")))


def shorten(text: str, limit: int) -> str:
    """At most ``limit`` characters; what is left out is said by an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def _escape(character: str) -> str:
    code = ord(character)
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(code, f"\\u{code:04x}")

"""Recordings for those who may not keep what messages say: of each message what names it, and a digest of the rest.

spec/13-recordings.md has the form. A digest is an HMAC under a key that is kept nowhere: equal values of one file have
equal digests, and nobody can find a short text by trying. So a recording in this form is judged as the whole one would
be, but for what only the text of a message tells.
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

from attrs import evolve, field, frozen

from reattach.io.trace import Entry
from reattach.machine.decision import Reason
from reattach.oracle.message import label_of_key, numbered_log
from reattach.oracle.observation import Body, Expect, Frame, Json, Observation, Request

_PARTS = ("params", "result", "error")
"""The members of a message that have what it says."""
_REASONS = frozenset(reason.value for reason in Reason) | {"stalled", "overtaken"}
_NAMES = {
    "initialize": ("protocolVersion",),
    "notifications/progress": ("progressToken", "progress"),
    "notifications/cancelled": ("requestId",),
    "notifications/resumed": ("cursor",),
    "notifications/resumption_required": ("cursor",),
}
"""By method, the parameters that are kept as they are if they are text or numbers."""


def is_digested(payload: Json) -> bool:
    """Whether a message stands in this form."""
    parts = [payload.get(name) for name in _PARTS] if isinstance(payload, Mapping) else []
    return any(isinstance(part, Mapping) and isinstance(part.get("digest"), str) for part in parts)


class Payloads(Enum):
    """How much of a message goes into a recording."""

    WHOLE = "whole"
    DIGEST = "digest"
    """What names it, and a digest of the rest."""


@frozen
class Digester:
    """Takes what messages say out of the observations of one file."""

    _key: bytes = field(factory=lambda: secrets.token_bytes(32), repr=False)

    def entries(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The lines of a recording without what messages say."""
        for entry in entries:
            observation = self.observation(entry.observation)
            if observation is not None:
                yield evolve(entry, observation=observation)

    def observation(self, observation: Observation) -> Observation | None:
        """The observation without what messages say; None if it cannot be told so."""
        if isinstance(observation, Request | Body | Frame):
            return evolve(observation, payload=self.message(observation.payload))
        return self._expect(observation) if isinstance(observation, Expect) else observation

    def message(self, payload: Json) -> Json:
        """What names a message, with digests of what it says. Null and the empty object stay: they are no message."""
        if payload is None or payload == {}:
            return payload
        if isinstance(payload, Sequence) and not isinstance(payload, str):
            return [self.message(each) for each in payload]
        if not isinstance(payload, Mapping):
            return {"digest": self._digest(payload)}
        told: dict[str, Json] = {
            name: payload[name]
            for name in ("jsonrpc", "id", "method")
            if name in payload and isinstance(payload[name], str | int | None)
        }
        method = payload.get("method")
        for name, value in payload.items():
            if name == "params":
                told[name] = {"digest": self._digest(value), **self._params(payload, method)}
            elif name == "result":
                told[name] = {"digest": self._digest(value), **_members(value, _NAMES["initialize"])}
            elif name == "error":
                told[name] = {"digest": self._digest(value), **_refusal(value)}
        rest = {name: value for name, value in payload.items() if name not in told}
        return {**told, "digest": self._digest(rest)} if rest else told

    def _digest(self, value: Json) -> str:
        try:
            text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        except (ValueError, RecursionError):
            text = "beyond JSON"
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def _label(self, label: str) -> str:
        """The pseudonym of a series."""
        return f"series-{self._digest(label)[:16]}"

    def _params(self, payload: Mapping[str, Json], method: Json) -> dict[str, Json]:
        params = payload["params"]
        if not isinstance(params, Mapping):
            return {}
        told: dict[str, Json] = _members(params, _NAMES.get(method, ()) if isinstance(method, str) else ())
        if _is_reason(params.get("reason")):
            told["reason"] = params["reason"]
        number = numbered_log(payload)
        if number is not None:
            told["data"] = {"label": self._label(number.label), "n": number.n}
        arguments, meta = params.get("arguments"), params.get("_meta")
        if isinstance(arguments, Mapping) and isinstance(arguments.get("label"), str):
            told["arguments"] = {"label": self._label(str(arguments["label"]))}
        token = _members(meta, ("progressToken",))
        return {**told, "_meta": token} if token else told

    def _expect(self, expect: Expect) -> Expect | None:
        keys = [self._key_of(key) for key in expect.keys]
        known = tuple(key for key in keys if key is not None)
        # What two runs of a call have in common is told by what the messages say.
        return evolve(expect, keys=known) if len(known) == len(keys) and expect.origin == "numbered" else None

    def _key_of(self, key: str) -> str | None:
        if key.startswith(("response:", "progress:")):
            return key
        label = label_of_key(key)
        return None if label is None else f"{self._label(label)}{key[len(label) :]}"


def _members(value: Json, names: Sequence[str]) -> dict[str, Json]:
    """Those of the members that are text or numbers."""
    if not isinstance(value, Mapping):
        return {}
    return {name: value[name] for name in names if isinstance(value.get(name), str | int | float)}


def _refusal(error: Json) -> dict[str, Json]:
    """The code of an error, and its reason, if that is one of this standard."""
    data = error.get("data") if isinstance(error, Mapping) else None
    reason = data.get("reason") if isinstance(data, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    told: dict[str, Json] = {"code": code} if isinstance(code, int) else {}
    return {**told, "data": {"reason": reason}} if _is_reason(reason) else told


def _is_reason(text: Json) -> bool:
    return isinstance(text, str) and text in _REASONS

"""Faults from sentences: ``cut the third view after two events``.

A sentence is a verb, and then in any order at most one each of: to which exchanges, where in the stream, how often, how
long, with which status. Case and punctuation mean nothing. What cannot be read is named in the error.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reattach.live.watch.fault import Do, Fault, FaultError, To, make_fault, ordinal

_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_CARDINALS, start=1)} | {"a": 1, "an": 1}
_ORDINALS = {ordinal(number): number for number in range(1, 11)}

_N = rf"(?:\d{{1,7}}|{'|'.join(_CARDINALS)})"
_TH = rf"(?:\d{{1,7}}(?:st|nd|rd|th)|{'|'.join(_ORDINALS)})"
_KINDS = {
    "request": To.REQUEST,
    "view": To.VIEW,
    "stream": To.VIEW,
    "reconnect": To.RECONNECT,
    "resumption": To.RECONNECT,
    "call": To.CALL,
    "initialize": To.INITIALIZE,
    "listen": To.LISTEN,
    "listener": To.LISTEN,
    "delete": To.DELETE,
}
_KIND = rf"(?P<kind>{'|'.join(_KINDS)})s?"

_VERBS: tuple[tuple[Do, str], ...] = (
    (Do.CUT, r"cut"),
    (Do.RESET, r"reset"),
    (Do.HALF_OPEN, r"half[- ]open"),
    (Do.SILENCE, r"(?:accept and )?go silent"),
    (Do.DELAY, r"delay"),
    (Do.SLOW, r"slow reader"),
    (Do.ANSWER, r"answer (?P<status>\d{3})"),
    (Do.ANSWER, r"refuse"),
    (Do.DROP, r"drop (?P<header>[^ ]+)"),
    (Do.SPLIT, r"split(?: cr and lf)?(?: over two chunks)?"),
    (Do.REPEAT, r"repeat(?: a frame| an event)?"),
)

_OF = r"(?:(?:of|on|to|in) )?"
_TARGETS = (
    rf"{_OF}from (?:the )?(?P<begin>{_TH}) {_KIND} (?P<every>on)",
    rf"{_OF}(?P<times>{_N}) {_KIND} from (?:the )?(?P<begin>{_TH}) on",
    rf"{_OF}(?:every|each|all) (?:the )?(?P<every>){_KIND}",
    rf"{_OF}(?:the )?(?P<begin>first|next) (?P<times>{_N}) {_KIND}",
    rf"{_OF}(?:the )?(?P<begin>{_TH}|next) {_KIND}",
    rf"{_OF}(?P<times>{_N}) {_KIND}",
    rf"{_OF}(?:a |an |the )?{_KIND}",
)
_PLACES = (
    rf"after (?P<after>{_N}|0|no|an) events?",
    rf"(?:inside|in the middle of) (?:the )?(?P<inside>{_TH}) event",
    rf"(?:at )?(?:the )?(?P<at>{_TH}) event",
)
_OFTEN = (r"(?P<once>once)", r"(?P<twice>twice)", rf"(?P<times>{_N}) times", r"(?P<always>always)")
_LONG = (r"(?:by |for )?(?P<wait>\d{1,8}) ?(?P<unit>ms|s)(?: (?:per|each|an|before each|after each) event)?",)
_WITH = (r"with (?P<status>\d{3})",)
_ASIDE = (r"keep the server's side",)
_PARTS = {"target": _TARGETS, "place": _PLACES, "often": _OFTEN, "long": _LONG, "with": _WITH, "aside": _ASIDE}

VERBS = ("cut", "reset", "half-open", "accept and go silent", "delay", "slow reader", "refuse", "answer STATUS",
         "drop HEADER", "split CR and LF", "repeat a frame")  # fmt: skip


def read_sentence(text: str) -> Fault:
    """The fault that a sentence says. Raises FaultError, which repeats the sentence and says what is wrong."""
    try:
        return _read(text)
    except FaultError as error:
        raise FaultError(f"{text!r}: {error}") from None


def _read(text: str) -> Fault:
    rest = " ".join(re.sub(r"[,;:.!](?= |$)", " ", text).split())
    do, match = _verb(rest)
    said: dict[str, Any] = {}
    groups = match.groupdict()
    if "status" in groups:
        said["status"] = int(groups["status"])
    if "header" in groups:
        said["header"] = groups["header"]
    rest = rest[match.end() :].lower()
    waiting = dict(_PARTS)
    while rest := rest.strip():
        name, found = _next_part(rest, waiting)
        del waiting[name]
        for key, value in _part(name, found.groupdict()).items():
            if key in said and said[key] != value:
                raise FaultError(f"{found.group()!r} contradicts what was said before")
            said[key] = value
        rest = rest[found.end() :]
    return make_fault(do, **said)


def _verb(rest: str) -> tuple[Do, re.Match[str]]:
    for do, pattern in _VERBS:
        match = re.match(rf"(?:{pattern})(?= |$)", rest, re.IGNORECASE)
        if match is not None:
            return do, match
    raise FaultError(f"it has to begin with one of: {', '.join(VERBS)}")


def _next_part(rest: str, waiting: Mapping[str, Sequence[str]]) -> tuple[str, re.Match[str]]:
    for name, patterns in waiting.items():
        for pattern in patterns:
            match = re.match(rf"(?:{pattern})(?= |$)", rest)
            if match is not None:
                return name, match
    raise FaultError(f"{rest!r} cannot be read here")


def _part(name: str, groups: dict[str, str | None]) -> dict[str, Any]:
    """What one part of a sentence says, in the words of ``make_fault``."""
    match name:
        case "target":
            return _target(groups)
        case "place":
            return _place(groups)
        case "often":
            if groups.get("times"):
                return {"times": _number(groups["times"])}
            return {"times": 1 if groups.get("once") else 2 if groups.get("twice") else 0}
        case "long":
            factor = 1_000 if groups["unit"] == "s" else 1
            return {"ms": int(groups["wait"] or 0) * factor}
        case "with":
            return {"status": int(groups["status"] or 0)}
        case _:
            return {}


def _target(groups: dict[str, str | None]) -> dict[str, Any]:
    said: dict[str, Any] = {"to": _KINDS[groups["kind"] or ""]}
    begin, times = groups.get("begin"), groups.get("times")
    if begin is not None:
        said["begin"] = 1 if begin == "next" else _ordinal(begin)
        if times is None and "every" not in groups:
            said["times"] = 1
    if times is not None:
        said["times"] = _number(times)
    if groups.get("every") is not None:
        said["times"] = 0
    return said


def _place(groups: dict[str, str | None]) -> dict[str, Any]:
    if groups.get("inside"):
        return {"after": _ordinal(groups["inside"]) - 1, "inside": True}
    if groups.get("at"):
        return {"after": _ordinal(groups["at"])}
    after = groups.get("after")
    return {"after": 0 if after == "no" else _number(after)}


def _number(text: str | None) -> int:
    text = text or ""
    return int(text) if text.isdigit() else _NUMBERS[text]


def _ordinal(text: str | None) -> int:
    text = text or ""
    return _ORDINALS[text] if text in _ORDINALS else int(re.sub(r"\D", "", text))

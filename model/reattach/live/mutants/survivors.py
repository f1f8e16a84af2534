"""Generated mutants that the probe does not find, each with the reason why: read from ``survivors.toml``."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files


def _read() -> dict[str, str]:
    data = tomllib.loads(files(__package__).joinpath("survivors.toml").read_text(encoding="utf-8"))
    return {each["change"]: f"{each['kind']}: {each['reason']}" for each in data["survivor"]}


SURVIVORS: Mapping[str, str] = _read()
"""Kind and reason by the change, as a generated mutant words it. What survives and is not here is a gap."""

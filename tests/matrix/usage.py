"""How a command of the matrices ends that is used wrongly."""

from collections.abc import Callable, Sequence


def exit_code(main: Callable[[Sequence[str] | None], int], words: Sequence[str]) -> int:
    """The status with which it ends, by itself or by its parser of arguments."""
    try:
        return main(words)
    except SystemExit as ended:
        return int(str(ended.code))

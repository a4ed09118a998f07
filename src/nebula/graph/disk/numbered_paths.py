"""Where the n-th file of the store lives (seed §3.1, §8.1; SPEC §11).

A hundred files in each of the folders 000–999, then the next hundred in each, and so on. The step is
`max_files_per_folder`. Reading accepts numbers of any width.
"""

from __future__ import annotations

import re

KINDS = {"nodes": "xml", "flows": "yaml"}
FOLDERS = 1000
DEFAULT_STEP = 100

_RELATIVE = re.compile(r"(\d{1,9})/(\d{1,9})\.(xml|yaml)", re.ASCII)


def path_of(number: int, step: int, suffix: str) -> str:
    """Return the relative path of the file with that number, counted from 0."""
    lap, rest = divmod(number, FOLDERS * step)
    folder, place = divmod(rest, step)
    return f"{folder:03}/{lap * step + place:03}.{suffix}"


def number_of(path: str, step: int) -> int:
    """Return the inverse of `path_of`; for a path written under another step, a number that is free to count on
    from."""
    found = _RELATIVE.fullmatch(path)
    if not found:
        raise ValueError(f"not a path of the store: {path!r}")
    folder, file = int(found[1]), int(found[2])
    lap, place = divmod(file, step)
    return (lap * FOLDERS + folder) * step + place


def is_path(path: str, suffix: str) -> bool:
    """True for `digits/digits.suffix` and nothing else: an index may come from a stranger's pull request."""
    found = _RELATIVE.fullmatch(path)
    return found is not None and found[3] == suffix


def order_key(path: str) -> tuple[int, int, str]:
    """Return what sorts paths in the order in which a walk by number finds them."""
    folder, _, name = path.partition("/")
    return int(folder), int(name.partition(".")[0]), path

"""Modules of the page joined into one file, so that a first look asks for five files instead of seventy.

What is written stays small modules, and what is served runs as they would: each is a function that gives what it
exports, those it imports before it. Only what our modules use is understood; anything else is refused, by name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Final

# Each begins with a word and looks back from its end: it is found four times as fast as after a look back.
_IMPORT: Final = re.compile(r'import(?<![^\n;]import)\s*(?:(\{[^}]*\})|\*\s*as\s+(\w+))\s*from\s*"([^"]+)";?')
_LISTED: Final = re.compile(r'export(?<![^\n;}]export)\s*\{([^}]*)\}(?:\s*from\s*"([^"]+)")?;?')
_DECLARED: Final = re.compile(
    r"export(?<![^\n]export)\s+(?=(?:async\s+)?(?:function\s*\*?|const|class)\s*([\w$]+)[\s(=<{])"
)
_LEFT: Final = re.compile(r"port\b(?<=(?:im|ex)port)(?<![^\n;}](?:im|ex)port)(?:(?<=export)|(?!\()).{0,60}")
_TYPES: Final = re.compile(r"^[ \t]*/\*\*[^*@]*(?:(?!\*/|@license)[*@][^*@]*)*\*/\n", re.MULTILINE)
"""Types for the type checker alone: a third of the source."""
_REMARK: Final = re.compile(r"^[ \t]*//(?!.*@license).*\n", re.MULTILINE)
"""Remarks for readers of the source; no line of a template begins so."""
_STYLE_REMARK: Final = re.compile(r"(^)?[ \t]*/\*[^*@]*(?:(?!\*/|@license)[*@][^*@]*)*\*/(?(1)\n|)", re.MULTILINE)
"""A line of its own, or after the rule that it explains."""
_INDENT: Final = re.compile(r"^[ \t]+", re.MULTILINE)
"""The same for indentation; between elements of a template a line break is space enough."""
_LATER: Final = re.compile(r'import(?<!\wimport)\("(\.[^"]+)"\)')


class NotJoinable(Exception):
    """Raised where a module uses something that is not understood here."""


def joined_script(modules: Mapping[str, str], entry: str, apart: frozenset[str] = frozenset()) -> str:
    """Return `entry` with all modules that it imports, by path; modules in `apart` are still imported, as files of
    their own."""
    pieces: list[str] = []
    names: dict[str, str] = {}

    def add(path: str, way: tuple[str, ...]) -> str:
        if path in way:
            raise NotJoinable(f"modules import each other: {' → '.join((*way, path))}")
        if path in names:
            return names[path]
        name = f"module_{re.sub('[^0-9A-Za-z]', '_', path)}"
        if path in apart:
            pieces.insert(0, f'import * as {name} from "./{path}";')
        else:
            body = _wrap_module(modules[path], path, lambda found: add(found, (*way, path)))
            pieces.append(f"const {name} = (() => {{ // {path}\n{body}\n}})();")
        names[path] = name
        return name

    name = add(entry, ())
    given = _DECLARED.findall(modules[entry])
    if given:
        pieces.append(f"export const {{ {', '.join(given)} }} = {name};")
    return "\n".join(pieces) + "\n"


def joined_sheet(sheets: Mapping[str, str], first: str) -> str:
    """Return all style sheets as one, without remarks: `first` holds what the others need, and they do not depend on
    each other."""
    whole = "\n".join([sheets[first], *(sheets[path] for path in sorted(sheets) if path != first)])
    return _INDENT.sub("", _STYLE_REMARK.sub("", whole))


def _wrap_module(text: str, path: str, module_of: Callable[[str], str]) -> str:
    """Return a module as the body of a function that returns its exports."""
    given: list[str] = []

    def imported(found: re.Match[str]) -> str:
        module = module_of(_resolve_import(found[3], path))
        wanted = found[2] or re.sub(r"([\w$]+)\s+as\s+", r"\1: ", found[1])
        return f"const {wanted} = {module};"

    def listed(found: re.Match[str]) -> str:
        module = f"{module_of(_resolve_import(found[2], path))}." if found[2] else ""
        for each in filter(None, map(str.strip, found[1].split(","))):
            ours, _, theirs = each.partition(" as ")
            given.append(f"{theirs or ours}: {module}{ours}")
        return ""

    def declared(found: re.Match[str]) -> str:
        given.append(found[1])
        return ""

    text = _DECLARED.sub(declared, _LISTED.sub(listed, _IMPORT.sub(imported, _REMARK.sub("", _TYPES.sub("", text)))))
    if left := _LEFT.search(text):
        raise NotJoinable(f"{path}: {text[left.start() - len('im') : left.end()]}")
    if not path.startswith("vendor/"):
        text = _INDENT.sub("", text)
    text = _LATER.sub(lambda found: f'import("./{_resolve_import(found[1], path)}")', text)
    return f"{text}\nreturn {{ {', '.join(given)} }};" if given else text


def _resolve_import(found: str, path: str) -> str:
    """Return the path that an import names: below the page's folder, where the joined files are, too."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), found))

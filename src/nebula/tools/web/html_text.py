"""HTML as plain text: what a reader of the page would see, with headings, lists and the addresses of links.

The page comes from a stranger. It is read in one pass, so that even a page that is broken on purpose takes only the
time that its size asks for; the standard parser searches the rest of the page again at every unfinished comment or tag.
"""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:-]{0,30})([^<>]{0,4000})>")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^<>]{0,4000}>", re.DOTALL)
_ATTRIBUTE = re.compile(r"""([a-z-]{1,20})(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""", re.IGNORECASE)
_RAW = frozenset({"script", "style"})
"""Elements whose content is not HTML; only their own end tag ends them."""
_UNSEEN = frozenset({"noscript", "template", "svg", "head", "iframe", "object", "select", "canvas"})
_BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3"
        " h4 h5 h6 header hr li main nav ol p pre section summary table tbody thead tr ul",
    )
)
_VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$)")


def html_to_text(html: str) -> str:
    """Return the visible text of a page, its title first."""
    reader = _PageReader()
    html = _COMMENT.sub("", html)
    at, lowered = 0, html.lower()
    for tag in _TAG.finditer(html):
        if tag.start() < at:
            continue
        reader.read_text(html[at : tag.start()])
        at = tag.end()
        name, is_end = tag[2].lower(), bool(tag[1])
        if name in _RAW and not is_end:
            end = lowered.find(f"</{name}", at)
            at = len(html) if end < 0 else end
            if end < 0:
                break
        elif is_end:
            reader.end(name)
        else:
            reader.begin(name, tag[3])
    reader.read_text(html[at:])
    return reader.text()


class _PageReader:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._title: list[str] = []
        self._unseen: list[str] = []
        """Open elements, from the outermost hidden one inwards,"""
        self._open_unseen: Counter[str] = Counter()
        """and how many there are of each."""
        self._in_title = False
        self._pre = 0
        self._link = ""

    def text(self) -> str:
        title = " ".join("".join(self._title).split())
        lines = [line.rstrip() for line in "".join(self._parts).split("\n")]
        body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
        return f"{title}\n\n{body}" if title and not body.startswith((title, f"# {title}")) else body

    def read_text(self, data: str) -> None:
        if self._in_title:
            self._title.append(unescape(data))
        elif not self._unseen:
            text = unescape(data)
            self._parts.append(text if self._pre else self._in_line(text))

    def begin(self, name: str, attributes: str) -> None:
        self._in_title = name == "title" and not self._title
        if name == "body":  # it ends a head whose end tag is missing
            self._unseen.clear()
            self._open_unseen.clear()
        if self._unseen or name in _UNSEEN or _is_hidden(attributes):
            if name not in _VOID and not attributes.endswith("/"):
                self._unseen.append(name)
                self._open_unseen[name] += 1
            return
        self._show_beginning(name, attributes)

    def _show_beginning(self, name: str, attributes: str) -> None:
        if name == "br":
            self._parts.append("\n")
        elif name in ("td", "th"):
            self._parts.append(" | ")
        elif name in _BLOCKS:
            self._break()
        self._pre += name == "pre"
        if len(name) == len("h1") and name[0] == "h" and name[1].isdigit():
            self._parts.append("#" * int(name[1]) + " ")
        elif name == "li":
            self._parts.append("- ")
        elif name == "a":
            self._link = _attribute(attributes, "href")
        elif name == "img" and (alt := _attribute(attributes, "alt")):
            self._parts.append(f"[{alt}]")

    def end(self, name: str) -> None:
        self._in_title = False
        if self._unseen:
            while self._open_unseen[name]:  # elements that were left open end with the one around them
                ended = self._unseen.pop()
                self._open_unseen[ended] -= 1
                if ended == name:
                    break
            return
        if name == "a" and self._link.startswith(("http://", "https://", "/")):
            self._parts.append(f" ({self._link})")
        self._link = "" if name == "a" else self._link
        self._pre = max(0, self._pre - (name == "pre"))
        if name in _BLOCKS:
            self._break()

    def _in_line(self, data: str) -> str:
        text = re.sub(r"\s+", " ", data)
        at_start = not self._parts or self._parts[-1].endswith(("\n", " "))
        return text.lstrip(" ") if at_start else text

    def _break(self) -> None:
        if any(not part.endswith("\n") for part in self._parts[-2:]):
            self._parts.append("\n")


def _is_hidden(attributes: str) -> bool:
    if "hidden" not in attributes and "style" not in attributes:
        return False
    given = {name.lower(): value for name, value in _ATTRIBUTE.findall(attributes)}
    return "hidden" in given or _HIDDEN.search(given.get("style", "").strip("\"'").lower()) is not None


def _attribute(attributes: str, name: str) -> str:
    for found, value in _ATTRIBUTE.findall(attributes):
        if found.lower() == name:
            return unescape(str(value).strip("\"'"))
    return ""

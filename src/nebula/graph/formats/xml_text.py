"""Any Unicode text as XML character data, and back, exactly.

CDATA cannot hold `]]>`, a parser turns CR LF into LF, and XML 1.0 has no way at all to write most control
characters. So `]]>` is split over two sections, CR stands between sections as `&#13;`, and a text with
impossible characters is written with `\\uXXXX` (its own backslashes too) on an element marked `escaped="true"`.
"""

from __future__ import annotations

import re

from nebula.graph.errors import BadText

ESCAPED = "escaped_attributes"
_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_TO_ESCAPE = re.compile("[\\\\\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKUP = re.compile("[&<>\"'\t\n\r]")
_ENTITY = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}


def refuse_surrogates(text: str, what: str) -> None:
    """Raise when the text holds half of a surrogate pair, which no UTF-8 file can carry."""
    found = _SURROGATE.search(text)
    if found:
        raise BadText(
            "{what} holds a lone surrogate (U+{code} at position {place}), which is not text",
            what=what,
            code=f"{ord(found.group()):04X}",
            place=found.start(),
        )


def escape_impossible(text: str) -> tuple[str, bool]:
    """Return the text with characters XML cannot hold as `\\uXXXX`, and whether that was needed."""
    data = text.encode("utf-8", "surrogatepass")  # in bytes, since looking for a set of characters is slower
    if len(data) == len(data.translate(None, _CONTROLS)) and "\ufffe" not in text and "\uffff" not in text:
        return text, False
    return _TO_ESCAPE.sub(lambda found: f"\\u{ord(found.group()):04x}", text), True


def unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found.group(1), 16)), text)


def attribute(text: str) -> str:
    """Text for between double quotes; also fit for an element's content."""
    return _MARKUP.sub(lambda found: _ENTITY[found.group()], text)


def attributes(**values: str) -> str:
    """Return the attributes as they stand in a tag, each after a blank. Those with characters that XML cannot hold are
    named in a last one, `escaped_attributes`; `plain_attributes` reads them back."""
    written, escaped = "", []
    for name, text in values.items():
        body, was_escaped = escape_impossible(text)
        written += f' {name}="{attribute(body)}"'
        if was_escaped:
            escaped.append(name)
    return written + (f' {ESCAPED}="{" ".join(escaped)}"' if escaped else "")


def plain_attributes(found: dict[str, str]) -> dict[str, str]:
    """Return what a parser found in a tag with the attributes that `attributes` escaped as they were."""
    if ESCAPED not in found:
        return found
    escaped = found[ESCAPED].split()
    return {name: unescape(text) if name in escaped else text for name, text in found.items()}


def block(element: str, attributes: str, text: str) -> str:
    """Return an element whose text stands in CDATA on lines of its own, as in the seed; nothing at all when empty."""
    body, escaped = escape_impossible(text)
    mark = ' escaped="true"' if escaped else ""
    if not body:
        return f"<{element}{attributes}></{element}>"
    body = body.replace("]]>", "]]]]><![CDATA[>").replace("\r", "]]>&#13;<![CDATA[")
    return f"<{element}{attributes}{mark}><![CDATA[\n{body}\n]]></{element}>"


def inline(element: str, text: str) -> str:
    """Return a short element on one line."""
    body, escaped = escape_impossible(text)
    mark = ' escaped="true"' if escaped else ""
    return f"<{element}{mark}>{attribute(body)}</{element}>"


def unwrap(text: str) -> str:
    """Return a text without the one line break that `block` puts on each side."""
    if text.startswith("\n"):
        text = text[1:]
    return text.removesuffix("\n")

"""Changes to a node file that touch only the elements they must.

What the tool does not know (an element of another program, an attribute, a comment) stays where it is.
"""

from __future__ import annotations

import re

from nebula.graph.formats import xml_text
from nebula.graph.formats.node_xml import PARTS, TEXT_PATHS, Element, NodeFile, dump_node, parse_node, text_element
from nebula.graph.values import Node
from nebula.value import replace

_KNOWN_TEXT = {"role", "count", "duration", "rate", "escaped", xml_text.ESCAPED}
_ID = re.compile(rb"""(<node\s[^<>]*?\bid\s*=\s*["'])[^"'<>]*(["'])""")
_Change = tuple[int, int, str]


def edit_node(data: bytes, node: Node, path: str) -> bytes:
    """Return the file's bytes changed to say what `node` says. Line ends of Windows, which mean nothing to a reader of
    XML, are not mixed with ours."""
    data = data.replace(b"\r\n", b"\n")
    file = parse_node(data, path)
    if file.node == node:
        return data
    whole = dump_node(node)  # refuses what cannot be stored
    try:
        edited = _patched(data, file, node)
        took = parse_node(edited, path).node == node
    except ValueError:
        return whole  # another encoding than UTF-8, a shape we do not see through, or too large with what others added
    return edited if took else whole


def _patched(data: bytes, file: NodeFile, node: Node) -> bytes:
    changes = _text_changes(data, file, node) + _metadata_changes(data, file, node)
    for start, end, text in sorted(changes, key=lambda change: change[:2], reverse=True):
        data = data[:start] + text.encode("utf-8") + data[end:]
    return data


def _text_changes(data: bytes, file: NodeFile, node: Node) -> list[_Change]:
    if file.node.texts == node.texts:
        return []
    elements = [element for element in file.elements if element.path in TEXT_PATHS]
    changes = []
    for number, text in enumerate(node.texts):
        if number >= len(elements):
            place = _inside_end(data, file, ("node", "contents"))
            changes.append((place, place, text_element(text) + "\n"))
        elif file.node.texts[number] != text:
            element = elements[number]
            changes.append((element.start, element.end, text_element(text, _other_attributes(element))))
    changes += [(element.start, element.end, "") for element in elements[len(node.texts) :]]
    return changes


def _other_attributes(element: Element) -> str:
    return "".join(
        f' {name}="{xml_text.attribute(value)}"'
        for name, value in element.attributes.items()
        if name not in _KNOWN_TEXT
    )


def _metadata_changes(data: bytes, file: NodeFile, node: Node) -> list[_Change]:
    changes = []
    missing = ""
    for part in PARTS:
        if all(getattr(file.node, name) == getattr(node, name) for name in part.fields):
            continue
        text = part.write(node)
        element = file.first("node", "metadata", part.name)
        if element:
            changes.append((element.start, element.end, text))
        elif text:
            missing += text + "\n"
    if missing:
        has_metadata = file.first("node", "metadata") is not None
        place = _inside_end(data, file, ("node", "metadata") if has_metadata else ("node",))
        changes.append((place, place, missing if has_metadata else f"<metadata>\n{missing}</metadata>\n"))
    return changes


def _inside_end(data: bytes, file: NodeFile, path: tuple[str, ...]) -> int:
    """Return the byte before an element's end tag. Raises ValueError when there is no such element, or it has no
    inside."""
    element = file.first(*path)
    if element is None:
        raise ValueError(path)
    return data.rindex(b"</", element.start, element.end)


def reidentified(data: bytes, node_id: str, path: str) -> bytes:
    """Return the file under another id, all else as it was."""
    data = data.replace(b"\r\n", b"\n")
    old = parse_node(data, path).node
    edited = _ID.sub(lambda found: found[1] + node_id.encode("utf-8") + found[2], data, count=1)
    wanted = replace(old, id=node_id)
    return edited if parse_node(edited, path).node == wanted else dump_node(wanted)

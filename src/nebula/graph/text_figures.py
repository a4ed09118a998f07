"""Figures of text that nobody measured: an estimated token count, and of rate and duration the one from the other."""

from __future__ import annotations

from nebula.graph.tokens import estimate_tokens
from nebula.graph.values import Node, Utterance
from nebula.value import replace


def measured(text: Utterance) -> Utterance:
    """Return the text with its figures as the file will hold them: two decimals."""
    count = text.count or estimate_tokens(text.text)
    rate = text.rate or (count / text.duration if text.duration > 0 else 0.0)
    duration = text.duration or (count / rate if rate > 0 else 0.0)
    return Utterance(text.role, text.text, count, round(duration, 2), round(rate, 2))


def with_text(node: Node, role: str, text: str) -> Node:
    """Return the node with what that role said replaced by one text, its figures estimated anew."""
    if node.said_by(role) == text:
        return node
    fresh = measured(Utterance(role, text))
    texts = []
    for old in node.texts:
        if old.role != role:
            texts.append(old)
        elif fresh not in texts:
            texts.append(fresh)
    if fresh not in texts:
        texts.insert(0 if role == "user" else len(texts), fresh)
    return replace(node, texts=tuple(texts))

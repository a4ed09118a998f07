"""Parsers, one for each language and process, loaded when first needed.

Read a point of a node by its place, `start_point[0]`: in py-tree-sitter 0.26 its attributes (`.row`)
spoil the memory."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from nebula.index.chunks.languages import LANGUAGES

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree


@cache
def _parser(language: str) -> Parser | None:
    """None where the wheel of the grammar is missing or does not fit: the file is then cut into windows."""
    from tree_sitter import Language, Parser

    module, _, function = LANGUAGES[language].grammar.partition(":")
    try:
        grammar = getattr(importlib.import_module(module), function)()
        return Parser(Language(grammar))
    except (ImportError, AttributeError, ValueError):
        return None


def parse(language: str, data: bytes) -> Tree | None:
    """The syntax tree, to be held for as long as its nodes are used; None for a language without a parser."""
    parser = _parser(language) if language in LANGUAGES else None
    return None if parser is None else parser.parse(data)

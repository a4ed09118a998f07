"""The code index as the settings of a project want it. Files that may hold secrets are not for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.workspace.guard.protected import standing_of

if TYPE_CHECKING:
    from nebula.config import Settings
    from nebula.index.index import Index


def may_hold_secrets(path: str) -> bool:
    return standing_of(tuple(path.split("/"))).secret


def open_index(settings: Settings) -> Index:
    """Raises IndexFailed where a database cannot be reached, or the embedder named is none."""
    from nebula.index.index import Index

    embedders = []
    if settings.embedder:
        from nebula.index.embedders.choose import make_embedder

        embedders = [make_embedder(settings.embedder, settings)]
    return Index.open(
        settings.root, home=settings.home, url=settings.index_url, embedders=embedders, hides=may_hold_secrets
    )

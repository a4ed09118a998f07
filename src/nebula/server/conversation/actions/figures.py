"""The action behind the page's figures: how well tasks go, and what they cost by day, model, flow and project."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from nebula.agent.figures.gather import flows_of, gather, known_projects
from nebula.agent.figures.kpis import figures_json
from nebula.config import Settings
from nebula.language import Sentence
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult
from nebula.workspace.records import moment


async def get_figures(
    server: ServerContext, _: Client, *, since: str | None = None, all_: bool = False
) -> ActionResult:
    """Return the figures. `since` is an ISO date; `all` includes every project in which this user has had a session or
    a task."""
    return ActionResult(await in_thread(_figures, server.settings, _moment(since) if since else None, all_))


def _figures(settings: Settings, since: datetime | None, every: bool) -> dict[str, Any]:
    projects = [settings.root, *(known_projects(settings.memory_path, settings.home) if every else ())]
    found = gather(projects, since, settings.audit_log)
    return figures_json(found, flows_of(found.projects))


def _moment(text: str) -> datetime:
    try:
        return moment(text)
    except ValueError:
        raise ActionError(
            "'{key}' must be {description}", key="since", description=Sentence("a date such as 2026-01-31")
        ) from None

"""What tests of nebula and of its tools need: a scripted session, captured events, a scripted model server.

    async with scripted_session([ScriptedReply("", [ScriptedCall("writeFile", {…})]), "Done."], ["yes"]) as scripted:
        final = await scripted.turn("Write it.")

Nothing of the product imports this package. docs/guides/testing.md shows its use.
"""

from __future__ import annotations

from nebula.testing.captured import CapturedEvents, captured_events
from nebula.testing.script import RecordedRequest, ScriptedCall, ScriptedFault, ScriptedReply, speak_dialect
from nebula.testing.server import ScriptedModel, refused_url
from nebula.testing.session import ScriptedConnector, ScriptedSession, ScriptEnded, scripted_session

__all__ = [
    "CapturedEvents",
    "RecordedRequest",
    "ScriptEnded",
    "ScriptedCall",
    "ScriptedConnector",
    "ScriptedFault",
    "ScriptedModel",
    "ScriptedReply",
    "ScriptedSession",
    "captured_events",
    "refused_url",
    "scripted_session",
    "speak_dialect",
]

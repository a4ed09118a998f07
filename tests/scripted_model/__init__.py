"""The scripted model server of `nebula.testing`, by the short names that the tests use, with scripts for planned tasks."""

from nebula.testing import RecordedRequest, ScriptedModel, refused_url
from nebula.testing import ScriptedCall as Call
from nebula.testing import ScriptedFault as Fault
from nebula.testing import ScriptedReply as Turn
from nebula.testing import speak_dialect as hermes

__all__ = ["Call", "Fault", "RecordedRequest", "ScriptedModel", "Turn", "hermes", "refused_url"]

"""The words of a question about one call, which every way to ask it shows above what the call names."""

from __future__ import annotations

from nebula.events import Approval
from nebula.language import Sentence

NETWORK_WARNING = Sentence(
    "It would share this machine's network, servers on loopback included; what it can read, it can send."
)


def head_question(question: Approval) -> Sentence:
    """Return the first line of a question about anything but changes."""
    heads = {
        "network": Sentence("A command asks for the network:"),
        "fetch": Sentence("Fetch a page of the web:"),
        "folders": Sentence("A virtual environment has its interpreter where commands do not see it:"),
        "secrets": Sentence("A command that failed needs files that it cannot read:"),
        "read": Sentence("Read a secret file: {path}", path=question.path),
        "call": Sentence("Call {tool} with:", tool=question.tool),
    }
    return heads[question.kind]

"""Preview the context of a prompt: what a turn would send to the model, part by part."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.attached.gather import gather
from nebula.agent.context.building import past_sizes
from nebula.agent.context.tokens import message_tokens
from nebula.agent.place import Place
from nebula.agent.session import Session
from nebula.attachments import Attachment, attach
from nebula.graph.context.preview import ContextPreview
from nebula.messages import UserMessage


def preview_turn(
    session: Session,
    node_ids: Sequence[str],
    prompt: str = "",
    references: Sequence[str] = (),
    flow: str | None = None,
    without: Sequence[str] = (),
    attachments: Sequence[Attachment] = (),
) -> ContextPreview:
    """Return the context of a prompt that continues from these nodes, as `session.turn` would send it.

    Raises NotFound.
    """
    here = session.conversation
    if tuple(node_ids) != (here.leaf,):
        here = Place.at_nodes(session.archive, node_ids, flow).conversation
    beside = session.reader.find_references(prompt, session.archive.known(references))
    context = session.build_context("preview", prompt, here.without(without), beside)
    files = session.bench.readable_files("preview")
    found = gather(prompt, attachments, files, context.budget.attachment_bytes).attachments
    alone = UserMessage.new_prompt(prompt)
    said = attach(alone, found)
    attached = tuple(
        {"name": each.name, "kind": each.kind, "tokens": message_tokens(attach(alone, [each])) - message_tokens(alone)}
        for each in found
    )
    past, parts, system = context.past, context.past.parts(), context.system_with_past
    whole = (part.text for part in parts if part.form == "full")
    text = "\n\n".join((system, *whole, said.content_with_context()))
    frame = context.budget.fixed + message_tokens(said)
    sizes = past_sizes(here, session.archive.find)
    return ContextPreview(parts, list(past.left_out), frame, context.budget.past, text, system, attached, sizes)

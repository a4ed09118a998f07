"""A commit message from what is staged and the prompts behind it. Nothing is added to it that nobody asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nebula.agent.commits.staged import StagedFile
from nebula.agent.model_call import ask_once
from nebula.llm.choose import ChosenModel
from nebula.llm.errors import BadReplyError
from nebula.messages import strip_hidden_characters, truncate_safe
from nebula.messages.redaction import Redactor

MOST_PROMPT_BYTES = 2_000
MOST_PROMPTS = 20
MOST_FILES = 100
_ADDED = re.compile(r"(?im)^[^\S\n]*(?:co-authored-by|signed-off-by|generated (?:with|by)\b|🤖).*$\n?")
"""What models like to sign with; a person who wants such a line writes it."""
_FENCE = re.compile(r"```\w*\n(.*?)\n?```\s*", re.DOTALL)

ASKED = """\
Write the message of a git commit for the changes below. First a subject of at most 60 characters that says what it \
does; then, where it is needed, a blank line and one short paragraph that says why. No list of files, no signature, no \
trailer, no quotes, no Markdown. Use the language of what was asked for. Answer with the message alone.

# What was asked for
{prompts}

# Files
{files}

# The changes
{diff}"""


async def propose_message(
    chosen: ChosenModel, files: Sequence[StagedFile], diff: str, prompts: Sequence[str], redactor: Redactor
) -> str:
    """Return a message for a commit of `files`; `prompts` are those of the turns behind it. Raises ModelError."""
    listed = [f"{each.status} {each.path}" for each in files[:MOST_FILES]]
    if len(files) > MOST_FILES:
        listed.append(f"… and {len(files) - MOST_FILES} more")
    wanted = [f"- {truncate_safe(each, MOST_PROMPT_BYTES)}" for each in prompts[-MOST_PROMPTS:]]
    text = ASKED.format(prompts="\n".join(wanted) or "(nobody knows)", files="\n".join(listed), diff=diff)
    text = redactor.text(strip_hidden_characters(text))
    reply = await ask_once(chosen, text)
    if message := clean_message(reply.message.content):
        return message
    raise BadReplyError("The model wrote no commit message. Ask again, or choose another model.")


def clean_message(reply: str) -> str:
    """Return the message in a reply, without what was put around it or added to it."""
    text = strip_hidden_characters(reply).strip()
    if fenced := _FENCE.fullmatch(text + "\n"):
        text = fenced[1]
    return _ADDED.sub("", text).strip()

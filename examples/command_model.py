"""A connector: any command that reads a conversation and prints an answer becomes a model of nebula.

    python examples/command_model.py "What is two and two?" -- my-model --quiet

It asks the command once a round. What it prints is the answer; it can call no tools.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator

from nebula.agent.assembly import open_session
from nebula.config import load_settings
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, StreamItem, TextDelta
from nebula.llm.errors import ModelError
from nebula.messages import AssistantMessage, UserMessage
from nebula.tools.approval import allow_all


class CommandModel:
    """What every connector has: a name, `stream`, what models there are, and a way to close."""

    provider = "command"

    def __init__(self, *command: str) -> None:
        self.command = command

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamItem]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*self.command, stdin=pipe, stdout=pipe)
        answer, _ = await process.communicate(render(request).encode())
        if process.returncode:
            raise ModelError("The command ended with {code}.", code=process.returncode)
        text = answer.decode().strip()
        yield TextDelta(text)
        yield ModelReply(AssistantMessage.new_response(None, text))

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(self.command[0], self.provider, tools=False)]

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider, tools=False)

    async def aclose(self) -> None:
        return None


def render(request: ModelRequest) -> str:
    """Write the conversation as text: the instructions, then who said what."""
    lines = [request.system]
    for message in request.messages:
        if isinstance(message, UserMessage):
            lines.append(f"user: {message.prompt or message.tool_use_results}")
        else:
            lines.append(f"assistant: {message.content}")
    return "\n\n".join(lines)


async def main(prompt: str, command: list[str]) -> int:
    chosen = ChosenModel(CommandModel(*command), command[0])
    session = await open_session(load_settings(".", os.environ), approver=allow_all, chosen=chosen)
    try:
        final = await session.turn(prompt)
    finally:
        await session.close()
    print(final.text or final.remark)
    return final.exit_code


if __name__ == "__main__":
    at = sys.argv.index("--")
    sys.exit(asyncio.run(main(" ".join(sys.argv[1:at]), sys.argv[at + 1 :])))

import asyncio
from pathlib import Path

from nebula.events import ToolResult
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session

READ = ScriptedReply("I look.", [ScriptedCall("readFile", {"path": "greet.py"})])
WRITE = ScriptedReply("I change it.", [ScriptedCall("writeFile", {"path": "greet.py", "content": "print('hi')\n"})])


async def main() -> None:
    async with scripted_session([READ, "It prints hello.", WRITE, "I could not."]) as agent:
        Path(agent.root, "greet.py").write_text("print('hello')\n")
        await agent.turn("What does greet.py do?")
        first, second = agent.requests
        print("the file in request 1:", "hello" in str(first.messages))
        print("the file in request 2:", "hello" in str(second.messages))

        await agent.turn("Let it say hi.")
        refused = agent.events.of(ToolResult)[-1].result
        print("writing over it:", refused.status, "-", refused.as_text())


asyncio.run(main())

import asyncio
from pathlib import Path

from nebula.events import ToolResult
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session

EDIT = ScriptedReply("", [ScriptedCall("editFile", {"path": "greet.py", "new_content": "print('hi')\n"})])
READ = ScriptedReply("", [ScriptedCall("readFile", {"path": "greet.py"})])


async def main() -> None:
    async with scripted_session([EDIT, READ, EDIT, "Done."], ["yes"]) as agent:
        file = Path(agent.root, "greet.py")
        file.write_text("print('hello')\n")
        await agent.turn("Let it say hi.")
        for each in agent.events.of(ToolResult):
            print(f"{each.tool}: {each.result.status}")
        print("asked first:", [question.path for question in agent.questions])
        print("the file:", file.read_text().strip())


asyncio.run(main())

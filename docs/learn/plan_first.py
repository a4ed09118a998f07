import asyncio
from pathlib import Path

from nebula.events import ToolResult
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session

WRITE = ScriptedReply("", [ScriptedCall("writeFile", {"path": "notes.md", "content": "# Notes\n"})])


async def main() -> None:
    async with scripted_session([WRITE, "I would make notes.md.", WRITE, "Made."], mode="plan") as agent:
        await agent.turn("Start a file for notes.")
        offered = {tool.name for tool in agent.requests[0].tools}
        print("offered to write with:", sorted(offered & {"writeFile", "editFile"}))
        print("writing in plan mode:", agent.events.of(ToolResult)[0].result.status)
        print("files:", sorted(path.name for path in Path(agent.root).glob("*.md")))

        agent.session.switch_mode("agent")
        await agent.turn("Good. Do it.")
        print("files:", sorted(path.name for path in Path(agent.root).glob("*.md")))
        print("the plan in the last request:", "I would make notes.md" in str(agent.requests[-1].messages))


asyncio.run(main())

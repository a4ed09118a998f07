import asyncio
from pathlib import Path

from nebula.events import ToolResult
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session

QUESTION = "where is the session cookie saved"
WORDS = ScriptedReply("", [ScriptedCall("searchInDirectory", {"directory": ".", "keyword": "session cookie"})])
INDEX = ScriptedReply("", [ScriptedCall("searchCode", {"query": QUESTION})])


async def main() -> None:
    async with scripted_session([WORDS, INDEX, "In login.py:L1-L2."]) as agent:
        for number in range(30):
            Path(agent.root, f"part{number}.py").write_text(f"def work{number}(order):\n    return order\n")
        Path(agent.root, "login.py").write_text("def saveSessionCookie(answer, token):\n    answer.cookie = token\n")
        final = await agent.turn(QUESTION)
        words, index = agent.events.of(ToolResult)
        print("the words as typed:", words.result.as_text())
        print("the index:", [f"{each.path}:{each.span}" for each in index.evidence][:1])
        print("citations that hold:", final.citations.held, "of", final.citations.total)


asyncio.run(main())

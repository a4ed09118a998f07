import asyncio
import tempfile
from pathlib import Path

from nebula.config import Settings
from nebula.events import Checked, Repair
from nebula.testing import ScriptedCall, ScriptedReply, scripted_session
from nebula.value import replace


def rename_in(path: str) -> list[ScriptedReply]:
    edit = {"path": path, "edits": [{"old_text": "total", "new_text": "sum_up"}]}
    return [
        ScriptedReply("", [ScriptedCall("readFile", {"path": path})]),
        ScriptedReply("", [ScriptedCall("editFile", edit)]),
    ]


async def attempt(settings: Settings, replies: list) -> None:
    Path(settings.root, "shop.py").write_text("def total(prices):\n    return sum(prices)\n")
    Path(settings.root, "main.py").write_text("import shop\n\nprint(shop.total([1, 2]))\n")
    async with scripted_session(replies, settings=settings) as agent:
        final = await agent.turn("Rename total to sum_up.")
        checks = ["passed" if each.check.passed else "failed" for each in agent.events.of(Checked)]
        print(f"{final.status}: checks {checks}, repairs {len(agent.events.of(Repair))}, verified {final.verified}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as home:
        plain = Settings(home=home, root=root)
        checked = replace(plain, checks=("python3 main.py",), repair=True, trust=True)
        half = [*rename_in("shop.py"), "I renamed it."]
        await attempt(plain, half)
        await attempt(checked, [*half, *rename_in("main.py"), "And the caller."])


asyncio.run(main())

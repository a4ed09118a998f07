import asyncio
import tempfile

from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.testing import scripted_session


async def ask(settings: Settings, prompt: str, answer: str, *from_nodes: str) -> tuple[str, int]:
    async with scripted_session([answer], settings=settings, from_nodes=from_nodes) as agent:
        final = await agent.turn(prompt)
        return str(final.node_id), len(agent.requests[0].messages)


async def main() -> None:
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as home:
        settings = Settings(home=home, root=root)
        first, _ = await ask(settings, "My project is called Lupin.", "Noted.")
        _, sent = await ask(settings, "What is it called?", "I do not know.")
        print("messages in a new session:", sent)

        second, sent = await ask(settings, "What is it called?", "Lupin.", first)
        print("messages behind that node:", sent)
        third, _ = await ask(settings, "Give it another name.", "Moth.", first)
        with Graph(f"{root}/.nebula/graph") as graph:
            for node in (second, third):
                print(" → ".join(each.prompt for each in graph.get_history(node)))


asyncio.run(main())

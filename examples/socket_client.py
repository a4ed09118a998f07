"""A client of the socket: it sends one prompt to a running `nebula serve` and prints what is said.

    python examples/socket_client.py http://127.0.0.1:8080/#token=… "What does this project do?"

The address is the one that `nebula serve` prints. It answers every question with no.
"""

import asyncio
import json
import sys
from urllib.parse import unquote, urlsplit

from websockets.asyncio.client import connect


async def main(address: str, prompt: str) -> int:
    parts = urlsplit(address)
    async with connect(f"ws://{parts.netloc}/") as socket:

        async def send(action: str, **data: object) -> None:
            await socket.send(json.dumps({"action": action, "data": data, "id": action}))

        await send("hello", token=unquote(parts.fragment.removeprefix("token=")), lang="en")
        await send("send_prompt", prompt=prompt, **{"from": []})
        async for text in socket:
            message = json.loads(text)
            if message.get("status") == "error":
                print(message["error"]["message"], file=sys.stderr)
                return 1
            event, data = message.get("event"), message.get("data", {})
            if event == "message" and data["text"]:
                print(data["text"])
            elif event == "approval" and not data.get("decision"):
                await send("approve", approval_id=data["approval_id"], decision="no")
            elif event == "final":
                return int(data["exit_code"])
    return 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:3])))

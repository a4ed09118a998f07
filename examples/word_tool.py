"""A tool for the agent: it counts words. `nebula mcp add words -- python examples/word_tool.py`"""

from mcp.server import MCPServer

server = MCPServer("words")


@server.tool()
def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


if __name__ == "__main__":
    server.run()

"""The conversation graph and its turns over a WebSocket, and the page that uses it."""

"""The actions that a client can ask for on the WebSocket."""

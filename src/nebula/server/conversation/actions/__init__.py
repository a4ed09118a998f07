"""What a client may ask for on the WebSocket."""

"""Web pages: asked about by host, fetched within limits, read as text."""

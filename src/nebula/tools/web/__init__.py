"""Pages of the web: asked about by host, fetched within limits, read as text."""

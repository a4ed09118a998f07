"""Tool calls in plain JSON, for models that have none of their own."""

"""The agent: one loop, and what is put together around it."""

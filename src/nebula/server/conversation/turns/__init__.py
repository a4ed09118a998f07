"""The turns that answer the prompts of clients."""

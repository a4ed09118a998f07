"""Prompts being answered for clients."""

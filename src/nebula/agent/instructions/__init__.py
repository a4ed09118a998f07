"""The instructions that people write for agents: where they lie, and in which order they are told."""

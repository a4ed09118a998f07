"""The instructions that people write for agents: where they are kept, and in which order the model gets them."""

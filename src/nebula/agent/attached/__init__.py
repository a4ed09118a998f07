"""What is attached to a prompt: found in its words, read through the guarded workspace, made to fit."""

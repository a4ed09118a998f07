"""What is sent to the model at the beginning of a turn: system prompt, project, as much of the past as fits."""

"""What the session understands besides prompts. A new command is one module and one line in `table`."""

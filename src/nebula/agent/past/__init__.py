"""What is kept of turns that are too old to be sent whole: chapters, summaries, and what the user wanted to keep."""

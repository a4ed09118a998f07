"""What is kept of turns that are too old to be sent whole: chapters, summaries, what the user wanted kept."""

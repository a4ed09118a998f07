"""nebula -p: one task, no questions, results on stdout and remarks on stderr."""

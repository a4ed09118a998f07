"""nebula race at the command line: the tries as they go, what came of them, and taking one."""

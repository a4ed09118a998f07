"""Places for tries: the project as it was at one moment, and for each try a place over it that nobody else sees."""

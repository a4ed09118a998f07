"""List and search the files below a folder, by the rules of git."""

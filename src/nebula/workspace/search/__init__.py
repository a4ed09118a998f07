"""List and search below a folder, by the rules of git."""

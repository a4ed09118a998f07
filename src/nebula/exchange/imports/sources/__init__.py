"""One module for each agent whose records are read: where they lie, and what their lines mean."""

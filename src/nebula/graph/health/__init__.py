"""Looking for what is wrong in a data folder, and repairing it."""

"""Making segments from files, in this process or in several."""

"""Building summaries and tags: by a model, or as extracts where there is none."""

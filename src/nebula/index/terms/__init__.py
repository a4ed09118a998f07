"""From texts, paths and questions to search terms."""

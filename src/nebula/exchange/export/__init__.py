"""A part of the conversation as Markdown, as one page of HTML, or as JSON."""

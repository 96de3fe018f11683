"""Pages of the laboratory: results and runs as documents, and results as Markdown."""

"""Figures of the laboratory, drawn from results folders; nothing here trains."""

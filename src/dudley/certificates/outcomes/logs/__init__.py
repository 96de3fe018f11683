"""Logs of other tools, read as tables of outcomes; files are read, and no tool is imported."""

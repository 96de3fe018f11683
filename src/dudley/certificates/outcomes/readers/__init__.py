"""Readers of tables of outcomes, by the ending of the file; each hands over columns in parts."""

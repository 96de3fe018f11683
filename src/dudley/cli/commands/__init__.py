"""The commands: a file for each, with a function or a Typer of the same name."""

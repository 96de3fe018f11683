"""One file for each family of attacks; adding one means adding a file."""

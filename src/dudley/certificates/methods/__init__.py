"""Methods: a folder each, and in its ``method.py`` the class that is registered under its name."""

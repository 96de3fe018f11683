"""Methods: a folder each, and in its ``method.py`` the class that is registered under its name.

The folder of ``norm-cover`` is ``norm_cover``: a look-up by name imports that method alone
(`dudley.core.registry`).
"""

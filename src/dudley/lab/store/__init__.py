"""Where results are kept: a folder or a PostgreSQL database, safe against kills and crowds."""

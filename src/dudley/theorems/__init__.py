"""Published statements as programs, one package for each paper."""

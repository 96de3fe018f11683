"""``python -m dudley``."""

from dudley.cli import main

if __name__ == "__main__":
    main()

"""Keep what is freed: a training frees at every step what it asks for again at the next.

glibc gives each large array back to the system and gets it anew, page by page, filled with zeros:
in trainings on a processor that took a seventh of the time, and half of it where memory was short.
A process that trains and does nothing else keeps the pages instead; its largest use stays the same.
"""

from __future__ import annotations

import ctypes
import sys

MMAP_MAX, TRIM_THRESHOLD, TOP_PAD = -4, -1, -2  # numbers of mallopt(3)
MOST, PAD = 2**31 - 1, 2**27


def keep_freed_memory() -> bool:
    """From now on for all of this process; False where the C library has no such settings."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    settings = ((MMAP_MAX, 0), (TRIM_THRESHOLD, MOST), (TOP_PAD, PAD))
    return all([mallopt(name, value) == 1 for name, value in settings])

"""A body that comes in time: a visitor who stops sending, or sends a trickle, is told so with 408.

Files are looked at one at a time, so whoever holds the place without sending anything would keep
all others out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dudley.core.errors import DudleyError

SLOWEST = 64 << 10  # bytes a second that a visitor sends at least, on the average


class Stalled(DudleyError):
    """A body that did not come in time."""


async def timely(
    stream: AsyncIterator[bytes], size: int, patience: float, slowest: int = SLOWEST
) -> AsyncIterator[bytes]:
    """The chunks of a stream of about ``size`` bytes, each within ``patience`` seconds.

    All of them together may take as long as the slowest visitor does, and ``patience`` more.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + patience + size / slowest
    chunks = aiter(stream)
    while True:
        try:
            async with asyncio.timeout_at(min(clock() + patience, end)):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Stalled(
                f"upload: expected {size:,} bytes, at least some every {patience:g} s and "
                f"{slowest >> 10} KiB a second in all, got too few; send them again"
            ) from None
        yield chunk

"""What views share; ``__init__.py`` loads each name on first use."""

from dudley.show.views.base import (
    VIEWS as VIEWS,
    ResultView as ResultView,
    view_of as view_of,
)

__all__: list[str]

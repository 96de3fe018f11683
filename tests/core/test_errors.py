"""Every refusal is one line: what was expected, what came, what to do."""

import pytest

from dudley.core.errors import DudleyError, InputError, NotYetPaid, UnknownName


def test_input_error():
    error = InputError("delta", "a number in (0, 1)", 2, "pass delta=0.05")
    assert str(error) == "delta: expected a number in (0, 1), got 2; pass delta=0.05"
    assert isinstance(error, DudleyError)
    assert isinstance(error, ValueError)


def test_what_came_is_cut_and_what_to_do_is_not():
    fix = "take it " * 30
    error = InputError("name", "a short one", "x" * 500, fix.strip())
    assert len(str(error)) < 450 and str(error).endswith(f"…; {fix.strip()}")
    outer = str(InputError("method", "one that does not refuse", error))
    assert outer.endswith(str(error))


def test_unknown_name_prints_without_quotes():
    error = UnknownName("norm", "col12", ["col21", "row21", "op"])
    assert str(error) == "unknown norm 'col12'; did you mean col21?"
    assert isinstance(error, KeyError)
    assert "known: op, row21" in str(UnknownName("norm", "??", ["row21", "op"]))


def test_every_error_can_be_caught_as_one():
    for error in (InputError("a", "b", "c"), UnknownName("k", "n", []), NotYetPaid("x")):
        with pytest.raises(DudleyError):
            raise error
        assert "\n" not in str(error)

"""A loop over rows hides none of them: each that fails is named, whatever it raises."""

import pytest

from each import each, for_each


def test_every_failing_row_is_named_and_those_after_it_are_tried():
    tried = []

    def check(number):
        tried.append(number)
        assert number % 2, "even"
        with pytest.raises(ZeroDivisionError):
            1 / (number - 3)

    with pytest.raises(AssertionError) as error:
        for_each([("first", 1), ("second", 2), ("third", 3), ("fourth", 4)], check)
    assert tried == [1, 2, 3, 4]
    lines = str(error.value).splitlines()
    assert lines[0] == "3 of 4 rows failed"
    assert [line.partition(":")[0] for line in lines if ": " in line] == [
        "first",
        "second",
        "fourth",
    ]
    for_each([("third", 3)], check)


def test_a_bare_name_is_its_own_argument():
    with pytest.raises(AssertionError, match="b: KeyError"):
        for_each(["a", "b"], {"a": 1}.__getitem__)


def test_a_table_without_rows_is_refused():
    with pytest.raises(AssertionError, match="no rows"):
        for_each([], print)


def test_a_row_that_skips_is_refused():
    with pytest.raises(AssertionError, match="b: Skipped"):
        for_each([("a", 0), ("b", 1)], lambda skip: skip and pytest.skip("why"))


@pytest.fixture
def seen() -> list:
    return []


@each("word, length", [("one", 3), ("three", 5)])
@each("times", lambda: [1, 2])
def test_rows_multiply_and_fixtures_pass_through(seen, word, times, length):
    seen.append((word, times))
    assert len(word * times) == length * times
    assert len(set(seen)) == len(seen)


def test_a_decorated_test_names_the_rows_that_fail():
    @each("n", [1, 2, 3], ids=lambda n: f"number {n}")
    def is_small(n):
        assert n < 2

    with pytest.raises(AssertionError) as error:
        is_small()
    assert str(error.value).startswith("2 of 3 rows failed\nnumber 2: AssertionError")
    assert "number 3" in str(error.value) and "number 1" not in str(error.value)


@each("name", ["a", "b"])
@each("size", [1, 2])
def test_every_row_has_a_folder_of_its_own(tmp_path, name, size):
    assert not list(tmp_path.iterdir())
    (tmp_path / name).write_text(name * size)

"""Nodes register themselves; their order does not depend on what was imported first."""

import subprocess
import sys

import pytest

import dudley as du
from dudley.networks.registry import NODES, READING_ORDER


@pytest.mark.parametrize("first", ["pointwise", "files"])
def test_the_order_is_that_of_reading_whatever_is_imported_first(first):
    code = f"import dudley.networks.{first}, dudley.networks.registry as r; print(*r.NODES)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert tuple(done.stdout.split()) == READING_ORDER


def test_every_name_of_the_order_is_a_node():
    assert tuple(NODES) == READING_ORDER
    assert NODES["head"] is du.Head and NODES["pre-ln-block"] is du.pre_ln_block


def test_a_further_node_comes_last_and_can_be_taken_out():
    NODES.register("aaa")(du.Pool)
    try:
        assert [*NODES][-1] == "aaa"
        assert {name: NODES[name] for name in NODES}["aaa"] is du.Pool
    finally:
        assert NODES.remove("aaa") is du.Pool
    assert "aaa" not in NODES

"""Domains and variables: what they refuse, and that they keep their order."""

import pytest

from pramana_core.domain import Domain, Variable
from pramana_core.errors import DomainError, UnknownCategory, UnknownVariable


@pytest.mark.parametrize(
    ("name", "categories", "numbers"),
    [
        ("", ("a", "b"), None),
        (" x", ("a", "b"), None),
        ("x", ("a",), None),
        ("x", ("a", "b", "a"), None),
        ("x", ("a", "b"), (1.0,)),
        ("x", ("a", "b"), (1.0, 2.0, 3.0)),
        ("x", ("a", "b"), (1.0, float("nan"))),
        ("x", ("a", "b"), (float("inf"), 1.0)),
    ],
)
def test_impossible_variables_are_refused(name, categories, numbers):
    with pytest.raises(DomainError) as caught:
        Variable(name, categories, numbers)
    assert caught.value.where == name


def test_numbers_have_one_form():
    """Equal variables must be written alike: 1 as 1.0, and -0.0 as 0.0."""
    variable = Variable("x", ("a", "b"), (1, -0.0))
    assert repr(variable.representatives) == "(1.0, 0.0)"
    assert variable == Variable("x", ("a", "b"), (1.0, 0.0))
    assert Domain((variable,)).project(["x"])["x"].representatives == (1.0, 0.0)


def test_projection_keeps_the_order_asked_for():
    domain = Domain.of(x="ab", y="cde", z="fg")
    assert domain.project(["z", "x"]).shape == (2, 2)
    assert domain.project(["z", "y"]).names == ("z", "y")
    assert domain.size == 12
    assert "y" in domain
    assert "w" not in domain
    assert domain.project(["x"]).join(domain.project(["z"])).names == ("x", "z")


def test_unknown_names_and_categories_say_what_there_is():
    domain = Domain.of(x="ab")
    with pytest.raises(UnknownVariable, match="variables are x"):
        domain["y"]
    with pytest.raises(UnknownCategory, match=r"\['a', 'b'\]"):
        domain["x"].code("c")
    assert domain["x"].code("b") == 1

"""Domains and variables: what they refuse, and that they keep their order."""

import pytest

from shared.domain import Domain, Variable
from shared.errors import DomainError, UnknownCategory, UnknownVariable


@pytest.mark.parametrize(
    ("name", "categories", "says"),
    [
        ("", ("a", "b"), "name is empty"),
        (" x", ("a", "b"), "spaces around"),
        ("x", ("a",), "has 1 categories"),
        ("x", ("a", "b", "a"), "a category twice: ['a']"),
    ],
)
def test_impossible_variables_are_refused(name: str, categories: tuple[str, ...], says: str):
    with pytest.raises(DomainError) as caught:
        Variable(name, categories)
    assert says in str(caught.value)


def test_a_name_used_twice_is_refused():
    with pytest.raises(DomainError, match="names a variable twice"):
        Domain((Variable("x", ("a", "b")), Variable("x", ("c", "d"))))


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
    with pytest.raises(UnknownVariable, match=r"no variable 'y'.*\['x'\]"):
        domain["y"]
    with pytest.raises(UnknownCategory, match=r"no category 'c'.*\['a', 'b'\]"):
        domain["x"].code("c")
    assert domain["x"].code("b") == 1

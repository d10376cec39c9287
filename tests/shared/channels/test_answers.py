"""What a channel says of itself, against its listed matrix."""

from __future__ import annotations

import numpy as np
import pytest

from pramana_core.channels import FAMILIES, Transition
from tests.shared.channels.examples import EXAMPLES


@pytest.fixture(params=EXAMPLES)
def channel(request) -> Transition:
    return EXAMPLES[request.param]


def test_every_family_has_an_example_and_a_name_of_its_own():
    assert {type(channel) for channel in EXAMPLES.values()} == set(FAMILIES)
    assert len({family.family for family in FAMILIES}) == len(FAMILIES)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_every_action_is_that_of_the_matrix_or_of_the_decoder(channel: Transition, axis: int):
    matrix = channel.matrix()
    assert channel.shape == matrix.shape
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
    actions = [(channel.apply, matrix.T), (channel.apply_adjoint, matrix)]
    if channel.condition_number < 1e8:
        decoder = channel.decoder()
        np.testing.assert_allclose(decoder @ matrix.T, np.eye(len(matrix)), atol=1e-12)
        sums = decoder.sum(axis=0)[matrix.max(axis=0) > 0]
        assert np.allclose(sums, 1) == channel.normalized
        actions += [
            (channel.solve, decoder),
            (channel.solve_adjoint, decoder.T),
            (channel.solve_square, decoder**2),
        ]
    for act, by in actions:
        shape = [3, 4, 5]
        shape[axis] = by.shape[1]
        tensor = np.random.default_rng(1).normal(size=shape)
        wanted = np.moveaxis(np.tensordot(by, tensor, axes=(1, axis)), 0, axis)
        np.testing.assert_allclose(act(tensor, axis), wanted, rtol=1e-9, atol=1e-9)
    if matrix.shape[0] == matrix.shape[1] and channel.condition_number < 1e8:
        assert channel.condition_number == pytest.approx(np.linalg.cond(matrix), rel=1e-9)


def test_a_mixture_is_its_matrix_and_its_inverse(channel: Transition):
    assert (channel.mixture is None) == (channel.inverse_mixture is None)
    if channel.mixture is not None and channel.inverse_mixture is not None:
        matrix = channel.matrix()
        for (a, b), wanted in (
            (channel.mixture, matrix),
            (channel.inverse_mixture, np.linalg.inv(matrix)),
        ):
            np.testing.assert_allclose(a * np.eye(len(matrix)) + b, wanted, atol=1e-12)


def test_the_families_that_mix_say_so():
    mixing = {"identity", "symmetric", "random-symmetric", "mixture"}
    assert {c.family for c in EXAMPLES.values() if c.mixture is not None} == mixing


def test_it_is_deterministic_where_every_row_has_one_report(channel: Transition):
    assert channel.deterministic == bool(np.allclose(channel.matrix().max(axis=1), 1, atol=1e-12))
    assert channel.deterministic or not channel.is_identity


def test_its_matrix_is_the_identity_where_it_says_so(channel: Transition):
    matrix = channel.matrix()
    square = matrix.shape[0] == matrix.shape[1]
    if channel.is_identity and square:
        np.testing.assert_array_equal(matrix, np.eye(len(matrix)))
    assert channel.is_identity or not (square and np.array_equal(matrix, np.eye(len(matrix))))


def test_what_is_replaced_is_what_is_not_on_the_diagonal(channel: Transition):
    if channel.replaced is not None:
        np.testing.assert_allclose(1 - np.diagonal(channel.matrix()), channel.replaced)


def test_what_is_known_exactly_is_what_the_matrix_has(channel: Transition):
    matrix = channel.matrix()
    ratios = matrix.max(axis=0) / np.maximum(matrix.min(axis=0), 1e-300)
    if channel.amplification is not None and np.isfinite(channel.amplification):
        np.testing.assert_allclose(channel.amplification, ratios.max())
    if channel.exact_mixture is not None and not channel.withheld:
        keep, off = map(float, channel.exact_mixture)
        size = len(matrix)
        np.testing.assert_allclose((keep - off) * np.eye(size) + off, matrix, atol=1e-15)
    theta = np.full(len(matrix), 1 / len(matrix))
    if channel.condition_number < 1e8 and not channel.choices:
        squares = np.einsum("k,kl,jl->j", theta, matrix, channel.decoder() ** 2)
        np.testing.assert_allclose(channel.uniform_mean_square, squares.mean())


@pytest.mark.parametrize("name", [name for name, c in EXAMPLES.items() if c.choices])
def test_a_variable_is_reported_as_often_as_its_code_is_another_than_withheld(name):
    sampled = EXAMPLES[name]
    law = sampled.matrix()[0].reshape(sampled.report_sizes(sampled.sizes))
    for axis, size in enumerate(sampled.sizes):
        told = law.sum(axis=tuple(a for a in range(law.ndim) if a != axis))
        told = told.sum() - told[size]
        assert sampled.share_reported(axis) == pytest.approx(told)


def test_documents_hold_numbers_only_and_the_name_of_a_coin(channel: Transition):
    def whole(value) -> bool:
        if isinstance(value, dict):
            return all(whole(v) for k, v in value.items() if k not in ("family", "coin"))
        return (
            all(map(whole, value)) if isinstance(value, list) else type(value) in (int, type(None))
        )

    document = channel.as_dict()
    assert whole(document)
    assert document["family"] == channel.family

"""Whoever states or sends something else than agreed ends the session, with no file anywhere."""

import json
from dataclasses import replace

import httpx
import numpy as np
import pytest

from owner_agent.peer import participant
from owner_agent.peer.exchange.outgoing import share_of
from owner_agent.peer.protocol.identity import state
from owner_agent.peer.protocol.messages import (
    Announcement,
    NetworkPart,
    Offer,
    Package,
    ResultAgreement,
    Signed,
    Statements,
)
from owner_agent.peer.protocol.steps import ANNOUNCEMENTS, BEGIN, COMMIT, OFFERS, PARTS, PROPOSE
from pramana_core.channels import Symmetric
from pramana_core.errors import PeerDeviated, StateError
from pramana_core.plan import Block, Plan
from pramana_core.wire.channels import PlanMessage
from pramana_core.wire.releases import release_digest

SESSION = "ab" * 16


# Owners that send other data than they announced -------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda body: body[:-9] + bytes([body[-9] ^ 1]) + body[-8:], "north sent other bytes"),
        (lambda body: body + b"\0", "north sent more than the .* bytes it announced"),
        (lambda body: b"", "north sent other bytes"),
    ],
)
def test_columns_that_are_not_those_announced(world, ended, change, match):
    def bend(receiver, request, response):
        if receiver == "north" and "/parts/" in request.url.path:
            return httpx.Response(200, content=change(response.content))
        return response

    world.wire.bend_answer = bend
    ended(PeerDeviated, match, alike=False)


def stated_again(world, owner, kind, content, **change):
    """A statement of an owner with other content, which the owner itself has signed."""
    message = kind.model_validate({**json.loads(content), **change})
    return state(world.participants[owner].identity, SESSION, message)


def bent_answers(world, path_end, alter):
    """Let an owner's answers of one step come altered."""

    def bend(receiver, request, response):
        if request.url.path.endswith(path_end) and response.status_code < 300:
            told = alter(receiver, Signed.model_validate_json(response.content))
            return httpx.Response(200, content=told.model_dump_json().encode())
        return response

    world.wire.bend_answer = bend


def test_a_statement_that_its_owner_did_not_sign(world, ended):
    """Somebody between south and north changes the number of records that south offers."""

    def alter(receiver, told):
        content = told.content.replace('"records":2000', '"records":2001')
        assert receiver != "south" or content != told.content
        return told.model_copy(update={"content": content}) if receiver == "south" else told

    bent_answers(world, "/sessions", alter)
    match = "signature of south does not match its offer|altered offer of south"
    ended(PeerDeviated, match, alike=False)


GHOST = [
    {"variable": {"name": "E", "categories": ["no", "yes"]}, "sensitive": False},
    {"variable": {"name": "ghost", "categories": ["no", "yes"]}, "sensitive": False},
]


@pytest.mark.parametrize(
    ("owner", "kind", "change", "match"),
    [
        ("east", Offer, {"variables": GHOST}, r"east offers .*\['ghost'\]"),
        ("east", Announcement, {"offers": "0" * 64}, "east received other offers"),
        ("east", Announcement, {"proposal": "0" * 64}, "east received other offers"),
        ("south", Announcement, {"packages": {}}, "south does not announce all columns for east"),
    ],
)
def test_an_owner_that_states_something_else(world, ended, owner, kind, change, match):
    def alter(receiver, told):
        if receiver != owner:
            return told
        made = stated_again(world, owner, kind, told.content, **change)
        world.participants[owner].session.own[kind.noun] = made
        return made

    bent_answers(world, "/sessions" if kind is Offer else "/offers", alter)
    ended(PeerDeviated, match)


@pytest.mark.parametrize(
    ("owner", "kind", "path", "change", "match", "heard"),
    [
        ("south", Offer, "/sessions", {"records": 2001}, "altered offer of south", ["south"]),
        (
            "east",
            ResultAgreement,
            "/network",
            {"digest": "0" * 64},
            "different networks",
            ("north", "east"),
        ),
    ],
)
def test_an_own_statement_that_comes_back_altered(
    world, ended, owner, kind, path, change, match, heard
):
    """North, which passes statements on, can have them signed again by nobody."""

    def alter(receiver, told):
        return (
            stated_again(world, owner, kind, told.content, **change) if receiver == owner else told
        )

    bent_answers(world, path, alter)
    ended(PeerDeviated, match, heard=heard)


def fitting(told):
    """Let the digest of south's package fit what is drawn: the package itself is not at fault."""
    plan = share_of(PlanMessage.model_validate(told["drawn"]).to_plan(), ["A", "B"]).plan
    package = Package.model_validate(told["packages"]["south"])
    told["packages"]["south"]["digest"] = release_digest(plan.digest, package.parts)


def package_changes():
    def records(told):
        told["packages"]["south"]["records"] -= 1

    def digest(told):
        told["packages"]["south"]["digest"] = "0" * 64

    def stronger(told):
        """Another matrix than the reports were drawn by would make the loss look smaller."""
        blocks = PlanMessage.model_validate(told["drawn"]).to_plan().blocks
        other = Block(blocks[0].variables, Symmetric.from_gamma(2, 1.5))
        plan = PlanMessage.from_plan(Plan((other, *blocks[1:])))
        told["drawn"] = plan.model_dump(mode="json")

    def bare(told):
        told["drawn"]["blocks"][0]["channel"] = {"family": "identity", "size": 2}
        fitting(told)

    def other_categories(told):
        told["drawn"]["blocks"][0]["variables"][0]["categories"] = ["yes", "no"]
        fitting(told)

    def fewer(told):
        told["drawn"]["blocks"].pop()
        fitting(told)

    def no_plan(told):
        told["drawn"]["blocks"] *= 2

    changes = (records, digest, stronger, bare, other_categories, fewer, no_plan)
    return {f.__name__: f for f in changes}


def test_columns_of_other_records_than_the_receivers_are_not_taken(world, ended, monkeypatch):
    """North announces and sends, without contradiction, a column of as many other people."""
    honest = participant.outgoing

    def other_people(holding, *words, **more):
        keys = holding.keys.copy()
        keys[0] = np.frombuffer(bytes(16), dtype="V16")[0]
        return honest(replace(holding, keys=keys), *words, **more)

    monkeypatch.setattr(participant, "outgoing", other_people)
    ended(PeerDeviated, "sent other records than it announced", alike=False)


@pytest.mark.slow
@pytest.mark.parametrize("change", package_changes())
def test_an_announcement_that_is_not_what_was_offered(world, parameters_task, change):
    """North, which begins the session, announces to south what it did not offer."""
    told = world.announced(parameters_task).all
    content = json.loads(told[0].content)
    package_changes()[change](content)
    told[0] = stated_again(world, "north", Announcement, told[0].content, **content)
    with pytest.raises(PeerDeviated, match="north"):
        world.partners[1].ask(ANNOUNCEMENTS, SESSION, Statements(all=told))
    assert world.participants["south"].session.phase == "ended"


def test_statements_of_the_wrong_owners(world, parameters_task):
    offers = world.ask(PROPOSE, world.proposal(parameters_task))
    with pytest.raises(PeerDeviated, match="forwarded the offers of"):
        world.partners[1].ask(OFFERS, SESSION, Statements(all=offers[:2]))


# Parts that make no network ----------------------------------------------------------------------


def part_changes():
    def another_node(part):
        part["families"][0]["node"] = "A"

    def other_parents(part):
        part["families"][0]["parents"] = ["D"]

    def shape(part):
        part["families"][0]["estimate"] = [0.5]

    def holes(part):
        part["families"][0]["probability"] = [None] * 12

    def no_distribution(part):
        part["families"][0]["probability"] = [0.7] * 12

    def records(part):
        part["records"] = 17

    def link(part):
        part["links"] = [
            {"parent": "A", "child": "E", "gain": 1, "inflation": 1, "confidence": None}
        ]

    def proposal(part):
        part["proposal"] = "0" * 64

    changes = (another_node, other_parents, shape, holes, no_distribution, records, link, proposal)
    return {f.__name__: f for f in changes}


@pytest.mark.slow
@pytest.mark.parametrize("change", part_changes())
def test_parts_that_were_not_agreed(world, learned, change):
    partners, parts = learned()
    content = json.loads(parts[2].content)
    part_changes()[change](content)
    message = NetworkPart.model_validate(content)
    parts[2] = state(world.participants["east"].identity, SESSION, message)
    with pytest.raises(PeerDeviated, match="east|owners"):
        partners[1].ask(PARTS, SESSION, Statements(all=parts))
    assert world.nothing_anywhere()
    assert world.participants["south"].session.phase == "ended"


def test_another_result_than_agreed_is_not_written(world, learned):
    partners, parts = learned()
    agreed = [p.ask(PARTS, SESSION, Statements(all=parts)) for p in partners]
    assert len({json.loads(told.content)["digest"] for told in agreed}) == 1
    # Ready, but under a name that nobody takes for a result.
    assert all(".unfinished-" in path for path in world.results("south"))
    agreed[0] = stated_again(world, "north", ResultAgreement, agreed[0].content, digest="0" * 64)
    with pytest.raises(PeerDeviated, match="south and north have different results"):
        partners[1].ask(COMMIT, SESSION, Statements(all=agreed))
    assert world.results("south") == {}


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0, 2])
def test_nothing_is_written_before_all_have_signed_that_they_will(world, learned, missing):
    partners, parts = learned()
    agreed = [p.ask(PARTS, SESSION, Statements(all=parts)) for p in partners]
    del agreed[missing]
    with pytest.raises(PeerDeviated, match="forwarded the agreements of"):
        partners[1].ask(COMMIT, SESSION, Statements(all=agreed))
    assert world.results("south") == {}


def test_an_initiator_cannot_let_two_owners_write_different_networks(world, learned):
    """North signs two parts of its own, and shows south one and east the other."""
    partners, parts = learned()
    content = json.loads(parts[0].content)
    (family,) = [f for f in content["families"] if f["node"] == "A"]
    family["probability"] = [0.99, 0.01]
    forged = state(
        world.participants["north"].identity, SESSION, NetworkPart.model_validate(content)
    )
    north = partners[0].ask(PARTS, SESSION, Statements(all=parts))
    south = partners[1].ask(PARTS, SESSION, Statements(all=parts))
    east = partners[2].ask(PARTS, SESSION, Statements(all=[forged, *parts[1:]]))
    assert json.loads(south.content) != json.loads(east.content)
    for partner in partners[1:]:
        with pytest.raises(PeerDeviated, match="obtained different networks"):
            partner.ask(COMMIT, SESSION, Statements(all=[north, south, east]))
    assert world.results("south") == world.results("east") == {}


def test_an_owner_signs_one_statement_of_a_kind(world, learned):
    partners, parts = learned()
    south = world.participants["south"]
    part = NetworkPart.model_validate_json(parts[1].content)
    with pytest.raises(StateError, match="has already signed its part"):
        south.session.sign_once(south.identity, part)
    with pytest.raises(StateError, match="is learned"):
        partners[1].ask(BEGIN, SESSION)

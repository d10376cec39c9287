"""What the owner's pages show and do: the plan, what left, publishing, corrections."""

from __future__ import annotations

import re
import threading

import httpx
import pytest

from owner_agent.release.ledger import Ledger
from owner_agent.release.new_epoch import begin_new_epoch
from owner_agent.release.publish import PreparedRecords

pytestmark = pytest.mark.slow


def test_the_start_says_what_is_next(bench, browser, site_text):
    text = browser.get("/pages/").text
    assert "Nothing has been sent yet" in text
    assert 'href="../pages/publish"' in text
    assert bench.miner.requests == [], "no page asks the miner before it must"
    assert browser.publish(yes="on").status_code == 200
    text = browser.get("/pages/").text
    assert "Nothing has been sent yet" not in text
    assert "2.015" in text
    (bench.state / "tokens" / "asia.token").unlink()
    assert "owner-agent join INVITATION" in browser.get("/pages/").text
    bench.write(site_text.replace("categories = ", "categorie = "))
    wrong = browser.get("/pages/")
    assert wrong.status_code == 422
    assert "categorie" in wrong.text


def test_a_site_that_waits_for_its_plan_says_so(bench, browser, site_text):
    bench.write(re.sub("channel = .*", "", site_text))
    for page in ("", "plan"):
        text = browser.get(f"/pages/{page}").text
        assert "owner-agent join INVITATION" in text
        assert "<iframe" not in text
    assert browser.get("/pages/publish").status_code == 422


def test_what_a_plan_reveals_is_the_report_of_the_command(bench, browser, command):
    page = browser.get("/pages/plan")
    assert "\u2068smoker\u2069: matrix 2 x 2; gamma 7.5, epsilon 2.015." in page.text
    assert 'src="../pages/plan/report"' in page.text
    framed = browser.get("/pages/plan/report").text
    written = bench.folder / "plan.html"
    assert command("plan", "--report", str(written)).exit_code == 0

    def without_ids(text):
        return re.sub(r"[a-z]?[0-9a-f]{8,}", "", text)

    assert without_ids(framed) == without_ids(written.read_text())


def test_nothing_of_the_table_is_on_a_page(bench, browser, table_text):
    """Neither ids nor notes; the categories are the site file's own and so on the pages anyway."""
    browser.publish(yes="on")
    corrected = table_text(50).replace("PATIENT-00001,yes", "PATIENT-00001,no")
    bench.write(table=corrected)
    for page in ("", "plan", "plan/report", "publish", "left"):
        text = browser.get(f"/pages/{page}").text
        assert "PATIENT" not in text, page
        assert "private note" not in text, page


def test_publishing_by_a_yes(bench, browser):
    ended = browser.publish(yes="on")
    assert ended.url.path.startswith("/pages/publications/")
    sealed = bench.miner.sealed()
    assert len(sealed) == 1
    assert f"Release {sealed[0]['manifest'].name} is sealed" in ended.text
    left = browser.get("/pages/left").text
    assert sealed[0]["manifest"].name in left
    assert "\u03b5 2.015" in left
    assert "released unchanged" in left
    seen = len(bench.miner.requests)
    form = browser.get("/pages/publish").text
    assert sealed[0]["manifest"].name in form
    assert "<form" not in form, "nothing would be sent"
    bench.write(table=bench.site.table.path.read_text().replace("PATIENT-00001,", "PATIENT-99999,"))
    assert "<form" in browser.get("/pages/publish").text
    assert len(bench.miner.requests) == seen


@pytest.mark.parametrize("fields", [{}, {"yes": ""}, {"yes": "no"}])
def test_without_a_yes_nothing_leaves(bench, browser, fields):
    answer = browser.publish(**fields)
    assert answer.status_code == 422
    assert bench.miner.requests == []
    assert Ledger(bench.state).entries() == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p = 0.4", "p = 0.3"),
        ('study = "asia"', 'study = "other"'),
        ("owner = ", 'corrections = "keep"\nowner = '),
        ('table = "', 'table = "other-'),
        ('column = "smokes"', 'column = "notes"'),
    ],
)
def test_a_yes_is_to_what_was_shown(bench, browser, site_text, old, new):
    form = browser.get("/pages/publish").text
    shown = form.partition('name="shown" value="')[2].partition('"')[0]
    bench.write(site_text.replace(old, new))
    answer = browser.post("/pages/publish", {"shown": shown, "yes": "on"})
    assert answer.status_code == 409
    assert "changed since" in answer.text
    assert bench.miner.requests == []


def test_a_yes_is_to_what_was_shown_until_it_leaves(bench, browser, site_text):
    """The file is another one only after the form was taken, when the publication runs."""
    handle = bench.miner._handle

    def changes(request):
        bench.write('corrections = "keep"\n' + site_text)
        return handle(request)

    bench.miner._handle = changes
    ended = browser.publish(yes="on")
    assert ended.url.path.startswith("/pages/publications/"), "what was sent was still so"
    assert "changed since" in ended.text
    assert bench.miner.releases == {}
    assert Ledger(bench.state).entries() == ()


@pytest.mark.parametrize("key", ["categories", "groups"])
def test_a_file_of_a_variable_is_part_of_what_was_shown(
    bench, browser, site_text, monkeypatch, key
):
    """It is read anew with the plan of what is made of the table: looked at once more then."""
    files = {
        "categories": "north\nsouth\neast\n",
        "groups": "category,group\nnorth,all\nsouth,all\neast,all\n",
    }
    listed = bench.folder / "regions.txt"
    prepared = PreparedRecords.of

    def changed_before(*words):
        listed.write_text(files[key].replace("all", "whole").replace("east\n", "east\nwest\n"))
        return prepared(*words)

    listed.write_text(files[key])
    inline = 'categories = ["north", "south", "east"]'
    by_name = 'categories_from = "regions.txt"'
    if key == "groups":
        by_name = f'{inline}\ngroups = "regions.txt"'
    bench.write(site_text.replace(inline, by_name))
    monkeypatch.setattr(PreparedRecords, "of", changed_before)
    assert "changed since" in browser.publish(yes="on").text
    assert bench.miner.releases == {}


def test_an_interrupted_publication_goes_on_with_the_same_bytes(bench, browser):
    # The study, the linkage secret, what the study tells, the releases, the secret, the release.
    bench.miner.faults = [*[None] * 6, ("before", httpx.ConnectError("down"))]
    ended = browser.publish(yes="on")
    assert "is safe in the outbox" in ended.text
    assert "Review again and continue" in ended.text
    (entry,) = Ledger(bench.state).entries()
    assert entry.left
    assert "A publication was interrupted" in browser.get("/pages/").text
    assert f"Release {entry.name} is sealed" in browser.publish(yes="on").text
    assert len(bench.miner.releases) == len(bench.miner.sealed()) == 1


def test_one_publication_at_a_time_and_its_progress(bench, browser):
    go = threading.Event()
    handle = bench.miner._handle

    def held(request):
        if "/parts/" in request.url.path:
            go.wait()
        return handle(request)

    bench.miner._handle = held
    form = browser.get("/pages/publish").text
    shown = form.partition('name="shown" value="')[2].partition('"')[0]
    first = browser.post("/pages/publish", {"shown": shown, "yes": "on"})
    address = first.url.path
    while (told := browser.client.get(f"{address}/now").json())["total"] is None:
        assert told["state"] == "running"
    assert told == {
        "state": "running", "doing": "0 of 1 parts have arrived", "done": 0, "total": 1
    }  # fmt: skip
    page = browser.get(address).text
    assert f'data-follow="../..{address}/now"' in page
    assert "0 of 1 parts have arrived" in page
    assert address in browser.get("/pages/").text
    assert "Only one can run at a time" in browser.get("/pages/publish").text
    second = browser.post("/pages/publish", {"shown": shown, "yes": "on"})
    assert second.status_code == 409
    go.set()
    assert "is sealed" in browser.followed(first).text


def test_corrections_wait_for_a_choice(bench, browser, site_text, table_text):
    browser.publish(yes="on")
    changed = table_text(50).replace("PATIENT-00001,yes", "PATIENT-00001,no")
    bench.write(table=changed)
    form = browser.get("/pages/publish").text
    assert "1 of 50 records that were sent before would be reported differently" in form
    assert "owner-agent new-epoch --yes" in form
    assert "Review again and continue" in browser.publish(yes="on").text
    assert len(bench.miner.releases) == 1
    kept = browser.publish(yes="on", corrections="keep")
    assert "1 records keep the report of a value that has been corrected" in kept.text
    begin_new_epoch(bench.site, bench.environment, anyway=True)
    browser.publish(yes="on", accept_added_loss="on")
    assert "4.03" in browser.get("/pages/left").text
    bench.write('corrections = "keep"\n' + site_text, table=table_text(50))
    assert 'name="corrections"' not in browser.get("/pages/publish").text
    assert "<form" not in browser.get("/pages/publish").text


def test_an_added_loss_is_accepted_by_its_own_box(bench, browser, site_text):
    browser.publish(yes="on")
    bench.write(site_text.replace("p = 0.4", "p = 0.3"))
    assert 'name="accept_added_loss"' in browser.get("/pages/publish").text
    refused = browser.publish(yes="on")
    assert "Review again and continue" in refused.text
    assert len(bench.miner.releases) == 1
    assert "is sealed" in browser.publish(yes="on", accept_added_loss="on").text


def test_every_link_is_relative(bench, browser):
    browser.publish(yes="on")
    last = re.findall(r"publications/\w+", browser.get("/pages/publish").text)
    for page in ("", "plan", "publish", "left", "nowhere", *last):
        text = browser.get(f"/pages/{page}").text
        links = re.findall(r'\b(?:href|src|action|data-follow)="([^"]*)"', text)
        assert len(links) > 3
        assert [one for one in links if one.startswith("/")] == [], page

"""The page of error codes is current and complete, and its commands' exit codes are the help's."""

import re

import pytest

from docs import error_codes
from pramana_core import errors
from pramana_core.terminal import EXIT_CODES
from pramana_core.wire.services import known_problems

PAGE = error_codes.PAGE.read_text(encoding="utf-8")


def test_the_page_is_current():
    assert error_codes.page() == PAGE, "make rooms"


def test_every_code_has_its_section_and_no_other():
    assert set(error_codes.REMEDIES) == set(known_problems())
    assert re.findall(r"(?m)^### (.+)$", PAGE) == sorted(known_problems())


@pytest.mark.parametrize("code", sorted(known_problems()))
def test_a_section_has_title_status_and_what_to_do(code):
    section = PAGE.split(f"\n### {code}\n")[1].split("\n### ")[0]
    status, title = known_problems()[code]
    assert f"{title} (HTTP {status}, exit code " in section
    assert re.search(r"\*\*What to do:\*\* [A-Z].+\.\n", section)


def test_a_class_without_a_code_of_its_own_is_in_its_codes_section():
    for kind in errors.error_classes():
        section = PAGE.split(f"\n### {kind.code}\n")[1].split("\n### ")[0]
        assert f"`{kind.__name__}`" in section
        assert f"exit code {kind.exit_code})" in section


def test_exit_codes_are_those_of_the_commands():
    assert {kind.exit_code for kind in errors.error_classes()} | {0} == set(error_codes.EXIT_CODES)
    named = re.findall(r"(\d) ([^;.]+)[;.]", EXIT_CODES.removeprefix("Exit codes: "))
    for number, words in named:
        assert error_codes.EXIT_CODES[int(number)][0] == words

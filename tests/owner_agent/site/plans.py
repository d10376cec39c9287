"""A study's plan of two owners, and the bench's site that follows it."""

import math
import re

from pramana_core.channels import Symmetric
from pramana_core.domain import Variable
from pramana_core.study_plan import StudyPart, StudyPlan, StudySet

SMOKER = Variable("smoker", ("no", "yes"))
AGE = Variable("age", ("<30", "30-45", "45-60", ">=60", "?"))
ILL = Variable("ill", ("no", "yes"))
QUARTER = 1 << 30
HALF = math.sqrt(9.0)


def study_plan(smoker=SMOKER, *, first=QUARTER, owner="clinic-north"):
    """Return a plan: a pair at north by a quarter, age at north and ill at south by another."""
    return StudyPlan(
        ((owner, (smoker, AGE)), ("clinic-south", (ILL,))),
        (
            StudySet(first, (StudyPart(0, (0, 1), Symmetric.from_gamma(5 * smoker.size, 9.0)),)),
            StudySet(
                QUARTER,
                (
                    StudyPart(0, (1,), Symmetric.from_gamma(5, HALF)),
                    StudyPart(1, (0,), Symmetric.from_gamma(2, HALF)),
                ),
            ),
        ),
    )


PLAN = study_plan()


def follow(bench, plan=PLAN, more="", digest=""):
    """Make the bench's site follow a plan."""
    text = re.sub(r"channel = .*\n", "", (bench.folder / "site.toml").read_text())
    pinned = f'digest = "{digest}"\n' if digest else ""
    section = f'[study_plan]\nfile = "plan.json"\n{pinned}\n'
    bench.write(text.replace("[[variables]]", section + "[[variables]]", 1) + more)
    (bench.folder / "plan.json").write_bytes(plan.canonical_json())
    return bench.site

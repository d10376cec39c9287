# %% [markdown]
# # A custodian chooses a plan
#
# You hold a table about people, and others may learn from it what you allow, and nothing about one
# person beyond a bound that you choose. This notebook goes through that choice: what the table may
# hold, how much is told at several bounds, what accuracy is left, what a second release adds, and
# the release itself.
#
# The table is public, so that you can see both sides: the 2,201 people aboard the Titanic.

# %%
import matplotlib.pyplot as plt
import pandas as pd

import pramana as pm

people = pm.example("titanic")
people.head(3)

# %% [markdown]
# ## What the columns may hold
#
# The list of categories travels with every release, so it is public. Write it down from what
# everybody knows of the columns; taken from the data it would tell that somebody is in it who has a
# rare category.

# %%
domain = pm.domain(
    people,
    {
        "class": ["1st", "2nd", "3rd", "crew"],
        "age": ["child", "adult"],
        "sex": ["female", "male"],
        "survived": ["no", "yes"],
    },
)
domain

# %% [markdown]
# ## How much may be told?
#
# **gamma** bounds what a record's report does to the odds between any two people it may come from.
# The figure to show to those who decide is what it makes of a belief: somebody who is 5 % sure of a
# thing about a person, how sure can she be after the report, at most? Five bounds, and for each the
# plan that serves best those who want to predict who survived:

# %%
gammas = [3, 5, 9, 19, 49]
designs = {
    gamma: pm.design(domain, len(people), gamma=gamma, learn="classifier", target="survived")
    for gamma in gammas
}
grown = {gamma: pm.accountant(design.plan).breach(0.05) for gamma, design in designs.items()}
pd.DataFrame({"5 % grows to at most": grown}).rename_axis("gamma").map("{:.1%}".format)

# %% [markdown]
# ## What is left to learn?
#
# `pm.design` looked through all families of randomization that keep to the bound, for the one that
# serves this need best. Nothing of the data entered but the number of records. `error` is the
# predicted relative error of the tables that a classifier looks at, and `kept` says how much of a
# moderate association can still be seen.

# %%
designs[19]

# %%
pd.DataFrame(
    {
        gamma: {
            "family": design.family,
            "useful": design.useful,
            "error": round(design.to_frame()["error"].min(), 3),
        }
        for gamma, design in designs.items()
    }
).T.rename_axis("gamma")

# %%
figure, axes = plt.subplots(figsize=(5, 3))
for family in ("sampled-mixed", "sampled-2", "gamma-diagonal", "independent"):
    tables = [design.to_frame().set_index("family") for design in designs.values()]
    errors = [table["error"].get(family) for table in tables]
    axes.plot(gammas, errors, marker="o", label=family)
axes.set(xscale="log", yscale="log")
axes.set(xlabel="gamma of the whole record", ylabel="predicted error")
axes.set_xticks(gammas, [str(gamma) for gamma in gammas], minor=False)
axes.set_xticks([], minor=True)
axes.set_yticks([0.1, 0.3, 1, 3], ["10 %", "30 %", "100 %", "300 %"])
axes.set_yticks([], minor=True)
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# Say that 19 was decided: no belief of 5 % grows beyond 50 %. The plan says what is done to
# each column, and the release will carry it, for without it nothing can be estimated.

# %%
plan = designs[19].plan
plan

# %% [markdown]
# ## Randomize
#
# Keys make a record's report the same whenever it is made. They are made once, in a folder that
# only you can read: `keys = pm.Keys.create("keys")`, and `pm.Keys.open("keys")` from then on. Here anybody
# may know them.

# %%
keys = pm.Keys.for_experiments(7)
reports = pm.randomize(people, plan, keys, record_id=people.index, study="titanic")
reports.to_frame().head(4)

# %% [markdown]
# What each column's report tells, and the record as a whole:

# %%
print(reports)
reports.privacy().round(3)

# %% [markdown]
# Randomizing again gives the same reports, in whatever order the rows come, so nothing can be
# averaged away:

# %%
shuffled = people.sample(frac=1, random_state=1)
again = pm.randomize(shuffled, plan, keys, record_id=shuffled.index, study="titanic")
again.digest == reports.digest

# %% [markdown]
# ## What a second release would add
#
# Somebody asks for the ages by class, at another gamma of 5. Another plan has draws of its own, and
# what both releases tell of a person adds up:

# %%
second = pm.design(domain.project(["class", "age"]), len(people), gamma=5).plan
extra = pm.randomize(people, second, keys, record_id=people.index, study="titanic")
pd.DataFrame(
    {
        name: {"gamma": told.gamma, "epsilon": told.epsilon, "5 % grows to": told.breach(0.05)}
        for name, told in {
            "first release": pm.accountant(reports),
            "the same again": pm.accountant(reports, again),
            "both releases": pm.accountant(reports, extra),
        }.items()
    }
).T.round(3)

# %% [markdown]
# The same again adds nothing. The second plan takes the bound from 19 to 95. It is better to design
# one plan for all that is wanted.
#
# ## Save
#
# A file of reports holds the reports, their plan and no true value. Plans are JSON, for those who
# must agree to one before anything is randomized.

# %%
pm.save(plan, "plan.json")
pm.save(reports, "reports.parquet")
pm.load("reports.parquet")

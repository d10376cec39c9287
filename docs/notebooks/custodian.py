# %% [markdown]
# # A custodian chooses a plan
#
# You hold a table about people. Others may learn from it in general, and about one person nothing
# beyond a bound that you choose. This notebook goes through that choice: what the columns may hold,
# how much is revealed at several bounds, what accuracy is left, the release itself, and what a second
# release would add.
#
# The table here, the 2,201 people aboard the Titanic, is public, so that you can see both sides.

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
# everybody knows of the columns; read off the data it would reveal that somebody has a rare category.

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
# ## How much may be revealed?
#
# **gamma** bounds the factor by which a report can change the odds between any two records that it may
# come from. It is easier to decide on as a change of belief: how sure can somebody be after seeing the
# report who was 5 % sure of something about a person before? Here are five bounds, each with the most
# accurate plan for predicting who survived:

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
# `pm.design` compared all families of randomization within the bound and chose the most accurate for
# this need. It used nothing of the data but the number of records. `error` is the predicted relative
# error of the tables that a classifier needs, and `kept` says how much of a moderate association can
# still be seen.

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
# Suppose you decide on 19: no belief of 5 % grows beyond 50 %. The plan says how each column is
# randomized. The release carries it, since without it nothing can be estimated.

# %%
plan = designs[19].plan
plan

# %% [markdown]
# ## Randomize
#
# With the same keys a record always gets the same report. Make them once, in a folder that only you
# can read, with `pm.Keys.create("keys")`, and read them with `pm.Keys.open("keys")` from then on. The
# keys of this notebook are public.

# %%
keys = pm.Keys.for_experiments(7)
reports = pm.randomize(people, plan, keys, record_id=people.index, study="titanic")
reports.to_frame().head(4)

# %% [markdown]
# What the report of each column reveals, and of the whole record:

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
# Somebody asks for the ages by class, at an additional gamma of 5. Another plan has other draws, and
# what both releases reveal of a person adds up:

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
# The same release again adds nothing. The second plan raises the bound from 19 to 95. It is better to
# design one plan for everything that is wanted.
#
# ## Save
#
# A file of reports holds the reports and their plan, and not the table. A plan
# can be saved by itself as JSON, for those who must agree to it before anything is randomized.

# %%
pm.save(plan, "plan.json")
pm.save(reports, "reports.parquet")
pm.load("reports.parquet")

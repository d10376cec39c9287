# %% [markdown]
# # An analyst's models
#
# You receive randomized records and the plan that says how they were randomized, and want models
# with honest errors. The table here is public, so that everything can be held against the truth: the
# 4,526 people who applied to Berkeley's six largest graduate departments in 1973. Were women treated
# worse?

# %%
import matplotlib.pyplot as plt
import pandas as pd

import pramana as pm

# %% [markdown]
# ## What you receive
#
# The owner's side, in short ([the custodian's notebook](custodian.ipynb) has all of it): half of the records
# randomized under a bound on the whole record, the other half kept to test models on.

# %%
people = pm.example("berkeley")
domain = pm.domain(people, pm.observed_categories(people))
design = pm.design(domain, len(people) // 2, gamma=19, learn="structure")
train, test = people.iloc[::2], people.iloc[1::2]
pm.randomize(train, design.plan, pm.Keys.for_experiments(3), record_id=train.index).save("reports")

# %% [markdown]
# From here on there are only the reports. They know their plan, and what they tell of a person.

# %%
reports = pm.load("reports")
print(reports)
reports.to_frame().head(4)

# %% [markdown]
# ## Estimated tables beside the truth
#
# Counts of the reports themselves are wrong. `pm.estimate` takes the randomization into account and
# says how wrong the result may still be: `se_records` against the true records, `se_population` against
# the population that they were drawn from.

# %%
counts = pm.estimate(reports)
truth = train.value_counts(["sex", "admitted"]).sort_index()
table = counts.table(["sex", "admitted"]).set_index(["sex", "admitted"]).sort_index()
table.insert(0, "true", truth)
table.round(1)

# %% [markdown]
# The largest error, in standard errors of the randomization:

# %%
z = (table["count"] - table["true"]) / table["se_records"]
print(f"{z.abs().max():.2f}")

# %% [markdown]
# ## Classifiers
#
# Options in the constructor, then `fit`, as in scikit-learn. One `EstimatedCounts` serves all of them.

# %%
models = [
    pm.NaiveBayes("admitted"),
    pm.BayesClassifier("admitted", model="tan"),
    pm.DecisionTree("admitted"),
    pm.LinearClassifier("admitted"),
]
open_plan = pm.plan(domain, public=domain.names)
clean = pm.randomize(train, open_plan, pm.Keys.for_experiments(3), record_id=train.index)
scores = {
    type(model).__name__: {
        "from reports": model.fit(counts).score(test),
        "from true records": type(model)(**model.get_params()).fit(clean).score(test),
    }
    for model in models
}
pd.DataFrame(scores).T.round(3)

# %% [markdown]
# A model says what it was learned from, and what that tells of a person:

# %%
tree = models[2]
print(tree)
print(tree.to_text())

# %%
tree.plot()
plt.show()

# %%
tree.predict_proba(test.head(3)).round(3)

# %% [markdown]
# Columns that a new record lacks are summed out:

# %%
models[0].predict(test[["department"]].head(3))

# %% [markdown]
# ## A network
#
# `pm.BayesNet` learns which variables depend on which, and says for each link how sure it is.

# %%
network = pm.BayesNet().fit(counts)
network.links_

# %%
pm.NaiveBayes("admitted").fit(counts).plot()
plt.show()

# %% [markdown]
# Department goes with sex and with being admitted; what is left between sex and being admitted is
# the question of the famous paper. Within departments:

# %%
counts.independence("sex", "admitted", given=["department"])

# %% [markdown]
# ## Save, load, and go elsewhere
#
# Models are JSON with a version: no pickle, so that a file from somebody else runs nothing.

# %%
network.save("network.json")
again = pm.load("network.json")
print(again)

# %% [markdown]
# To pgmpy and back, with the names of the categories:

# %%
kept = pm.BayesNet.from_pgmpy(network.to_pgmpy())
print(sorted(kept.edges_) == sorted(network.edges_))
evidence = pd.DataFrame({"department": ["A", "F"]})
pd.concat([net.predict_proba(evidence, "admitted") for net in (network, kept)], axis=1).round(4)

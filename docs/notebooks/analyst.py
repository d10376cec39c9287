# %% [markdown]
# # An analyst's models
#
# You receive randomized records and the plan that says how they were randomized, and want models
# with honest errors. The tables here are public, so that everything can be held against the truth.
# The first has the 4,526 people who applied to Berkeley's six largest graduate departments in 1973.
# Were women treated worse?

# %%
import matplotlib.pyplot as plt
import pandas as pd

import pramana as pm

# %% [markdown]
# ## What you receive
#
# The owner's side, in short ([the custodian's notebook](custodian.ipynb) has all of it): half of the
# records randomized under a bound on the whole record.

# %%
people = pm.example("berkeley")
domain = pm.domain(people, pm.observed_categories(people))
design = pm.design(domain, len(people) // 2, gamma=19, learn="structure")
train = people.iloc[::2]
keys = pm.Keys.for_experiments(3)
pm.randomize(train, design.plan, keys, record_id=train.index).save("reports")

# %% [markdown]
# From here on there are only the reports. They know their plan, and what they tell of a person.

# %%
reports = pm.load("reports")
print(reports)
reports.to_frame().head(4)

# %% [markdown]
# ## Estimated tables beside the truth
#
# Counted as they are, the reports are wrong. `pm.estimate` takes the randomization into account and
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
# ## A network
#
# `pm.BayesNet` learns which variables depend on which, and says for each link how sure it is.

# %%
network = pm.BayesNet().fit(counts)
network.links_.round(3)

# %%
network.plot()
plt.show()

# %% [markdown]
# Department goes with sex and with being admitted, and no link is left between sex and being
# admitted: women applied where few of anybody were admitted, which is what the famous paper found in the
# true records. Within departments the two are independent as far as these reports can tell:

# %%
counts.independence("sex", "admitted", given=["department"])

# %% [markdown]
# ## Classifiers
#
# Another owner reports the 2,201 people aboard the Titanic, again half of them, under a plan that was
# designed for telling who survived.

# %%
people = pm.example("titanic")
domain = pm.domain(people, pm.observed_categories(people))
train, test = people.iloc[::2], people.iloc[1::2]
design = pm.design(domain, len(train), gamma=19, learn="classifier", target="survived")
reports = pm.randomize(train, design.plan, keys, record_id=train.index)
counts = pm.estimate(reports)

# %% [markdown]
# Options in the constructor, then `fit`, `predict` and `score`, as in scikit-learn; the target is the
# name of a column, and categories need no encoding. Beside each what it would reach from the true
# records, by a plan that leaves every column as it is.

# %%
models = [
    pm.NaiveBayes("survived"),
    pm.BayesClassifier("survived", model="tan"),
    pm.DecisionTree("survived"),
    pm.LinearClassifier("survived"),
]
open_plan = pm.plan(domain, public=domain.names)
clean = pm.randomize(train, open_plan, keys, record_id=train.index)
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
naive_bayes, tan, tree, linear = models
print(tree)
tree.plot()
plt.show()

# %% [markdown]
# Every parameter has its error, as in the table that naive Bayes is made of:

# %%
columns = ["variable", "category", "class", "probability", "se_records", "low", "high"]
naive_bayes.to_frame()[columns].head(4).round(3)

# %% [markdown]
# Columns that a new record lacks are summed out where the model can:

# %%
new = pd.DataFrame({"sex": ["female", "male"]})
pd.DataFrame(naive_bayes.predict_proba(new), new["sex"], naive_bayes.classes_).round(3)

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

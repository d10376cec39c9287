# %% [markdown]
# # An analyst's models
#
# You receive randomized records and the plan that says how they were randomized, and want models
# with honest errors. The tables here are public, so that every result can be compared with the truth.
# The first has the 4,526 people who applied to Berkeley's six largest graduate departments in 1973.
# Were women treated worse?

# %%
import matplotlib.pyplot as plt
import pandas as pd

import pramana as pm

# %% [markdown]
# ## What you receive
#
# This is the owner's part, in short ([the custodian's notebook](custodian.ipynb) has all of it): half
# of the records are randomized under a bound on the whole record.

# %%
people = pm.example("berkeley")
domain = pm.domain(people, pm.observed_categories(people))
design = pm.design(domain, len(people) // 2, gamma=19, learn="structure")
train = people.iloc[::2]
keys = pm.Keys.for_experiments(3)
pm.randomize(train, design.plan, keys, record_id=train.index).save("reports")

# %% [markdown]
# From here on only the reports are used. They carry their plan, and say what they reveal of a person.

# %%
reports = pm.load("reports")
print(reports)
reports.to_frame().head(4)

# %% [markdown]
# ## Estimated tables beside the truth
#
# Counts of the reports themselves are wrong. `pm.estimate` takes the randomization into account and
# says how large the remaining error is: `se_records` against the true records, `se_population` against
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
# Department is linked with sex and with admission, and there is no link between sex and admission:
# women applied more to departments that admitted few, as Bickel, Hammel and O'Connell found in the true
# records in 1975. Within departments the two are independent as far as these reports can tell:

# %%
counts.independence("sex", "admitted", given=["department"])

# %% [markdown]
# ## Classifiers
#
# Another owner has the 2,201 people aboard the Titanic and reports half of them, under a plan
# designed for predicting who survived.

# %%
people = pm.example("titanic")
domain = pm.domain(people, pm.observed_categories(people))
train, test = people.iloc[::2], people.iloc[1::2]
design = pm.design(domain, len(train), gamma=19, learn="classifier", target="survived")
reports = pm.randomize(train, design.plan, keys, record_id=train.index)
counts = pm.estimate(reports)

# %% [markdown]
# Options in the constructor, then `fit`, `predict` and `score`, as in scikit-learn; the target is the
# name of a column, and categories need no encoding. The second column is
# what each reaches from the true records, under a plan that leaves every column as it is.

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
# A model says what it was learned from, and what that reveals of a person:

# %%
naive_bayes, tan, tree, linear = models
print(tree)
tree.plot()
plt.show()

# %% [markdown]
# Every parameter has its error, as in naive Bayes's table:

# %%
columns = ["variable", "category", "class", "probability", "se_records", "low", "high"]
naive_bayes.to_frame()[columns].head(4).round(3)

# %% [markdown]
# Columns that are missing from new records are summed out where the model can. A warning names them;
# `missing_columns` silences it (`"ignore"`) or refuses such records (`"error"`):

# %%
new = pd.DataFrame({"sex": ["female", "male"]})
shares = naive_bayes.predict_proba(new, missing_columns="ignore")
pd.DataFrame(shares, new["sex"], naive_bayes.classes_).round(3)

# %% [markdown]
# ## Save, load, and go elsewhere
#
# Models are saved as JSON with a version, not as pickles, so a file from somebody else runs no code.

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
both = [
    net.predict_proba(evidence, "admitted", missing_columns="ignore") for net in (network, kept)
]
pd.concat(both, axis=1).round(4)

"""From a public table to a plan, reports, an estimate, a tree and a network, with pictures."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import pramana as pm

people = pm.example("berkeley")
domain = pm.domain(people, pm.observed_categories(people))  # the table is public: so is its list
design = pm.design(domain, len(people), gamma=19, learn="pairs")
reports = pm.randomize(people, design.plan, pm.Keys.for_experiments(1), record_id="person")
print(design, reports, sep="\n")

counts = pm.estimate(reports)
table = counts.table(["sex", "admitted"])
table["true"] = people.value_counts(["sex", "admitted"]).sort_index().to_numpy()
print(table.round(1).to_string())

tree = pm.DecisionTree("admitted").fit(counts)
network = pm.BayesNet().fit(counts)
figure, axes = plt.subplots(1, 3, figsize=(15, 5), width_ratios=(4, 6, 2), layout="constrained")
counts.plot(["department", "admitted"], ax=axes[0])
tree.plot(ax=axes[1])
network.plot(ax=axes[2])
figure.savefig(Path(sys.argv[1]) / "face.png", dpi=100)
print(tree, network, sep="\n")

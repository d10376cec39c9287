"""From a public table to a plan, reports, an estimate, a tree and a network with pictures."""

import sys
from pathlib import Path

import pramana as pm

folder = Path(sys.argv[1])
people = pm.example("berkeley")
domain = pm.domain(people, pm.observed_categories(people))  # the table is public: so is its list

design = pm.design(domain, len(people), gamma=19, learn="pairs")
reports = pm.randomize(people, design.plan, pm.Keys.for_experiments(1), record_id=people.index)
print(design, reports, sep="\n")

counts = pm.estimate(reports)
table = counts.table(["sex", "admitted"])
table["true"] = people.value_counts(["sex", "admitted"]).sort_index().to_numpy()
print(table.round(1).to_string())

tree = pm.DecisionTree("admitted").fit(counts)
network = pm.BayesNet().fit(counts)
for name, model in {"tree": tree, "network": network}.items():
    print(model)
    model.plot().figure.savefig(folder / f"{name}.png", bbox_inches="tight")

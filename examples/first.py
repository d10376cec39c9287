"""A first result: a table counted from randomized records, beside the true one."""

import pramana as pm

people = pm.example("titanic")  # 2,201 public records; imagine they were private
domain = pm.domain(people, pm.observed_categories(people))  # for private data: a public list
plan = pm.design(domain, len(people), gamma=19, learn="pairs").plan
reports = pm.randomize(people, plan, pm.Keys.for_experiments(1), record_id=people.index)

# From here on only the reports and their plan are needed.
table = pm.estimate(reports).table(["sex", "survived"])
table["true"] = people.groupby(["sex", "survived"]).size().to_numpy()
print(table[["sex", "survived", "true", "count", "low", "high"]].round().to_string(index=False))
print("No belief of 5 % about one person can grow beyond 50 % by all columns together.")

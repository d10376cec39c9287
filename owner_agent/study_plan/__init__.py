"""The plan of a whole study at one of its owners: where it is, whether it fits, what it says.

How its reports are drawn is in `owner_agent.randomize`, what the plan is in
`pramana_core.study_plan`.
"""

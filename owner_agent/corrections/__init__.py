"""What happens to a record that was reported before and has another value now.

Here is the memory of what was reported, and the choice between a report that stays for ever and
fresh draws for everybody. How a report is drawn is not here, nor what it costs.
"""

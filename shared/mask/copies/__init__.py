"""Several masked copies of one table: how they are made, and what their estimates say together.

Copies here are independent draws by one generator. How an owner draws and names them is in
`owner_agent`; the regressions whose results are combined are in `shared.regression`.
"""

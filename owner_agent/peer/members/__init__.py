"""The parties of a session: what each checks, agrees to, learns and writes, and who leads.

They know their peers as `Partner`s only; the network between them is `owner_agent.peer.transport`.
"""

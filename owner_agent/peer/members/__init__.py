"""The parties of a session: what each checks, agrees to, learns and writes, and who leads.

They know other owners as `Peer`s only; the network between them is `owner_agent.peer.transport`.
"""

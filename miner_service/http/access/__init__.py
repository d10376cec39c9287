"""What a request passes before its endpoint: rates, its token, who may see what, its body.

Everything is looked at in the order of what it costs: a body is read only for a sender who is
known and has a share left. Connections, before they are requests, are in `server`.
Figures of how the service fares are counted here, too; no label of them holds anything of a study.
"""

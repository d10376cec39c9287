"""What a request passes before its endpoint: rates, its token, its body, and headers of answers.

Everything is looked at in the order of what it costs: a body is read only for a sender who is
known and has a share left.

Who may do what at an endpoint is not decided here but in `access`; connections, before they are
requests, are in `server` and `tls`.
"""

"""What a request passes before its endpoint: rates, its token, who may see what, its body.

A body is read only for a known sender with a share left. Figures for monitoring are counted here.
"""

"""Who asks, what they may see, and what of a request is read: used by every route.

It answers nothing itself.
"""

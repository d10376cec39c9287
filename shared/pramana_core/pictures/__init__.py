"""Drawing: axes by matplotlib in one style, and SVG elements with our own layout.

Callers know the contents of a picture: this room knows neither models nor plans.
"""

"""Drawing: axes by matplotlib in one style, and SVG elements with our own layout.

This package knows neither models nor plans; its callers give it the contents of a picture.
"""

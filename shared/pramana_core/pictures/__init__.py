"""How pictures are made: axes by matplotlib in one style, and elements of SVG that we lay out.

What a picture shows is known where that thing is: this room knows no model and no plan.
"""

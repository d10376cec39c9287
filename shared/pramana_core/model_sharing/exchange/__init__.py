"""How shared trees and global models are written: JSON, text and pictures.

What reads JSON trusts nobody: whoever sends it may be hostile. What a tree or a model is, is said
in `tree` and `global_models`.
"""

"""Shared trees and global models as JSON, text and pictures.

Readers of JSON check everything, because the sender is not trusted. The trees are defined in `tree`
and the models in `global_models`.
"""

"""Shared trees and global models as JSON, text and pictures.

Readers of JSON check everything: the sender is not trusted. See also `tree` and `global_models`.
"""

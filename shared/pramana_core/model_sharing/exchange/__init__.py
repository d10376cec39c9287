"""Shared trees and global models as JSON, text and pictures.

JSON readers trust no sender. Trees and models themselves are in `tree` and `global_models`.
"""

"""What every experiment is made of: settings, findings, pictures and curves.

The experiments themselves are in `ma` and `frapp`.
"""

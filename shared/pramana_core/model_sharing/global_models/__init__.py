"""Global models learned from several owners' trees, and their quality.

`combining` is the entry: it combines trees by their pooled pseudo-data, or by their votes. The room
above grows single trees and draws their pseudo-data.
"""

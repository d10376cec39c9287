"""Global models learned from several owners' trees, and measures of their quality.

The main function is `combining.combine`, which combines trees through their pooled pseudo-data or
through their votes. The enclosing package grows single trees and draws their pseudo-data.
"""

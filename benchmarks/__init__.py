"""Ratios against peers, measured side by side in one run: `make benchmark`."""

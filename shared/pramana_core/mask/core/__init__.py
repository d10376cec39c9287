"""What every masking method starts from and ends with: S and X, noise, scores, results.

Who may be masked and what a custodian must know beforehand is decided here. No method is here.
"""

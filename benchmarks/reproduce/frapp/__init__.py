"""The figures and tables of FRAPP (Agrawal and Haritsa, 2005).

Its mechanisms and ours, on census and health data.
"""

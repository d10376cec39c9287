"""The dashboard in a browser: pages that show the results of the API's functions.

Pages compute nothing and make no decisions on access.
"""

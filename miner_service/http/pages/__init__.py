"""The dashboard in a browser: pages that show the results of the API's functions.

Pages compute nothing and decide no access.
"""

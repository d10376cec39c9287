"""The miner's dashboard in a browser: pages for people, each made of what the API answers.

A page is entered by the rule of the endpoint whose answer it shows and calls that endpoint's own
function. Nothing is computed, and nobody's access decided, here.
"""

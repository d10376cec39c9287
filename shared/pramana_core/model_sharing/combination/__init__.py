"""Several owners' trees made into one model: by their pseudo-data together, votes or a product.

`combining` is the one way in. The models themselves, and their measures, are next door in
`global_models`; how one tree gives pseudo-data is said in `generating`.
"""

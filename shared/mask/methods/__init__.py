"""The masking methods: functions `(S, X, rng, **options) -> Masked`, and the list of them."""

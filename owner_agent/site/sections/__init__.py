"""The sections of a site file for what leaves beside randomized records, one module each.

What they say is checked here against the rest of the file; the file itself is read in
`owner_agent.site`, and acted on in the rooms `owner_agent.masking` and `owner_agent.model_sharing`.
"""

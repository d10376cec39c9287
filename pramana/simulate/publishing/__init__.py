"""Publishing by other tools: what one writes a table to and gets its generalization from.

The tools need other libraries than ours and live in environments of their own, so that they are
processes here. The rules of hierarchies and what meets a requirement are in
`pramana_core.model_sharing.publishing`.
"""

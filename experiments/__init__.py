"""Demonstrations and studies that run the owners' and the miner's sides together."""

"""Draws for given words or keys, of true cells: for tests that look at a channel alone."""

from owner_agent.randomize.draws import BlockKey
from owner_agent.randomize.sampling import sampler, split, unit_sampler
from pramana_core.wire.parts import code_dtype


def words(secrets, study, block, keys, cells, epoch=0):
    return BlockKey(secrets, study, block, epoch).words(keys, cells)


def sample(channel, codes, drawn):
    return unit_sampler(channel)(codes, drawn)


def sample_columns(channel, sizes, cells, drawn):
    true = list(cells.T) if cells.ndim > 1 else split(cells, sizes)
    return sampler(channel, sizes)(true, drawn)


def sample_block(block, cells, drawn):
    made = sample_columns(block.channel, tuple(v.size for v in block.variables), cells, drawn)
    sizes = zip(block.names, made, block.reported_shape, strict=True)
    return {name: column.astype(code_dtype(size), copy=False) for name, column, size in sizes}

"""Records published l-diverse instead of trees: the baseline of Sharkey's section 4.2."""

from __future__ import annotations

from pramana.simulate.model_sharing.kept import Fold, Kept
from pramana.simulate.model_sharing.made import Made
from pramana.simulate.model_sharing.options import SimulationOptions
from pramana.simulate.publishing.learning import learn_published
from pramana.simulate.publishing.publishers import publisher_of
from pramana_core.errors import OptionError
from pramana_core.model_sharing.global_models.options import GlobalOptions


def ldiversity(kept: Kept, fold: Fold, options: SimulationOptions) -> Made:
    """Return the model of the published training records; of none where nothing is published.

    All training records are at one publisher, whatever the number of owners (section 4.2).

    Raises:
        NotInstalled: there is no publisher.
        OptionError: nothing is required, or the publisher failed.
    """
    asked = options.judged
    if asked is None:
        raise OptionError("Records are made l-diverse for a given c and l.", where="l")
    publisher = publisher_of(options.publisher)
    table, codes = kept.attributes.rows(fold.train), kept.codes[fold.train]
    (levels,) = publisher.publish(kept.schema, table, codes, [asked])
    if levels is None:
        return Made((), refused=options.owners)
    learning = GlobalOptions(seed=options.seed)
    model = learn_published(kept.schema, table, codes, levels, options.model, learning)
    return Made((model,), pseudo_records=table.records)

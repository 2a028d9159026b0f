"""Several machines: dask.distributed starts an engine on each host and carries events, but not the load.

Only `steelyard fleet` and a study with a fleet import this package: it needs `steelyard[fleet]`.
"""

import logging

import distributed

# what goes wrong is said by the lab, with the name of the host
for _logger in (distributed.__name__, "distributed.client"):
    logging.getLogger(_logger).setLevel(logging.CRITICAL)

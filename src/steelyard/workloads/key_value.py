"""Gets and sets of keys as commands of the protocol that Redis and Valkey share (RESP)."""

from steelyard.study.workloads.lookups import KeyValueWorkload
from steelyard.study.workloads.statements import Generator, Statement, Text, Uniform, Zipf
from steelyard.workloads import Work


def key_value(workload: KeyValueWorkload) -> Work:
    """The commands get and set by weight; one command where the other has weight 0."""
    key, value = _key(workload), Text(kind="text", length=workload.value_bytes)
    reads = workload.reads_percent
    mix = {
        "get": (reads, "GET :key", {"key": key}),
        "set": (100 - reads, "SET :key :value", {"key": key, "value": value}),
    }
    return Work(
        {
            name: Statement(sql=command, weight=weight, parameters=parameters)
            for name, (weight, command, parameters) in mix.items()
            if weight
        },
        read_only=reads == 100,
    )


def _key(workload: KeyValueWorkload) -> Generator:
    if not workload.zipf_exponent:
        return Uniform(kind="uniform", low=1, high=workload.keys)
    return Zipf(kind="zipf", low=1, high=workload.keys, exponent=workload.zipf_exponent)

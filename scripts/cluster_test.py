#!/usr/bin/env python3
"""Facts about a result file of comet-run that a cluster of known make must show.

Usage: scripts/cluster_test.py hosts FILE PER_HOST
       scripts/cluster_test.py clocks FILE SECONDS...        offset of the clock of each host
       scripts/cluster_test.py drift FILE HOST PPM           of its clock, which the others have not
       scripts/cluster_test.py rates FILE SLOW_HOST MBIT MBIT  limit of its link, and of the others

Prints what it found, and ends with 1 and a sentence if that is not the truth.
"""

import json
import sys

# Bytes of a full Ethernet frame, and those of it that are a message's: without the headers of
# Ethernet, IP and TCP, and without time stamps.
FRAME, PAYLOAD = 1514, 1448


def records(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def require(is_true, sentence):
    print(sentence)
    if not is_true:
        sys.exit(f"not so: {sentence}")


def nodes(run):
    return [entry["node"] for entry in run["world"]["ranks"]]


def hosts(path, per_host):
    """Each rank stands on its host, in the order of the hosts, and all hosts are one class."""
    run = records(path)[0]
    names = ["host1", "host2", "host3"]
    expected = sorted(names * int(per_host))
    require(sorted(nodes(run)) == expected, f"ranks run on {nodes(run)}")
    local = [entry["local_rank"] for entry in run["world"]["ranks"]]
    require(sorted(local) == sorted([*range(int(per_host))] * 3), f"local numbers are {local}")
    world = run["world"]
    require((world["nodes"], world["ppn"]) == (3, [int(per_host)] * 3), f"nodes: {world['nodes']}")
    known = sorted(name for machine in run["machines"] for name in machine["nodes"])
    require(known == names, f"machines are those of {known}")


def clocks(path, *seconds):
    """There are as many clocks as hosts, and each measured offset is the true one within its bound."""
    run = records(path)[0]
    clock = run["clock"]
    require(clock["domains"] == len(seconds), f"clock domains: {clock['domains']}")
    require(not clock["is_global"], f"one clock for all: {clock['is_global']}")
    true_s = {f"host{k}": float(s) for k, s in enumerate(seconds, 1)}
    first = nodes(run)[0]
    offsets = clock.get("offsets", [])
    require(len(offsets) == len(seconds), f"offsets: {len(offsets)}")
    for offset in offsets:
        host = nodes(run)[offset["rank"]]
        error_ns = offset["offset_ns"] - round((true_s[host] - true_s[first]) * 1e9)
        sentence = f"offset of {host} from {first} is wrong by {error_ns} ns, and known to {offset['bound_ns']} ns"
        # Halves of a nanosecond are rounded.
        require(abs(error_ns) <= offset["bound_ns"] + 1, sentence)
    widest_ns = max(offset["bound_ns"] for offset in offsets)
    require(widest_ns <= clock["bound_ns"], f"bound of all: {clock['bound_ns']} ns")


def drift(path, host, ppm):
    """The drift of one clock is the true one within what its bound leaves, and the others have none."""
    run = records(path)[0]
    for offset in run["clock"]["offsets"]:
        true_ppm = float(ppm) if nodes(run)[offset["rank"]] == host else 0.0
        # It is found by comparisons over two seconds, each of which is wrong by its bound at most.
        error_ppm = offset["bound_ns"] * 1e-3
        sentence = f"{nodes(run)[offset['rank']]} drifts by {offset['drift_ppm']:.1f} ppm, {true_ppm} is true"
        require(abs(offset["drift_ppm"] - true_ppm) <= max(error_ppm, 1.0), f"{sentence}, to {error_ppm:.1f} ppm")
    require(len(run["clock"]["offsets"]) == 3, "each host has its clock")


def rates(path, slow_host, slow_mbit, other_mbit):
    """Long messages of a pair are as fast as the slower of its two links, less the headers."""
    run, *rest = records(path)
    points = [r for r in rest if r["type"] == "point" and r["kernel"] == "pairs" and r["rate"]]
    length = max(point["params"]["length_bytes"] for point in points)
    slow, other = {}, {}
    for point in points:
        pair = [nodes(run)[rank] for rank in point["samples"]["ranks"]]
        if point["params"]["length_bytes"] == length and len(set(pair)) == 2:
            found = slow if slow_host in pair else other
            found[" to ".join(pair)] = point["rate"]["bytes_per_s"] / 1e6
    require(slow and other, f"pairs with {slow_host}: {len(slow)}, others: {len(other)}")
    for found, mbit in (slow, slow_mbit), (other, other_mbit):
        link = float(mbit) / 8 * PAYLOAD / FRAME
        for pair, rate in found.items():
            # A token bucket passes its first burst at once, 1/16 of a message of 1 MiB.
            require(rate < 1.08 * link, f"{pair}: {rate:.2f} MB/s of {link:.2f} MB/s")
    # A busy machine keeps up with the slow link only.
    slow_link = float(slow_mbit) / 8 * PAYLOAD / FRAME
    require(min(slow.values()) > 0.6 * slow_link, f"the link of {slow_host} is the limit")
    slowest, fastest = min(other.values()), max(slow.values())
    require(slowest > 1.2 * fastest, f"{slow_host} is slower: {fastest:.2f} and {slowest:.2f} MB/s")


if __name__ == "__main__":
    checks = {check.__name__: check for check in (hosts, clocks, drift, rates)}
    if len(sys.argv) < 3 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    checks[sys.argv[1]](*sys.argv[2:])

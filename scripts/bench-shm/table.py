"""The tables of scripts/bench-shm.sh: comet-shm against each MPI and the limits of the machine.

Usage: table.py LINE_NS RESULTS

LINE_NS is what a cache line usually takes from core to core. RESULTS is a file with two kinds of
lines: `side ranks round figure bytes ns line_before line_after`, where the side is comet, private,
over-MPI, MPI or MPI/SETTING, and `limits name value unit`.

A value counts if the cache line took about its usual time before and after it: the host moves the
processors of a guest, and then all times are others. Of what counts the median over the launches is
taken; of the settings of one MPI, the one that is best for the figure.
"""

import statistics
import sys
from collections import defaultdict

# How far the line may be from its usual time, as a factor; as in loops.c.
LINE_TOLERANCE = 1.2

# (side, figure, ranks, {bytes: the most of the best MPI's time that comet may take, or None})
TARGETS = [
    ("comet", "latency", 2, {0: 0.6, 8: 0.6, 48: 0.6, 64: 0.6, 1024: 0.7, 4096: 0.9}),
    ("comet", "latency", 2, dict.fromkeys([16384, 65536, 262144, 1048576, 4194304], 0.4)),
    ("comet", "latency_in_place", 2, {16384: 0.9, 65536: 0.7, 1048576: 0.55, 4194304: 0.45}),
    ("private", "latency", 2, {16384: 1.0, 65536: 1.0, 1048576: 0.85, 4194304: 0.85}),
    ("private", "latency_in_place", 2, {16384: 1.0, 65536: 1.0, 1048576: 0.85, 4194304: 0.85}),
    ("comet", "stream", 2, {8: 0.2}),
    ("comet", "barrier", 2, {0: 0.5}),
    ("comet", "sum", 2, {8: 0.5, 1048576: 0.6}),
    ("comet", "broadcast", 2, {8: None, 1048576: 0.6}),
    ("comet", "broadcast_and_barrier", 2, {8: None, 1048576: 0.6}),
    ("comet", "sum", 4, {1048576: 0.6}),
    ("comet", "broadcast", 4, {1048576: 0.6}),
    ("comet", "broadcast_and_barrier", 4, {1048576: 0.6}),
]
TARGETS += [
    ("comet", figure, ranks, {0 if figure == "barrier" else 8: 0.35})
    for ranks in (4, 8, 16, 64)
    for figure in ("latency", "barrier", "sum", "broadcast", "broadcast_and_barrier")
]
# What a latency may take of the time of a bare cache line.
LINE_BYTES = (0, 8, 48)
LINE_TARGET = 1.08


def main(line_ns, path):
    with open(path, encoding="utf-8") as lines:
        rows = [line.split() for line in lines]
    print_limits([row[1:] for row in rows if row[0] == "limits"])
    results = Results(float(line_ns), [row for row in rows if row[0] != "limits"])
    verdicts = [*line_table(results), *mpi_table(results)]
    over_table(results)
    print_foot(verdicts, results)


class Results:
    """What was measured: {(side, ranks, figure, bytes): values that count}."""

    def __init__(self, line_ns, rows):
        self.line_ns = line_ns
        self.samples = defaultdict(list)
        for side, ranks, _, figure, length, *numbers in rows:
            self.samples[side, int(ranks), figure, int(length)].append(tuple(map(float, numbers)))
        self.counting = {key: list(filter(self.counts, of)) for key, of in self.samples.items()}
        sides = {side.split("/")[0] for side, *_ in self.samples}
        own = {"comet", "private"}
        self.mpis = sorted(side for side in sides - own if not side.startswith("over-"))

    def counts(self, sample):
        """Ranks that share processors have no line, and it says nothing about them."""
        of_line = [ns / self.line_ns for ns in sample[1:] if ns]
        return all(1 / LINE_TOLERANCE <= ratio <= LINE_TOLERANCE for ratio in of_line)

    def value(self, side, ranks, figure, length):
        """Median over the launches, of the best setting; None where nothing counts."""
        of_settings = [
            median([sample[0] for sample in of])
            for (other, *case), of in self.counting.items()
            if other.split("/")[0] == side and tuple(case) == (ranks, figure, length)
        ]
        return min((value for value in of_settings if value is not None), default=None)

    def of_line(self, side, length):
        """Median over the launches of a latency in times of the line."""
        of = self.counting.get((side, 2, "latency", length), [])
        return median([2 * ns / (before + after) for ns, before, after in of if before])

    def best_of_line(self, length):
        ratios = [self.of_line(mpi, length) for mpi in self.mpis]
        return min((ratio for ratio in ratios if ratio is not None), default=None)


def median(values):
    return statistics.median(values) if values else None


# ---- the tables ----


def print_limits(rows):
    values = defaultdict(list)
    for name, value, unit in rows:
        values[name, unit].append(float(value))
    if values:
        print(f"\n{'limit of the machine':<28} {'median':>12} {'least':>12} {'most':>12}  unit")
    for (name, unit), of in values.items():
        print(f"{name:<28} {median(of):>12.1f} {min(of):>12.1f} {max(of):>12.1f}  {unit}")


def line_table(results):
    """Small messages beside a bare cache line; yields the verdicts."""
    ratios = [(length, results.of_line("comet", length)) for length in LINE_BYTES]
    if all(ratio is None for _, ratio in ratios):
        return
    head = f"{'latency / cache line':<27} {'bytes':>8} {'ranks':>5} {'comet-shm':>11}"
    print(f"\n{head} {'best MPI':>10}  target  verdict")
    for length, ratio in ratios:
        verdict = verdict_of(ratio, LINE_TARGET)
        cells = f"{text(ratio, 2):>11} {text(results.best_of_line(length), 2):>10}"
        print(f"{'latency':<27} {length:>8} {2:>5} {cells}  {LINE_TARGET:>6}  {verdict}")
        yield verdict


def mpi_table(results):
    """comet-shm beside each MPI; yields the verdicts."""
    heads = "".join(f"{mpi:>11}" for mpi in results.mpis)
    head = f"{'ns':<27} {'bytes':>8} {'ranks':>5} {'comet-shm':>11}{heads}"
    print(f"\n{head}  comet/best  target  verdict")
    for side, figure, ranks, lengths in TARGETS:
        for length, target in lengths.items():
            if (side, ranks, figure, length) in results.samples:
                yield mpi_row(results, (side, ranks, figure, length), target)


def mpi_row(results, case, target):
    side, ranks, figure, length = case
    own = results.value(*case)
    others = [results.value(mpi, *case[1:]) for mpi in results.mpis]
    best = min((value for value in others if value is not None), default=None)
    ratio = own / best if own is not None and best is not None else None
    verdict = verdict_of(ratio, target)
    name = f"{figure} (private)" if side == "private" else figure
    cells = "".join(f"{text(value, 0):>11}" for value in (own, *others))
    print(
        f"{name:<27} {length:>8} {ranks:>5} {cells}  {text(ratio, 2):>10}"
        f"  {text(target, 2):>6}  {verdict}"
    )
    return verdict


def over_table(results):
    """CoMet over an MPI beside C over the same."""
    keys = [key for key in results.samples if key[0].startswith("over-")]
    if not keys:
        return
    heads = "".join(f"{mpi:>11}" for mpi in results.mpis)
    print(f"\n{'comet over MPI / C':<27} {'bytes':>8} {'ranks':>5}{heads}")
    for case in dict.fromkeys(key[1:] for key in keys):
        cells = "".join(f"{text(over_ratio(results, mpi, case), 2):>11}" for mpi in results.mpis)
        ranks, figure, length = case
        print(f"{figure:<27} {length:>8} {ranks:>5}{cells}")


def over_ratio(results, mpi, case):
    over, plain = (results.value(side, *case) for side in (f"over-{mpi}", mpi))
    return over / plain if over is not None and plain is not None else None


def verdict_of(ratio, target):
    if target is None:
        return ""
    if ratio is None:
        return "-"
    return "met" if ratio <= target else "MISSED"


def text(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def print_foot(verdicts, results):
    n_all = sum(map(len, results.samples.values()))
    n_counting = sum(map(len, results.counting.values()))
    print(
        f"\n{verdicts.count('met')} targets met, {verdicts.count('MISSED')} missed,"
        f" {verdicts.count('-')} without values\n"
        f"{n_counting} of {n_all} values count; for the others the line took more than"
        f" {LINE_TOLERANCE} times its usual {results.line_ns:.0f} ns, or as much less"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

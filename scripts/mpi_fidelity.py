"""The tables of scripts/bench-mpi-fidelity.sh: comet-run over MPI against plain C over MPI, and
against the programs of IMB, OSU and SKaMPI.

Usage: mpi_fidelity.py NNN-c.csv NNN-comet.csv ... in the order of launching, C R R C, or
       mpi_fidelity.py NNN-peers.txt NNN-namesakes.txt ... with what programs of both sides print.

What differs from launch to launch is larger than what differs within one, so the unit of evidence
is a pair of neighbouring launches: its ratio of the medians, comet-run over C, or of the means that
both programs print. The estimate is the median over the pairs, its interval comes from their order
statistics.
"""

import csv
import json
import math
import re
import statistics
import sys

CONFIDENCE = 0.95
# From this length on only the ratio counts; a few nanoseconds are more than that below it.
LONG_BYTES = 4096
LONG_TOLERANCE = 0.03
SHORT_TOLERANCE = 0.02
SHORT_TOLERANCE_NS = 10
# Points by which shares of hidden time may differ.
SHARE_TOLERANCE = 5
# What a time of 0.00 us is at most.
LEAST_US = 0.005
# Columns with the mean of a benchmark, or a rate that follows from it.
OF_MESSAGES = "Msg/sec"
# OSU: MB of 10^6 bytes a second.
OF_RATE = "(MB/s)"
# OSU: an unblocked operation alone, behind the times beside work and of the work.
OF_PURE = "Pure Comm.(us)"
BESIDE_WORK = ["Overall(us)", "Compute(us)", OF_PURE, "Overlap(%)"]
# IMB: the same.
PURE, SHARES = "t_pure[usec]", ("overlap[%]", "Overlap(%)")
# A row of SKaMPI: values of loops, length, time in ns, as scripts/bench-suites.sh wants it, and its error.
OF_RESULT = re.compile(r"(?:\w+= *[0-9]+ +)*([0-9]+) +([0-9.]+) +[0-9.]+ +[0-9]+")
# A row of IMB-HALO: length, messages and time.
OF_HALO = re.compile(r"([0-9]+)\(x[0-9]+\)\(bytes\) ([0-9.]+)\(usec\)")
MEANS = ("t[usec]", "t_avg[usec]", OF_MESSAGES, OF_RATE, OF_PURE, PURE)


def main(paths):
    launches = [read(path) for path in paths]
    # A line of a peer into which another rank has written is none.
    in_all = set.intersection(*map(set, launches))
    for case in sorted(set.union(*map(set, launches)) - in_all):
        print(f"left out, since a launch lacks it: {case[0]} {case[1]}")
    launches = [{case: times[case] for case in times if case in in_all} for times in launches]
    pairs = [in_order(*launches[i : i + 2], i % 4 == 0) for i in range(0, len(launches), 2)]
    c_launches = [c for c, _ in pairs]
    controls = [
        in_order(*c_launches[i : i + 2], i % 4 == 0) for i in range(0, len(c_launches) - 1, 2)
    ]
    print(head("peer" if paths[0].endswith(".txt") else "C"))
    verdicts = [print_row(case, pairs, controls) for case in pairs[0][0]]
    print_foot(verdicts, pairs, controls)
    shares = [case for case, times in pairs[0][0].items() if "share" in times]
    if shares:
        print_shares(shares, pairs, controls)


def in_order(first, second, is_first_base):
    """Base and other of two neighbouring launches."""
    return (first, second) if is_first_base else (second, first)


# ---- reading ----


def read(path):
    """Times of one launch in ns, {(kernel, length): {"median": ..., "p25": ...}}.

    What is there twice counts the second time: the first was to warm up.
    """
    with open(path, encoding="utf-8", newline="") as lines:
        if path.endswith(".txt"):
            times = dict(times_of_text(lines))
        else:
            rows = csv.DictReader(line for line in lines if not line.startswith("#"))
            times = dict(time_of(row) for row in rows)
    if not times:
        sys.exit(f"{path} holds no times")
    return times


def time_of(row):
    if "t_median_ns" not in row:
        return (row["kernel"], int(row["length"])), {
            "median": float(row["median_ns"]),
            "p25": float(row["p25_ns"]),
        }
    if row["status"] != "ok":
        sys.exit(f"comet-run has no time of {row['key']}: {row['message']}")
    length = row["length_bytes"] or row["params"].removeprefix("vector_length=") or 0
    return (row["kernel"], int(length)), {
        "median": float(row["t_median_ns"]),
        "p25": float(row["t_p25_ns"]),
    }


def times_of_text(lines):
    """Cases and times of what programs of IMB, OSU and SKaMPI print, and comet-run under their names
    or in its records."""
    kernel, columns = None, []
    for line in lines:
        words = line.split()
        if line.startswith("{"):
            record = json.loads(line)
            if record["type"] == "run":
                kernel = record["labels"]["entry"]
            elif record["type"] == "point" and record["status"] == "ok":
                ns = record["quoted_ns"]
                length = record["params"].get("length_bytes", 0)
                yield (kernel, length), {"median": ns, "p25": ns}
        elif line.startswith("# begin result "):
            kernel, columns = line.split('"')[1], [OF_RESULT]
        elif columns == [OF_RESULT] and (row := OF_RESULT.match(line)):
            ns = float(row[2])
            # SKaMPI prints 0 where none of its samples is valid.
            if ns > 0:
                yield (kernel, int(row[1])), {"median": ns, "p25": ns}
        elif line.startswith("#program "):
            kernel, columns = words[1], []
        elif line.startswith("# Benchmarking "):
            kernel = words[2]
        elif "MODE: " in line:
            # Transfers of windows that are ended all at once, or each.
            kernel += {"AGGREGATE": "/all", "NON-AGGREGATE": "/each"}[words[-1]]
        elif line.lstrip().startswith(("#bytes", "#repetitions")):
            columns = words
        elif line.startswith("# Size") and "MB/s" in line:
            columns = ["#bytes", OF_RATE]
        elif OF_PURE in line:
            columns = (["#bytes"] if line.startswith("# Size") else []) + BESIDE_WORK
        elif row := OF_HALO.match(line):
            ns = 1000 * float(row[2])
            yield (kernel, int(row[1])), {"median": ns, "p25": ns}
        elif words and all(is_number(word) for word in words):
            has_length = len(words) > 1 and columns[:1] not in (["#repetitions"], BESIDE_WORK[:1])
            length = int(words[0]) if has_length else 0
            # OSU: the length and the mean; a barrier has the mean alone. Rates of messages have more
            # digits than the times beside them.
            means = [title for title in columns if title in MEANS]
            title = OF_MESSAGES if OF_MESSAGES in means else next(iter(means), None)
            value = float(words[columns.index(title) if title else -1])
            if title == OF_MESSAGES:
                ns = 1e9 / value
            elif title == OF_RATE:
                ns = 1000 * length / value
            else:
                ns = 1000 * max(value, LEAST_US)
            share = next((float(words[columns.index(s)]) for s in SHARES if s in columns), None)
            times = {"median": ns, "p25": ns}
            yield (kernel, length), times if share is None else times | {"share": share}


def is_number(word):
    return word.replace(".", "", 1).isdigit()


# ---- statistics ----


class Estimate:
    """The median of ratios and its interval; without one if there are too few."""

    def __init__(self, case, pairs, quantile="median"):
        ratios = sorted(other[case][quantile] / base[case][quantile] for base, other in pairs)
        self.ratio = math.exp(statistics.median(map(math.log, ratios)))
        j = rank_of_bound(len(ratios))
        self.low, self.high = (ratios[j - 1], ratios[-j]) if j else (0.0, math.inf)

    def interval(self):
        return f"{self.low:.3f} .. {self.high:.3f}" if self.low else "-"


def rank_of_bound(n):
    """The largest j such that the j-th values from both ends enclose the median of n."""
    chance_outside, j = 2 * 0.5**n, 0
    while chance_outside <= 1 - CONFIDENCE:
        j += 1
        chance_outside += 2 * math.comb(n, j) * 0.5**n
    return j


def median_of(case, launches):
    return statistics.median(launch[case]["median"] for launch in launches)


def spread(pairs):
    """How far two neighbouring launches differ, as a standard deviation, median over the cases."""

    def of_case(case):
        ratios = (other[case]["median"] / base[case]["median"] for base, other in pairs)
        return statistics.stdev(map(math.log, ratios))

    return statistics.median(of_case(case) for case in pairs[0][0])


# ---- the table ----


def head(base):
    of_two = f"{base}/{base}" if len(base) == 1 else "base"
    return (
        f"\n{'kernel':<12}   length {base + ' us':>11}    comet us   ratio    95% interval     p25"
        f"   diff ns  {of_two:<6} 95% interval  verdict"
    )


def print_row(case, pairs, controls):
    kernel, length = case
    c_ns = median_of(case, [c for c, _ in pairs])
    comet_ns = median_of(case, [comet for _, comet in pairs])
    diff_ns = statistics.median(comet[case]["median"] - c[case]["median"] for c, comet in pairs)
    estimate, control = Estimate(case, pairs), Estimate(case, controls)
    verdict = verdict_of(estimate, tolerance(kernel, length, c_ns))
    print(
        f"{kernel:<12}  {length:>7} {c_ns / 1000:>11.3f} {comet_ns / 1000:>11.3f}"
        f"  {estimate.ratio:>6.3f}  {estimate.interval():>14}"
        f"  {Estimate(case, pairs, 'p25').ratio:>6.3f}  {diff_ns:>8.0f}"
        f"  {control.ratio:.3f}  {control.interval():>14}  {verdict}"
    )
    return verdict


def tolerance(kernel, length, c_ns):
    """How far from 1 the ratio may be."""
    length_bytes = 8 * length if kernel == "reduction" else length
    if length_bytes >= LONG_BYTES:
        return LONG_TOLERANCE
    return max(SHORT_TOLERANCE, SHORT_TOLERANCE_NS / c_ns)


def verdict_of(estimate, tolerance):
    """`under` would say that the two do not measure the same."""
    low, high = 1 - tolerance, 1 + tolerance
    if low <= estimate.low and estimate.high <= high:
        return "ok"
    if estimate.low > high:
        return "over"
    return "under" if estimate.high < low else "unclear"


def print_shares(cases, pairs, controls):
    """The hidden shares in %, and how many points comet-run has more."""
    print(
        f"\n{'hidden share':<12}   length      peer %     comet %  points    95% interval  of two"
        "  verdict"
    )
    for case in cases:
        points = sorted(comet[case]["share"] - peer[case]["share"] for peer, comet in pairs)
        of_two = statistics.median(b[case]["share"] - a[case]["share"] for a, b in controls)
        j = rank_of_bound(len(points))
        verdict = verdict_of_points(points[j - 1], points[-j]) if j else "unclear"
        sides = [statistics.median(pair[side][case]["share"] for pair in pairs) for side in (0, 1)]
        interval = f"{points[j - 1]:.1f} .. {points[-j]:.1f}" if j else "-"
        print(
            f"{case[0]:<12}  {case[1]:>7} {sides[0]:>11.1f} {sides[1]:>11.1f}"
            f"  {statistics.median(points):>6.1f}  {interval:>14}  {of_two:>6.1f}  {verdict}"
        )
    print(f"ok: the interval is within {SHARE_TOLERANCE} points")


def verdict_of_points(low, high):
    if -SHARE_TOLERANCE <= low and high <= SHARE_TOLERANCE:
        return "ok"
    if low > SHARE_TOLERANCE:
        return "over"
    return "under" if high < -SHARE_TOLERANCE else "unclear"


def print_foot(verdicts, pairs, controls):
    words = ("ok", "over", "under", "unclear")
    counts = ", ".join(f"{verdicts.count(word)} {word}" for word in words)
    print(
        f"\n{counts} of {len(verdicts)} cases\n"
        f"ok: the interval is within {LONG_TOLERANCE:.0%} of 1 from {LONG_BYTES} bytes on, below"
        f" within {SHORT_TOLERANCE:.0%} or {SHORT_TOLERANCE_NS} ns; over, under: it is outside;"
        " unclear: it is too wide (four times the pairs halve it)\n"
        f"launches of a pair differ by {spread(pairs):.1%}, two of the base by {spread(controls):.1%}"
        " (standard deviations); C/C has half as many pairs"
    )


if __name__ == "__main__":
    main(sys.argv[1:])

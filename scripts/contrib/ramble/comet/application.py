"""Ramble application that runs CoMet, and reads its figures of merit.

An experiment succeeds if all data arrived right and the whole plan was measured. Each case, as in
`comet/echo/hops=1/length_bytes=8/procs=2`, is a context with its own figures.
"""

from ramble.appkit import *


class Comet(ExecutableApplication):
    """CoMet measures message passing, and verifies every message pattern before and after."""

    name = "comet"

    tags("synthetic-benchmarks", "communication")

    software_spec("comet-bench", pkg_spec="comet-bench +mpi", package_manager="spack*")

    executable(
        "measure",
        "comet-run {kernels} {comet_options} --format fom",
        use_mpi=True,
        output_capture=OUTPUT_CAPTURE.ALL,
    )

    workload("messages", executable="measure")
    workload("collectives", executable="measure")
    workload("everything", executable="measure")

    workload_variable(
        "kernels",
        default="echo exchange",
        description="Kernels, suites or globs, as comet-run list names them",
        workload="messages",
    )
    workload_variable(
        "kernels",
        default="broadcast reduction barrier",
        description="Kernels, suites or globs, as comet-run list names them",
        workload="collectives",
    )
    workload_variable(
        "kernels",
        default="all",
        description="Kernels, suites or globs, as comet-run list names them",
        workload="everything",
    )
    workload_variable(
        "comet_options",
        default="--profile standard",
        description="Further options of comet-run",
        workloads=["messages", "collectives", "everything"],
    )

    # The result files, with raw samples, machine and settings.
    archive_pattern("{experiment_run_dir}/comet-results/*.jsonl")

    figure_of_merit_context(
        "case",
        regex=r"^comet\.fom (?P<case>\S+) ",
        output_format="{case}",
    )

    # Names and units of figures are fixed words in Ramble: there is one entry for each pair.
    for metric, unit in [
        ("latency", "us"),
        ("time", "us"),
        ("bandwidth", "MB/s"),
        ("algorithm_bandwidth", "MB/s"),
        ("bus_bandwidth", "MB/s"),
        ("message_rate", "messages/s"),
        ("bisection_bandwidth", "MB/s"),
        ("t0", "us"),
        ("r_inf", "MB/s"),
    ]:
        figure_of_merit(
            metric,
            fom_regex=rf"^comet\.fom \S+ {metric} (?P<value>\S+) {unit} (lower|higher)$",
            group_name="value",
            units=unit,
            contexts=["case"],
        )

    success_criteria("whole_and_verified", mode="string", match=r"^comet\.status pass")
    success_criteria("no_run_failed", mode="string", anti_match=r"^comet\.status fail")

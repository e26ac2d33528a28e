"""ReFrame checks that run CoMet, and keep its figures of merit.

    reframe -c comet_check.py -r -n CometShm -S executable=/path/to/comet-run
    reframe -c comet_check.py -r --performance-report

CometShm lets one process start its ranks on one node, CometMpi lets the launcher of the partition
start them. A check passes if all data arrived right and the whole plan was measured. Its
performance variables are the lines `comet.fom` of `comet-run --format fom`; their names are the
same in every run of a command, so that ReFrame keeps one history for each. References belong into
the site's own subclass:

    reference = {"*": {"comet_barrier_procs_4_time": (0.4, None, 0.10, "us")}}
"""

import os
import re

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ

FIGURE = r"^comet\.fom (?P<case>\S+) (?P<metric>\S+) (?P<value>\S+) (?P<unit>\S+) (?P<better>\S+)$"


class CometBase(rfm.RunOnlyRegressionTest):
    """What both checks have in common."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "comet-run"
    keep_files = ["comet-results"]

    #: Kernels, suites or globs, as `comet-run list` names them.
    kernels = variable(typ.List[str], value=["echo", "barrier"])
    #: Further options of comet-run.
    options = variable(typ.List[str], value=["--profile", "standard"])
    #: Number of ranks.
    ranks = variable(int, value=2)

    @run_before("run")
    def set_options(self):
        self.executable_opts = [*self.kernels, *self.options, "--format", "fom"]

    @sanity_function
    def everything_was_measured_and_verified(self):
        return sn.all([
            sn.assert_found(r"^comet\.status pass", self.stdout),
            sn.assert_not_found(r"^comet\.status fail", self.stdout),
        ])

    @run_before("performance")
    def set_figures(self):
        # Evaluated here, where the working folder is not the stage folder.
        path = os.path.join(self.stagedir, self.stdout.evaluate())
        figures = sn.extractall(FIGURE, path, ("case", "metric", "value", "unit")).evaluate()
        for case, metric, value, unit in figures:
            name = re.sub(r"[^A-Za-z0-9_]", "_", f"{case}_{metric}")
            self.perf_variables[name] = sn.make_performance_function(sn.defer(float(value)), unit)


@rfm.simple_test
class CometShm(CometBase):
    """Ranks that share the memory of one node."""

    num_tasks = 1

    @run_after("init")
    def set_ranks(self):
        self.num_cpus_per_task = self.ranks
        self.options = [*self.options, "-t", "shm", "-n", str(self.ranks)]


@rfm.simple_test
class CometMpi(CometBase):
    """Ranks of the launcher, for a build with the feature mpi."""

    @run_after("init")
    def set_ranks(self):
        self.num_tasks = self.ranks
        self.options = [*self.options, "-t", "mpi"]

"""Spack package of CoMet, for a package repository of your own (`spack repo create`).

It is called comet-bench, because Spack has another program called comet.
"""

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class CometBench(CargoPackage):
    """CoMet measures what messages, collectives and operations on distributed matrices cost."""

    homepage = "https://example.org/comet"
    # Where your clone of CoMet is; `spack develop` takes a folder as well.
    git = "https://example.org/comet.git"

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    variant("mpi", default=True, description="Measure over MPI, and not over shared memory alone")

    depends_on("rust@1.88:", type="build")
    depends_on("c", type="build")

    with when("+mpi"):
        depends_on("mpi")
        # libclang reads the header of MPI.
        depends_on("llvm+clang", type="build")

    # The root of the repository is a workspace, which cargo does not install.
    build_directory = "comet-run"

    @property
    def build_args(self):
        features = ["--features", "mpi"] if self.spec.satisfies("+mpi") else []
        return ["--locked", *features]

    @property
    def check_args(self):
        return ["--locked"]

    def setup_build_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

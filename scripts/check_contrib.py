"""Holds one export, or one file of scripts/contrib, against the program that reads it.

Called by scripts/check-contrib.sh as `check_contrib.py NAME FILE...`, in an environment that has
these programs; ends with a traceback if something is wrong. Ramble and Spack cannot be installed by
pip: their files are loaded on top of a module that takes note of what they declare.
"""

import hashlib
import json
import os
import re
import runpy
import sys
import types


# Rates that people compare, and their units.
RATES = {
    "algorithm-bandwidth": "bytes_per_second",
    "bus-bandwidth": "bytes_per_second",
    "message-rate": "messages_per_second",
    "bisection-bandwidth": "bytes_per_second",
}


def fom(path):
    """Lines of six words with a number, each name once, every rate, and the verdict last."""
    *figures, verdict = lines(path)
    words = [line.split(" ") for line in figures]
    assert words and all(len(line) == 6 and float(line[3]) > 0 for line in words), words
    names = [(line[1], line[2]) for line in words]
    assert len(set(names)) == len(names), "a name is there twice"
    assert {metric for _, metric in names} >= {rate.replace("-", "_") for rate in RATES}, names
    assert re.match(r"comet\.status pass points=\d+ failed=0 skipped=\d+ verdict=[a-z-]+$", verdict), verdict


def bmf(path):
    """Bencher Metric Format: benchmarks with measures with a value, and perhaps bounds."""
    benchmarks = load(path)
    assert benchmarks
    for measures in benchmarks.values():
        assert measures.keys() <= {"latency", "bandwidth", *RATES} and "latency" in measures, measures
        for measure in measures.values():
            assert measure.keys() <= {"value", "lower_value", "upper_value"}, measure
            low, high = (measure.get(name, measure["value"]) for name in ("lower_value", "upper_value"))
            assert low <= measure["value"] <= high and measure["value"] > 0, measure
    assert {name for measures in benchmarks.values() for name in measures} >= set(RATES), "a rate is missing"


def openmetrics(path):
    """What the parser of the Prometheus client reads, with nothing lost."""
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    text = read(path)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["comet_time_seconds"].unit == "seconds"
    assert families["comet_bandwidth_bytes_per_second"].unit == "bytes_per_second"
    for rate, unit in RATES.items():
        family = families[f"comet_{rate.replace('-', '_')}_{unit}"]
        assert family.unit == unit, family
        for sample in family.samples:
            assert sample.value > 0 and sample.labels["formula"].endswith(" / time"), sample
    n_samples = sum(len(family.samples) for family in families.values())
    assert n_samples == sum(not line.startswith("#") for line in text.splitlines())


def junit(path):
    """What junitparser reads, with totals that agree with the tests."""
    from junitparser import JUnitXml

    suites = JUnitXml.fromfile(path)
    written = (suites.tests, suites.failures, suites.errors, suites.skipped)
    suites.update_statistics()
    assert written == (suites.tests, suites.failures, suites.errors, suites.skipped), written
    assert suites.tests > 0 and suites.failures == 0 and suites.errors == 0, written


def extrap(path):
    """Extra-P finds that the simulated barrier grows with the logarithm of the ranks."""
    from extrap.fileio.file_reader.jsonlines_file_reader import read_jsonlines_file
    from extrap.modelers.model_generator import ModelGenerator

    experiment = read_jsonlines_file(path)
    models = ModelGenerator(experiment, modeler="DEFAULT", name="default")
    models.model_all()
    found = {str(callpath): str(model.hypothesis.function) for (callpath, _), model in models.models.items()}
    assert "log2(p)^(1)" in found["comet->barrier"], found


def notebook(path):
    """The notebook is stored without outputs, and runs where the result files are."""
    import nbclient
    import nbformat

    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "outputs are stored"
    nbclient.NotebookClient(book, timeout=60).execute()
    images = [output for cell in code for output in cell.outputs if "image/png" in output.get("data", {})]
    assert len(images) == 2, f"{len(images)} figures"


def reframe(path):
    """ReFrame passed the check, and kept figures of merit."""
    (run,) = load(path)["runs"]
    (case,) = run["testcases"]
    assert case["result"] == "pass", case["result"]
    names = [name.split(":")[-1] for name in case["perfvalues"]]
    assert "comet_barrier_procs_2_time" in names, names
    assert all(re.fullmatch(r"[A-Za-z0-9_]+", name) for name in names), names


def ramble(path, figures):
    """Each line of figures is of one case, and holds one figure that the application declares."""
    calls = declared(path, ["ramble.appkit"], {"ExecutableApplication": object})
    workloads = {args[0] for args, _ in calls["workload"]}
    assert workloads == {"messages", "collectives", "everything"}, workloads
    ((_, context),) = calls["figure_of_merit_context"]
    patterns = [keywords["fom_regex"] for _, keywords in calls["figure_of_merit"]]
    metrics = {args[0] for args, _ in calls["figure_of_merit"]}
    for line in lines(figures)[:-1]:
        assert re.match(context["regex"], line).group("case") == line.split(" ")[1]
        found = [match.group("value") for match in (re.match(p, line) for p in patterns) if match]
        assert found == [line.split(" ")[3]], line
        assert line.split(" ")[2] in metrics
    verdicts = {key: text for _, keywords in calls["success_criteria"]
                for key, text in keywords.items() if key.endswith("match")}
    last = lines(figures)[-1]
    assert re.match(verdicts["match"], last) and not re.match(verdicts["anti_match"], last)


def spack(path, archive=None):
    """The package declares what the build needs, and asks cargo for the feature mpi with +mpi; one of
    scripts/package.sh names the archive of the sources beside it, with its hash."""
    module = "spack_repo.builtin.build_systems.cargo"
    calls = declared(path, ["spack.package", module], {"CargoPackage": object})
    needs = {args[0] for args, _ in calls["depends_on"]}
    assert needs == {"rust@1.88:", "c", "mpi", "llvm+clang"}, needs
    package = calls["classes"]["CometBench"]()
    for has_mpi, features in ((True, ["--features", "mpi"]), (False, [])):
        package.spec = types.SimpleNamespace(satisfies=lambda _, has_mpi=has_mpi: has_mpi)
        assert package.build_args == ["--locked", *features]
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    assert os.path.isfile(os.path.join(root, package.build_directory, "Cargo.toml"))
    releases = [keywords for _, keywords in calls["version"] if "sha256" in keywords]
    if archive is None:
        assert not releases, releases
        return
    (release,) = releases
    assert release["url"].endswith("/" + os.path.basename(archive)), release
    with open(archive, "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == release["sha256"], release


def declared(path, modules, bases):
    """What the file calls of modules that are not there, by name: arguments and keywords."""
    calls = {}

    class Anything:
        """Stands for any constant, and for the guard of a `with`."""

        def __getattr__(self, name):
            return self

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

    def directive(name):
        def declare(*args, **keywords):
            calls.setdefault(name, []).append((args, keywords))
            return Anything()

        return declare

    # Names that both languages have, or one of them.
    words = ("name tags software_spec executable workload workload_variable archive_pattern "
             "figure_of_merit figure_of_merit_context success_criteria "
             "license version variant depends_on when").split()
    stub = {word: directive(word) for word in words} | {"OUTPUT_CAPTURE": Anything()} | bases
    for module in modules:
        parts = module.split(".")
        for length in range(1, len(parts) + 1):
            sys.modules.setdefault(".".join(parts[:length]), types.ModuleType(parts[length - 1]))
        sys.modules[module].__dict__.update(stub)
    calls["classes"] = runpy.run_path(path)
    return calls


def load(path):
    return json.loads(read(path))


def lines(path):
    return read(path).splitlines()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


CHECKS = [fom, bmf, openmetrics, junit, extrap, notebook, reframe, ramble, spack]

if __name__ == "__main__":
    {check.__name__: check for check in CHECKS}[sys.argv[1]](*sys.argv[2:])

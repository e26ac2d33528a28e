"""Markup in every text of result files, and none of it in a page of the server.

Usage: database_hostile.py URL FILE... <TOKENS

Each text of the files in turn begins with markup; those that the server takes do so together in further runs, which are
looked at in lists, alone, compared and over time. TOKENS one token a line: each sends at most 90 files.
"""

import collections
import copy
import html.parser
import json
import sys
import urllib.error
import urllib.parse
import urllib.request

MARKUP = "'\"><hostile onload=x></script></title></style>]]>&lt;hostile>"
OF_A_TOKEN = 90
# Kinds of pages that a browser takes for markup; it takes no other for it, as each answer says.
PAGES = ("text/html", "image/svg+xml")


class Tags(html.parser.HTMLParser):
    """Names of all tags and attributes of a page."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def handle_starttag(self, tag, attrs):
        self.names.update([tag, *(name for name, _ in attrs)])


def ask(url, body=None, token=""):
    request = urllib.request.Request(url, body, {"authorization": f"Bearer {token}"} if token else {})
    try:
        answer = urllib.request.urlopen(request, timeout=120)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        text = answer.read().decode(errors="replace")
        kind = answer.headers["content-type"] or ""
        assert answer.headers["x-content-type-options"] == "nosniff", url
        if kind.startswith(PAGES):
            tags = Tags()
            tags.feed(text)
            found = "<hostile" in text or tags.names & {"hostile", "onload"}
            assert not found, f"markup in {url}: {text[max(0, text.find('<hostile') - 300):][:600]}"
        return answer.status, text


def shortened(records):
    """`records` with three lines of each kind and kernel, and an end that counts them."""
    counts = collections.Counter()
    kept = []
    for record in records:
        kind = (record["type"], record.get("kernel"))
        counts[kind] += 1
        if counts[kind] <= 3:
            kept.append(record)
    points = collections.Counter(record["status"] for record in kept if record["type"] == "point")
    for record in kept:
        if record["type"] == "end":
            record["points"] = {name: points[name] for name in record["points"]}
    return kept


def walk(value, place):
    """All texts below `value`: the place of its kind, its container, its key; names of labels are texts, too."""
    items = enumerate(value) if isinstance(value, list) else list(value.items())
    for key, one in items:
        at = place if isinstance(value, list) else f"{place}.{key}"
        if isinstance(one, (list, dict)):
            yield from walk(one, at)
        elif isinstance(one, str) and key != "type":
            yield at, value, key


def changed(records, places, name):
    """The file of `records` with markup in the texts of `places`, as another run called `name`."""
    records = copy.deepcopy(records)
    for record in records:
        for place, container, key in list(walk(record, record["type"])):
            if place.rsplit(".", 1)[-1] == "run_id":
                container[key] = (MARKUP if "run_id" in places else "") + container[key] + name
            elif place in places:
                # The id of a kernel is that of its points.
                suite = "/" if place == "run.kernels.id" else "\n"
                container[key] = suite.join(MARKUP + part for part in container[key].split(suite))
        if record["type"] == "run":
            names = ("machine", "mpi", "network", "site", "name", MARKUP) if "labels" in places else ()
            record["labels"].update({**dict.fromkeys(names, MARKUP), "again": name})
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def main(url, *files):
    tokens, n_sent = sys.stdin.read().split(), 0

    def send(body):
        nonlocal n_sent
        token = tokens[n_sent // OF_A_TOKEN]
        n_sent += 1
        status, text = ask(f"{url}/api/v1/runs", body, token)
        assert status in (201, 422), (status, text[:500])
        return json.loads(text)["runs"][0]["id"] if status == 201 else None

    n_places, n_taken = 0, 0
    for file in files:
        with open(file, encoding="utf-8") as text:
            records = shortened([json.loads(line) for line in text])
        places = {place for record in records for place, _, _ in walk(record, record["type"])}
        places = sorted({"run_id" if place.endswith(".run_id") else place for place in places} | {"labels"})
        taken = [place for number, place in enumerate(places) if send(changed(records, [place], f"{file} {number}"))]
        n_places, n_taken = n_places + len(places), n_taken + len(taken)
        assert {"labels", "run_id", "point.suite", "point.kernel", "run.transport.backend"} <= set(taken), taken
        runs = [send(changed(records, taken, f"all {number}")) for number in range(2)]
        assert all(runs), "the texts that are taken one by one are refused together"
        for run in runs:
            for path in (f"/runs/{run}", f"/runs/{run}/report", f"/api/v1/runs/{run}", f"/api/v1/runs/{run}/points"):
                status, _ = ask(url + path)
                assert status == 200, (path, status)
        one = json.loads(ask(f"{url}/api/v1/runs/{runs[0]}")[1])
        assert "hostile" in one["machine"] and any("hostile" in of["kernel"] for of in one["series"]), one["machine"]
        chosen = "&".join([f"run={run}" for run in runs] + [f"series={of['id']}" for of in one["series"][:20]])
        machine = urllib.parse.quote(one["machine"])
        trend = f"machine={machine}&series={one['series'][0]['id']}"
        for end in ("", ".svg", ".csv", ".gp", ".json"):
            status, text = ask(f"{url}/compare{end}?{chosen}")
            assert status == 200 and "hostile" in text, (end, status)
            assert ask(f"{url}/trends{end}?{trend}")[0] == 200, end
    value = urllib.parse.quote(MARKUP)
    document = json.loads(ask(f"{url}/api/v1/openapi.json")[1])
    fields = {field["name"] for calls in document["paths"].values() for call in calls.values()
              for field in call.get("parameters", ())} | {"run", "x", "y", "scale", "from", "at", "length", "ranks"}
    paths = [path for path in document["paths"] if "{" not in path] + ["/", "/compare", "/compare.svg", "/trends"]
    for path in [*document["paths"], *paths, "/runs/{id}", "/files/{id}", "/kernels/{id}", "/metrics", "/{id}"]:
        ask(url + path.replace("{id}", value))
    for path in paths:
        for field in sorted(fields):
            status, text = ask(f"{url}{path}?{field}={value}")
            assert status < 500, (path, field, text)
    print(f"{n_taken} of {n_places} kinds of texts may hold markup, and no page has it")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])

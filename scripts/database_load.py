"""Readers and a writer of a server of results, and a server of a copy that is held against it.

Usage: database_load.py work URL FILE       reads pages and submits FILE with other labels until the file `stop` is there;
                                            prints the name of each file that is answered
       database_load.py equal URL COPY FILE PROMISED   answers of COPY about its runs, among which are those of the files in
                                            PROMISED, byte for byte
The variable COMET_TOKEN has a token that submits and publishes.
"""

import itertools
import json
import os
import sys
import threading
import time
import urllib.request


def ask(url, body=None):
    headers = {"authorization": "Bearer " + os.environ["COMET_TOKEN"]}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
        return answer.status, answer.read()


def runs(url):
    return json.loads(ask(f"{url}/api/v1/runs?limit=500")[1])["runs"]


def labelled(file, machine):
    """The text of `file` as that of a machine of its own, whose run no other one supersedes."""
    with open(file, encoding="utf-8") as text:
        return text.read().replace('"night":"1"', f'"machine":"{machine}","night":"1"').encode()


def read(url, number):
    paths = ["/", "/machines", "/compare"] + [f"/runs/{run['id']}" for run in runs(url)]
    for path in itertools.cycle(paths[number:] + paths[:number]):
        if os.path.exists("stop"):
            return
        ask(url + path)


def write(url, file):
    for number in itertools.count():
        if os.path.exists("stop"):
            return
        status, answer = ask(f"{url}/api/v1/runs", labelled(file, f"later-{number}"))
        assert status == 201, answer
        print(json.loads(answer)["file"], flush=True)
        time.sleep(0.05)


def failing(task, *of):
    try:
        task(*of)
    except BaseException as error:
        print(f"error: {error!r}", file=sys.stderr)
        os._exit(1)


def work(url, file):
    tasks = [(read, url, number) for number in range(3)] + [(write, url, file)]
    workers = [threading.Thread(target=failing, args=task) for task in tasks]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def equal(url, copy, file, promised):
    restored = runs(copy)
    with open(promised, encoding="ascii") as text:
        promised = set(text.read().split())
    assert len(promised) >= 5, promised
    lost = promised - {run["file"] for run in restored}
    assert not lost, f"{len(lost)} answered files are not in the copy"
    # Pages with forms list what came later, too.
    paths = ["/api/v1/runs?machine=first-9", "/api/v1/runs?label=machine=first-7"]
    for number, run in enumerate(restored):
        path = f"/runs/{run['id']}"
        paths += [path, f"/api/v1{path}", f"/api/v1{path}/points", f"/files/{run['file']}.jsonl.gz"]
        if number % 10 == 0:
            series = json.loads(ask(f"{copy}/api/v1{path}")[1])["series"][0]["id"]
            choice = f"run={run['id']}&run={restored[1]['id']}&series={series}"
            paths += [f"{path}/report", *(f"/compare{end}?{choice}" for end in (".svg", ".csv", ".gp", ".json"))]
            paths.append(f"/trends.json?machine={run['machine']}&series={series}")
    for path in paths:
        # An age may be another one a moment later.
        assert any(ask(url + path) == ask(copy + path) for _ in range(2)), f"{path} differs in the copy"
    assert ask(f"{copy}/api/v1/runs", labelled(file, "first-1"))[0] == 200, "the copy knows neither token nor file"
    print(f"{len(promised)} files were answered before the backup, {len(restored)} are in it, {len(paths)} answers are equal")


if __name__ == "__main__":
    tasks = {"work": (work, 2), "equal": (equal, 4)}
    task, n_words = tasks.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if task is None or len(sys.argv) != 2 + n_words:
        raise SystemExit(__doc__)
    task(*sys.argv[2:])

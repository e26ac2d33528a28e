"""Random requests and mutated submissions against a server of results.

Usage: database_fuzz.py URL PID FILE N_REQUESTS N_SUBMISSIONS [SEED] <TOKENS

FILE is a result file, PID the server, TOKENS one token a line: each sends at most 90 files, so that no limit
of rates answers in place of the reader. Every request has an answer below 500, and the server keeps its
memory. What was published of the mutated files is looked at like any other run.
"""

import gzip
import http.client
import json
import random
import re
import socket
import sys
import time
from urllib.parse import quote, urlsplit

MOST_KB = 512 << 10
OF_A_TOKEN = 90
FIELDS = """run series machine mpi network title label since until after limit x y scale from to at length ranks
            kernel night state superseded threshold format""".split()
WORDS = ["", "0", "-1", "1", "500", "501", "1Ki", "4Gi", "1e308", "-1e308", "nan", "inf", "18446744073709551616",
         "9223372036854775807", "2026-01-31", "2026-13-41", "0000-00-00", "t3e", "*", "%", "_", "' OR 1=1 --", "\"",
         "<script>alert(1)</script>", "../../etc/passwd", "\0", "\r\nx: y", "\u202e", "\U0001f600", "a" * 300,
         "length", "ranks", "time", "rate", "loglog", "linear", "night=1", "night", "=", "a=b=c"]
NUMBERS = ["0", "-1", "-0.0", "1e308", "1e-320", "1e999", "NaN", "null", "true", "\"x\"", "[]", "{}", "9007199254740993",
           "18446744073709551615", "18446744073709551616", "-9223372036854775809", "0.1", "[" * 200 + "]" * 200]


class Server:
    """One connection, which is opened anew where the server has closed it."""

    def __init__(self, url):
        self.place = urlsplit(url).netloc
        self.connection = http.client.HTTPConnection(self.place, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        for attempt in range(3):
            try:
                self.connection.request(method, path, body, headers or {})
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, ConnectionError) as error:
                # A body that is refused before its end closes the connection.
                self.connection.close()
                failure = error
                time.sleep(0.05 * attempt)
        raise SystemExit(f"error: {method} {path[:200]!r} has no answer: {failure!r}")

    def raw(self, data):
        host, port = self.place.rsplit(":", 1)
        with socket.create_connection((host, int(port)), 30) as stream:
            stream.sendall(data)
            stream.shutdown(socket.SHUT_WR)
            answer = stream.recv(100)
        found = re.match(rb"HTTP/1.[01] (\d+)", answer)
        return int(found[1]) if found else None


def memory_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


def mutated(rng, text):
    """`text` with one to four changes: of bytes, of lines, of numbers."""
    for _ in range(rng.randint(1, 4)):
        lines = text.split(b"\n")
        at = rng.randrange(len(lines))
        kind = rng.randrange(8)
        if kind == 0 and text:
            at = rng.randrange(len(text))
            text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1:]
        elif kind == 1:
            text = b"\n".join(lines[:at] + lines[at + 1:])
        elif kind == 2:
            text = b"\n".join(lines[:at] + [lines[rng.randrange(len(lines))]] + lines[at:])
        elif kind == 3:
            text = text[:rng.randrange(len(text) + 1)]
        elif kind in (4, 5, 6):
            # One number of a line, which leaves most of these files readable.
            numbers = list(re.finditer(rb"(?<=[:,\[])-?\d[\d.e+-]*(?=[,}\]])", lines[at]))
            if numbers:
                number = rng.choice(numbers)
                new = rng.choice(NUMBERS).encode()
                lines[at] = lines[at][:number.start()] + new + lines[at][number.end():]
            text = b"\n".join(lines)
        else:
            texts = list(re.finditer(rb'(?<=:")[^"]*(?=")', lines[at]))
            if texts:
                word = rng.choice(texts)
                new = json.dumps(rng.choice(WORDS))[1:-1].encode()
                lines[at] = lines[at][:word.start()] + new + lines[at][word.end():]
            text = b"\n".join(lines)
    return text


def packed(rng, text):
    kind = rng.randrange(5)
    if kind < 3:
        return text
    body = bytearray(gzip.compress(text, 1))
    if kind == 4:
        body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    return bytes(body)


def path_of(rng, paths, ids):
    path = rng.choice(paths)
    for part in set(re.findall(r"\{\w+\}", path)):
        path = path.replace(part, quote(rng.choice(ids + WORDS), safe=""))
    fields = [(rng.choice(FIELDS), rng.choice(ids + WORDS)) for _ in range(rng.randrange(6))]
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in fields)
    return path + ("?" + query if query else "")


def main(url, pid, file, n_requests, n_submissions, seed="1"):
    rng = random.Random(int(seed))
    server = Server(url)
    tokens = sys.stdin.read().split()
    counts = {}

    def expect(status, what):
        counts[status] = counts.get(status, 0) + 1
        if status is not None and not 200 <= status < 500:
            raise SystemExit(f"error: the status of {what[:400]!r} is {status}, with the seed {seed}")

    with open(file, "rb") as whole:
        text = whole.read()
    for number in range(int(n_submissions)):
        headers = {"authorization": "Bearer " + tokens[number // OF_A_TOKEN % len(tokens)]}
        body = packed(rng, mutated(rng, text))
        expect(server.ask("POST", "/api/v1/runs", body, headers)[0], f"submission {number}")
    print(f"submissions by status: {dict(sorted(counts.items()))}", flush=True)
    counts.clear()

    runs = json.loads(server.ask("GET", "/api/v1/runs?limit=500")[1])["runs"]
    for run in runs[:200]:
        for end in ["", "/report"]:
            path = f"/runs/{run['id']}{end}"
            expect(server.ask("GET", path)[0], path)
    ids = [run["id"] for run in runs] + [run["file"] for run in runs[:50]]
    for run in runs[:20]:
        one = json.loads(server.ask("GET", f"/api/v1/runs/{run['id']}")[1])
        ids += [series["id"] for series in one["series"]]
    document = json.loads(server.ask("GET", "/api/v1/openapi.json")[1])
    paths = list(document["paths"]) + ["/", "/machines", "/runs/{id}", "/runs/{id}/report", "/files/{id}", "/compare",
                                       "/trends", "/metrics", "/nothing", "/{x}/{y}", "/style.css"]
    paths += [f"/{page}.{end}" for page in ["compare", "trends"] for end in ["svg", "csv", "gp", "json", "png", "x"]]
    for _ in range(int(n_requests)):
        path = path_of(rng, paths, ids)
        kind = rng.randrange(20)
        if kind == 0:
            method = rng.choice(["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "X"])
            expect(server.ask(method, path)[0], f"{method} {path}")
        elif kind == 1:
            head = f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
            at = rng.randrange(len(head))
            expect(server.raw(head[:at] + bytes(rng.randrange(256) for _ in range(3)) + head[at:]), f"raw {head!r}")
        else:
            expect(server.ask("GET", path)[0], path)
    print(f"requests by status: {dict(sorted(counts.items(), key=str))}")
    most_kb = memory_kb(pid)
    if most_kb > MOST_KB:
        raise SystemExit(f"error: the server took {most_kb} KiB of memory, expected at most {MOST_KB}")
    if server.ask("GET", "/healthz")[0] != 200:
        raise SystemExit("error: the server is not well")
    print(f"most memory of the server: {most_kb >> 10} MiB")


if __name__ == "__main__":
    if len(sys.argv) not in (6, 7):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])

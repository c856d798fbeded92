"""Compares the figures of vllm bench and guidellm with mlperf-go's by their definitions, and with the server's own times.

usage: peers.py FOLDER REQUESTS, run by scripts/peers.sh

The server's times are those of its metrics pages, which count mlperf-go's first, short request too. All durations are in ms.
"""

import glob
import json
import math
import pathlib
import sys

folder, requests = pathlib.Path(sys.argv[1]), int(sys.argv[2])
TOKENS = 32  # of each answer
GAPS = "(last - first)/(n - 1)"
faults = []


def near(name, a, b):
    """Reports whether two times are equal but for a busy machine: within 1 ms and 2 %, or what that is for one of the gaps."""
    return abs(a - b) <= (1.0 + 0.02 * b if name in ("TTFT", "to the end") else 1.0 / TOKENS + 0.01 * b)


def read(path):
    return json.loads(pathlib.Path(path).read_text())


def page(name):
    """Returns the sums and counts of a metrics page, without labels."""
    found = {}
    for line in (folder / "pages" / name).read_text().splitlines():
        if line.startswith("vllm:") and line.split("{")[0].endswith(("_sum", "_count")):
            found[line.split("{")[0]] = float(line.split()[-1])
    return found


def server(before, after):
    """Returns the server's mean times of the requests between two pages."""
    def mean(name):
        sums, counts = ("vllm:%s_seconds_%s" % (name, s) for s in ("sum", "count"))
        return 1e3 * (after[sums] - before[sums]) / (after[counts] - before[counts])

    first, gap = mean("time_to_first_token"), mean("inter_token_latency")
    whole = first + gap * (TOKENS - 1)
    return {"TTFT": first, GAPS: gap, "between events": gap, "to the end": whole, "(last - sent)/n": whole / TOKENS}


def vllm(file):
    r = read(file)
    return {"TTFT": r["mean_ttft_ms"], GAPS: r["mean_tpot_ms"], "between events": r["mean_itl_ms"],
            "to the end": r["mean_e2el_ms"], "requests": r["completed"], "output tokens": r["total_output_tokens"]}


def vllm_again(file):
    """Computes the figures from the arrays of the same file, by the definitions of docs/reference/peers.md."""
    r = read(file)
    rows = [(t, gaps, n) for t, gaps, n in zip(r["ttfts"], r["itls"], r["output_lens"]) if n > 1]
    gaps = [g for _, list_, _ in rows for g in list_]
    return {"TTFT": 1e3 * average([t for t, _, _ in rows]), GAPS: 1e3 * average([sum(g) / (n - 1) for _, g, n in rows]),
            "between events": 1e3 * average(gaps), "to the end": 1e3 * average([t + sum(g) for t, g, _ in rows])}


def guidellm(file):
    m = read(file)["benchmarks"][0]["metrics"]
    mean = lambda key: m[key]["successful"]["mean"]
    return {"TTFT": mean("time_to_first_token_ms"), GAPS: mean("inter_token_latency_ms"),
            "(last - sent)/n": mean("time_per_output_token_ms"), "to the end": 1e3 * mean("request_latency"),
            "requests": m["request_totals"]["successful"], "output tokens": round(m["output_token_count"]["successful"]["total_sum"])}


def guidellm_again(file):
    """Computes the figures from the times of the requests in the same file."""
    rows = [(r["info"]["timings"], r["output_metrics"]["text_tokens"] or r["info"]["timings"]["token_iterations"])
            for r in read(file)["benchmarks"][0]["requests"]["successful"]]
    sent, first, last, end = ("request_start", "first_token_iteration", "last_token_iteration", "request_end")
    total, gaps = sum(n for _, n in rows), sum(n - 1 for _, n in rows)
    return {"TTFT": 1e3 * average([t[first] - t[sent] for t, _ in rows]), "to the end": 1e3 * average([t[end] - t[sent] for t, _ in rows]),
            GAPS: 1e3 * sum(t[last] - t[first] for t, _ in rows) / gaps,
            "(last - sent)/n": 1e3 * sum(t[last] - t[sent] for t, _ in rows) / total}


def average(values):
    return math.fsum(values) / len(values)


def processor(name):
    return 1e3 * sum(float(v) for v in (folder / (name + ".time")).read_text().split()[-2:]) / requests


def compare(peer, figures, again):
    pages = [page("%s-%d" % (peer, i)) for i in range(3)]
    ours_server, peer_server = server(pages[0], pages[1]), server(pages[1], pages[2])
    ours, theirs = figures(*glob.glob(str(folder / ("files-" + peer) / "*.json"))), figures(folder / (peer + ".json"))
    computed = again(folder / (peer + ".json"))
    print("\n%s, %d requests, means in ms" % (peer, requests))
    print("%-24s %9s %9s | %9s %9s %9s" % ("figure of " + peer, "server", "mlperf-go", "server", peer, "its delay"))
    for name in computed:
        own, other, delay = ours[name], theirs[name], theirs[name] - peer_server[name]
        print("%-24s %9.3f %9.3f | %9.3f %9.3f %9.3f" % (name, ours_server[name], own, peer_server[name], other, delay))
        if not near(name, own, ours_server[name]):
            faults.append("%s: mlperf-go's %s is not the server's" % (peer, name))
        if delay < 0 and not near(name, other, peer_server[name]):
            faults.append("%s: its %s is shorter than the server's" % (peer, name))
        if abs(computed[name] - other) > 1e-6 * other:
            faults.append("%s: its %s is %.6f, and %.6f by the definition of peers.md" % (peer, name, other, computed[name]))
    # What the client's delays add to the gaps follows from those of the first and the last token.
    late = abs(theirs["to the end"] - peer_server["to the end"]) + abs(theirs["TTFT"] - peer_server["TTFT"])
    server_differs = abs(peer_server[GAPS] - ours_server[GAPS])
    if abs(theirs[GAPS] - ours[GAPS]) > late / (TOKENS - 1) + server_differs and not near(GAPS, theirs[GAPS], ours[GAPS]):
        faults.append("%s: its gaps differ by more than its delays explain" % peer)
    for name in ("requests", "output tokens"):
        print("%-24s %9s %9d | %9s %9d" % (name, "", ours[name], "", theirs[name]))
        if ours[name] != theirs[name]:
            faults.append("%s: the numbers of %s differ" % (peer, name))
    cost = processor(peer + "-ours"), processor(peer)
    print("%-24s %9s %9.2f | %9s %9.2f  ratio %.0f" % ("CPU per request, ms", "", cost[0], "", cost[1], cost[1] / cost[0]))


compare("vllm", vllm, vllm_again)
compare("guidellm", guidellm, guidellm_again)
for fault in faults:
    print("differs: " + fault)
sys.exit(1 if faults else 0)

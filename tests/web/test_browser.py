"""The explorer in headless Chromium: what a visitor does, compared with the library."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from dudley.core.bound import Bound
from dudley.networks import files
from dudley.networks.capacity import capacity
from dudley.theorems.gaps import gaps
from dudley.web.bounds import SHOWN, SLIDERS
from explorer_views import LOADED, VIEWS

EXAMPLES = files.EXAMPLES
VENDOR = Path(__file__).parent / "vendor"


def at_first() -> dict[str, float]:
    return {name: float(at) for name, (_, _, at) in SLIDERS.items() if at is not None}


def library(values: dict[str, float], id: str, form: str) -> float:
    """A gap at one point, as the library converts it."""
    (bound,) = gaps(values, among=[id]).row(id).curves[form]
    assert isinstance(bound, Bound)
    return bound.value


def test_it_loads_light_and_asks_no_one_else(visit):
    answers = []
    visit.page.on("response", lambda answer: answers.append(answer))
    visit.open()
    visit.settled("bounds")
    addresses = [url for url in visit.requests if url.startswith("http")]
    assert 4 <= len(addresses) <= 10
    assert all(url.startswith(visit.site) for url in addresses)
    assert 50_000 < sum(len(answer.body()) for answer in answers) < 1_000_000
    assert visit.page.locator("#curves .u-wrap canvas").count() == 1
    visit.shot("bounds")


def test_a_slider_moves_every_bound(visit):
    visit.open()
    before = visit.settled("bounds")
    values = at_first()
    number = visit.page.locator("#number")
    followed = visit.page.locator("#follow").input_value()
    assert followed == "calculus/gap derived"
    id, form = followed.rsplit(" ", 1)
    first = float(number.get_attribute("data-value"))
    assert first == pytest.approx(library(values, id, form), rel=1e-12)
    n = visit.page.get_by_label("n", exact=True)
    n.focus()
    for _ in range(5):
        visit.page.keyboard.press("PageUp")
    shown = visit.page.locator('input[aria-label="value of n"]').input_value()
    assert float(shown) > values["n"]
    expected = library(values | {"n": float(shown)}, id, form)
    now = first
    while now != pytest.approx(expected, rel=1e-12):  # a key was answered before the next
        before = visit.settled("bounds", before)
        now = float(number.get_attribute("data-value"))
    assert now < first
    assert visit.page.locator("#live").inner_text().startswith(followed)
    row = visit.page.locator(f'#rows tr:has-text("{id}")')
    key = row.locator("td.number").nth(1).get_attribute("data-key")
    assert 2.718281828459045 ** float(key) == pytest.approx(now, rel=1e-9)


@pytest.mark.slow
def test_the_address_restores_the_state(visit):
    visit.open("#bounds?n=50000&T=64&d=32&k=32&X.row2inf=1&W.l11=2&W_QK.l11=3&W_v.l11=1"
               "&W_c.l11=1&w.l1=1&epsilon=0.25&.axis=T&.points=8&.quantity=covering+number+of+linear+maps"
               "&.sources=trauger2024&.forms=derived")  # fmt: skip
    visit.settled("bounds")
    page = visit.page
    assert page.locator('input[aria-label="value of T"]').input_value() == "64"
    assert page.locator('input[aria-label="value of W.l11"]').input_value() == "2", (
        "it has no slider at first"
    )
    assert not page.locator('input[aria-label="delta is given"]').is_checked()
    assert [page.locator(f"#{name}").input_value() for name in ("axis", "points", "quantity")] == [
        "T", "8", "covering number of linear maps"
    ]  # fmt: skip
    fields = parse_qs(urlsplit(page.url).fragment.partition("?")[2])
    assert fields["n"] == ["50000"] and fields[".sources"] == ["trauger2024"]
    page.locator("#quantity").select_option("Rademacher complexity of linear maps")
    again = page.url
    visit.open(again.removeprefix(visit.site))
    visit.settled("bounds")
    assert page.url == again
    assert page.locator("#quantity").input_value() == "Rademacher complexity of linear maps"


@pytest.mark.slow
def test_any_name_can_be_added_and_an_unknown_one_is_refused(visit):
    visit.open("#bounds?.sources=trauger2024")
    before = visit.settled("bounds")
    visit.page.get_by_label("Another").fill("class.C")
    visit.page.locator("#add-name").click()
    visit.settled("bounds", before)
    assert "class.C=1" in visit.page.url
    visit.page.locator("#axis").select_option("class.C")
    visit.page.get_by_label("Another").fill("W_QK.l12")
    visit.page.locator("#add-name").click()
    visit.page.wait_for_selector("#problem:not([hidden])")
    assert "did you mean" in visit.page.locator("#problem").inner_text()


def test_seven_curves_are_told_apart_and_the_others_are_found(visit):
    visit.open("#bounds?" + urlencode({".forms": "printed derived best"}))
    state = visit.settled("bounds")
    icons = visit.page.locator("#curves .icon")
    looks = icons.evaluate_all("every => every.map(i => [i.dataset.colour, i.dataset.marker])")
    assert len(looks) == len({c for c, _ in looks}) == len({m for _, m in looks}) == SHOWN
    visit.page.locator("#search").fill("4.2.1 best")
    visit.page.locator("#found button").click()
    state = visit.settled("bounds", state)
    labels = visit.page.locator("#curves .u-label").all_inner_texts()
    assert labels[SHOWN].startswith("trauger2024/corollary-4.2.1 best")
    assert "corollary-4.2.1+best" in visit.page.url
    visit.page.locator("#curves .remove").first.click()
    state = visit.settled("bounds", state)
    assert icons.count() == SHOWN - 1
    visit.page.locator("#search").fill("no such bound")
    assert visit.page.locator("#found").inner_text() == "nothing of that name"
    visit.page.locator("#first").click()
    visit.settled("bounds", state)
    assert icons.count() == SHOWN


def test_the_followed_number_follows_the_quantity(visit):
    visit.open()
    state = visit.settled("bounds")
    visit.page.locator("#quantity").select_option("covering number of linear maps")
    visit.settled("bounds", state)
    followed = visit.page.locator("#follow").input_value()
    assert followed == "edelman2021/lemma-4.5 derived"
    assert "log covering number of" in visit.page.locator("#sense").inner_text()
    every = visit.page.locator("#follow option").all_inner_texts()
    assert "calculus/gap derived" not in every and len(every) > 8


def test_it_says_that_it_loads_and_keeps_its_theme(visit):
    visit.page.route("**/api/**", lambda route: None)  # no answer comes
    visit.open()
    assert visit.page.locator("#progress").inner_text() == "Loading the bounds…"
    assert visit.page.locator("#number").inner_text() == "loading"
    for view in ("statements", "experiments", "architecture"):
        visit.open(f"#{view}")
        assert "Loading the" in visit.page.locator(f"#view-{view}").inner_text()
    theme = "document.documentElement.dataset.theme"
    assert visit.page.evaluate(theme) == "light"
    visit.page.locator("#theme").click()
    visit.open("#files")
    assert visit.page.evaluate(theme) == "dark"


def test_a_statement_shows_formulas_verdict_and_counterexample(visit):
    visit.open("#statements")
    visit.page.wait_for_selector("#list tbody tr")
    visit.page.locator("#verdict").select_option("false")
    visit.page.get_by_role("link", name="trauger2024/lemma-3.5").click()
    visit.page.wait_for_selector("#statement .u-wrap")
    assert visit.page.locator("#statement math").count() >= 2
    assert visit.page.locator("#statement .verdict").inner_text().startswith("false (AISTATS 2024)")
    heads = visit.page.locator("#statement h2").all_inner_texts()
    assert {"Hypotheses", "Printed form", "Derived form", "Erratum"} <= set(heads)
    assert "Inputs: d=1, k=10000" in visit.page.locator("#statement").inner_text()
    at = visit.page.get_by_role("link", name="the inputs of wrong-side").get_attribute("href")
    assert "k=10000" in at and "covering+number+of+linear+maps" in at
    assert visit.page.evaluate("document.activeElement.id") == "title-statements"
    visit.shot("statement")


@pytest.mark.slow
def test_two_layers_are_built_and_explained(visit):
    visit.open("#architecture")
    before = visit.settled("architecture")
    visit.page.locator("#add").click()
    before = visit.settled("architecture", before)
    visit.page.get_by_label("op of W_v").fill("2")
    visit.page.get_by_label("op of W_v").press("Enter")
    visit.settled("architecture", before)
    tables = files.read("single-head")
    norms = {name: {"op": 1} for name in ("W_v", "W_QK", "W_c")} | {"W_v": {"op": 2}}
    tables["layer"].append({"node": "head", "k": 64} | norms)
    made = files.build(tables, {})
    cap = capacity(made.network, made.inputs, 1e5, made.loss)
    shown = float(visit.page.locator("#gap").get_attribute("data-value"))
    assert shown == pytest.approx(cap.gap(0.05).value, rel=1e-12)
    shares = visit.page.locator("#explained .share strong").all_inner_texts()
    assert shares == [row.name for row in cap.shares[0]] and len(shares) == 7
    address = visit.page.url
    visit.open(address.removeprefix(visit.site))
    visit.settled("architecture")
    assert visit.page.locator("#builder fieldset.block legend").all_inner_texts() == [
        "block 1", "block 2", "output", "loss"
    ]  # fmt: skip
    visit.shot("architecture")


def put(visit, *paths: Path) -> str:
    """Choose files, and wait for the answer."""
    visit.page.locator("#chosen").set_input_files([str(path) for path in paths])
    visit.page.wait_for_selector("#looked h2, #problem:not([hidden])")
    return visit.page.locator("#looking").inner_text()


@pytest.mark.slow
def test_good_files_are_verified_and_measured(visit):
    visit.open("#files")
    folder = EXAMPLES / "sparse-and"
    said = put(
        visit, *(folder / name for name in ("certificate.json", "model.safetensors", "train.npz"))
    )
    assert said == "certificate.json: holds"
    assert "fields were computed again" in visit.page.locator("#looked").inner_text()
    visit.shot("verified")
    visit.open("#files")
    folder = EXAMPLES / "tiny-bert"
    assert put(visit, folder / "model.safetensors", folder / "config.json") == (
        "model.safetensors: measured"
    )
    assert visit.page.locator("#looked table").first.locator("tbody tr").count() > 5
    visit.shot("measured")


def test_a_file_can_be_dropped(visit):
    visit.open("#files")
    text = (EXAMPLES / "sparse-and" / "certificate.json").read_text(encoding="utf-8")
    handle = visit.page.evaluate_handle(
        """text => {
          const held = new DataTransfer();
          held.items.add(new File([text], "certificate.json"));
          return held;
        }""",
        text,
    )
    visit.page.dispatch_event("#drop", "drop", {"dataTransfer": handle})
    visit.page.wait_for_selector("#looked h2")
    assert visit.page.locator("#looking").inner_text() == "certificate.json: read, not verified"
    title = visit.page.locator("#looked h2").first.inner_text()
    assert title.startswith("Not verified: the file claims")


def test_hostile_files_are_refused_and_named(visit, tmp_path: Path):
    visit.open("#files")
    bad = tmp_path / "model.safetensors"
    bad.write_bytes((10**15).to_bytes(8, "little") + b"{<img src=x onerror=alert(1)>")
    assert put(visit, bad) == "Refused."
    assert "model.safetensors" in visit.page.locator("#problem").inner_text()
    pickled = tmp_path / "model.pt"
    pickled.write_bytes(b"\x80\x04cos\nsystem\n")
    visit.open("#files")
    assert put(visit, pickled) == "Refused."
    assert ".safetensors" in visit.page.locator("#problem").inner_text()
    forged = tmp_path / "certificate.json"
    record = json.loads((EXAMPLES / "sparse-and" / "certificate.json").read_text(encoding="utf-8"))
    forged.write_text(json.dumps(record | {"value": record["value"] / 2}), encoding="utf-8")
    for name in ("model.safetensors", "train.npz"):
        shutil.copy(EXAMPLES / "sparse-and" / name, tmp_path / name)
    visit.open("#files")
    said = put(visit, forged, tmp_path / "model.safetensors", tmp_path / "train.npz")
    assert said == "certificate.json: does not hold"
    assert visit.page.locator("#looked img").count() == 0
    visit.shot("refused")


@pytest.mark.slow
def test_experiments_show_their_figures(visit):
    visit.open("#experiments")
    visit.page.get_by_role("link", name="edelman2021-parity, laptop").click()
    image = visit.page.wait_for_selector("#experiment img")
    image.scroll_into_view_if_needed()
    assert image.evaluate("i => i.decode().then(() => i.naturalWidth)") > 100
    assert visit.page.locator("#experiment td").count() > 3
    visit.shot("experiment")


@pytest.mark.slow
def test_it_can_be_used_by_keyboard_alone(visit):
    visit.open()
    visit.settled("bounds")
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate("document.activeElement.id") == "skip"
    visit.page.keyboard.press("Enter")
    assert visit.page.evaluate("document.activeElement.id") == "main"
    assert urlsplit(visit.page.url).fragment.startswith("bounds")
    box = visit.page.locator("#curves").get_by_role("checkbox").first
    box.focus()
    visit.page.keyboard.press(" ")
    assert visit.page.locator("#curves .u-series.u-off").count() == 1
    visit.page.wait_for_selector("#curves th[aria-checked='false']")
    visit.page.locator("nav a").nth(1).focus()
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#list tbody tr")
    assert visit.page.evaluate("document.activeElement.id") == "title-statements"


@pytest.mark.slow
@pytest.mark.parametrize("visit", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_serious(visit):
    vendored = tomllib.loads((VENDOR / "VENDOR.toml").read_text(encoding="utf-8"))["axe-core"]
    for name, digest in vendored["sha256"].items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name
    axe = (VENDOR / "axe.min.js").read_text(encoding="utf-8")
    theme = (
        "dark"
        if visit.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        else "light"
    )
    violations, passes = {}, 0
    for width in (1400, 420) if theme == "light" else (1400,):
        visit.page.set_viewport_size({"width": width, "height": 900})
        for view, hash in VIEWS.items():
            visit.open(hash)
            visit.page.wait_for_selector(LOADED[view])
            visit.page.wait_for_load_state("networkidle")
            visit.shot(f"{view}-{theme}-{width}")
            assert not visit.page.evaluate("document.documentElement.scrollWidth > innerWidth"), (
                view
            )
            visit.page.evaluate(axe)
            result = visit.page.evaluate("axe.run()")
            passes += len(result["passes"])
            for violation in result["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    violations[f"{view} {width} {violation['id']}"] = [
                        n["html"][:160] for n in violation["nodes"][:3]
                    ]
    assert passes > 100, "axe looked at nothing"
    assert not violations, json.dumps(violations, indent=1)


@pytest.mark.slow
def test_axe_would_see_a_fault(visit):
    visit.open("#files")
    visit.page.evaluate((VENDOR / "axe.min.js").read_text(encoding="utf-8"))
    visit.page.evaluate("document.querySelector('#drop label').remove()")
    faults = {one["id"]: one["impact"] for one in visit.page.evaluate("axe.run()")["violations"]}
    assert faults.get("label") == "critical"

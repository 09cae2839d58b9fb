"""The documentation: generated parts are up to date, examples run, and links resolve."""

import doctest
import inspect
import re
from pathlib import Path

import error_pages
import jax.numpy as jnp
import numpy as np
import pytest
from generated_docs import DOCUMENTS, ROOT, SECTION, SECTIONS, matches, regenerated

import hlobatch as hb
from benchmarks import registry
from hlobatch import mcmc
from hlobatch.frontend.support import SUPPORTED, UNSUPPORTED
from hlobatch.ir.verifier import RULES

ELSEWHERE = ("tutorial-sampling.md",)
"""Pages whose examples run in a test of their own."""
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_generated_parts_are_up_to_date(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert regenerated(text) == text, "run `python test/py/generated_docs.py` and read the diff"


@pytest.mark.parametrize(
    "document",
    [
        page
        for page in PAGES
        if page.parent.name == "docs" and page.name not in ELSEWHERE and "\n>>> " in page.read_text(encoding="utf-8")
    ],
    ids=lambda path: path.name,
)
def test_examples_run(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    found = doctest.testfile(str(document), module_relative=False, encoding="utf-8")
    assert found.failed == 0
    assert found.attempted > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8"))
    assert [link for link, _ in links if not (page.parent / link).exists()] == []
    to_headings = [(page.parent / link if link else page, heading) for link, heading in links if heading]
    assert [(link.name, heading) for link, heading in to_headings if heading not in _anchors(link)] == []


def _anchors(page: Path) -> set[str]:
    """The names of a page's headings in links."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_section_is_used() -> None:
    used = [name for document in DOCUMENTS for _, name, _, _ in SECTION.findall(document.read_text(encoding="utf-8"))]
    assert sorted(used) == sorted(SECTIONS)


def test_the_reference_has_all_that_is_public() -> None:
    pages = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("reference.md", "errors.md"))
    names = [*hb.__all__, *mcmc.__all__]
    assert [name for name in names if not re.search(rf"(:: |\.|## ){name}(`|$)", pages, re.MULTILINE)] == []


def test_what_a_section_of_a_docstring_lists_begins_with_a_name() -> None:
    """A further line of a description is indented; else the reference shows it as an argument."""
    public = [getattr(module, name) for module in (hb, mcmc) for name in module.__all__]
    methods = [method for kind in public for method in vars(kind).values() if callable(method)]
    sections = [
        section
        for documented in (*public, *methods)
        for section in re.findall(
            r"^(?:Args|Attributes|Raises):\n((?:    .*\n?|\n)+)", inspect.getdoc(documented) or "", re.MULTILINE
        )
    ]
    assert len(sections) > 50
    lines = [line for section in sections for line in re.findall(r"^    (\S.*)", section, re.MULTILINE)]
    assert [line for line in lines if not re.match(r"\*{0,2}[\w.]+: ", line)] == []


def test_the_site_has_every_page() -> None:
    """In its table of contents, without which Sphinx makes none."""
    pages = {str(page.relative_to(ROOT / "docs").with_suffix("")) for page in (ROOT / "docs").rglob("*.md")}
    pages.add("messages")  # `docs/conf.py` makes it
    listed = re.findall(r"^[a-z/-]+$", (ROOT / "docs/index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(pages - {"index"})


def test_all_messages_are_on_a_page() -> None:
    text = error_pages.messages_text()
    assert "| 'y' may be read before it has a value | `y` | give 'y' a value before the branch or loop |" in text
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("|")} == {4}


FIGURE = re.compile(
    r"[0-9] ?(?:ms|us|µs|ns|MB|kB)\b|[0-9] (?:s|seconds?|milliseconds?|microseconds?)\b"
    r"|[0-9] ?%|[0-9] of the time|[0-9](?:\.[0-9]+)? times|\b[0-9]+\.[0-9]+ (?:and|to|instead)\b"
)
LIMITS = ("256 MB", "256 kB", "65,536")
"""What stands in the code, and is no figure that somebody measured."""


def test_figures_of_decisions_are_made_by_a_script() -> None:
    """None is left in `docs/design.md` from code that is gone, but for those in its generated table."""
    text = SECTION.sub("", (ROOT / "docs/design.md").read_text(encoding="utf-8"))
    for limit in LIMITS:
        text = text.replace(limit, "")
    found = [text[max(0, m.start() - 60) : m.end() + 20] for m in FIGURE.finditer(text)]
    assert found == []
    named = set(re.findall(r"python -m benchmarks (\w+)", text))
    assert named
    assert [name for name in named if name not in registry.MODULES] == []


def test_architecture_names_every_rule() -> None:
    text = DOCUMENTS[0].read_text(encoding="utf-8")
    assert [rule for rule in RULES if f"`{rule}`" not in text] == []


def test_language_has_every_entry_of_the_tables() -> None:
    text = DOCUMENTS[1].read_text(encoding="utf-8")
    assert all(words in text for words in SUPPORTED.values())
    assert all(what in text and instead in text for what, instead in UNSUPPORTED.values())


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        ("one\ntwo\nthree\n", True),
        ("one\n…\nthree\n", True),
        ("…\nthree\n", True),
        ("one\n…\n", True),
        ("one\nt…o\n…e\n", True),
        ("one\n…\ntwo\nthree\n", True),
        ("one\nthree\n", False),
        ("one\n…\nfour\n", False),
        ("one\n", False),
    ],
)
def test_excerpts(shown: str, same: bool) -> None:
    assert matches(shown, "one\ntwo\nthree\n") is same


def test_the_examples_of_the_readme_run(tmp_path: Path) -> None:
    """Each as a file of its own; what the page shows of an error is what is printed."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    modules = []
    for number, block in enumerate(blocks):
        file = tmp_path / f"example{number}.py"
        imports = "" if block.startswith("import") else "import jax, jax.numpy as jnp, hlobatch as hb\n"
        file.write_text(block, encoding="utf-8")
        modules.append(names := {"__name__": file.stem})
        exec(imports, names)
        exec(compile(block, str(file), "exec"), names)
    reached = next(names["reached"] for names in modules if "reached" in names)
    ring = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    with pytest.raises(ValueError, match="no node 7") as caught:
        reached(np.stack([ring, ring]), np.array([2, 7]))
    shown = re.search(r"```\ngraphs\.py(.*?)\n```", text, re.DOTALL)
    assert shown is not None
    assert str(caught.value).partition(".py")[2] == shown[1]
    assert [np.asarray(part)[0] for part in caught.value.outputs] == [5, 4]
    years = next(names["years"] for names in modules if "years" in names)
    shown = re.search(r"^(years\(.*\))  # (\d+) and (\d+)$", text, re.MULTILINE)
    assert shown is not None
    assert [years.function(1000.0, 0.03, 200.0), years.function(5000.0, 0.01, 200.0)] == [*map(int, shown.groups()[1:])]
    assert eval(shown[1], {"jnp": jnp, "years": years}).tolist() == [*map(int, shown.groups()[1:])]

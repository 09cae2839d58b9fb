"""Diagnostics of draws: values as in arviz, and warnings only where something is wrong."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlobatch import mcmc
from hlobatch.mcmc.diagnosis import Diagnosis, diagnose

RANDOM = np.random.default_rng(0)


def walks(correlation: float, chains: int = 4, draws: int = 500) -> Any:
    """Chains of which each draw depends on the one before."""
    noise = RANDOM.normal(size=(chains, draws))
    for i in range(1, draws):
        noise[:, i] = correlation * noise[:, i - 1] + np.sqrt(1 - correlation**2) * noise[:, i]
    return noise


def stats(chains: int = 4, draws: int = 500, **others: Any) -> dict[str, Any]:
    shape = chains, draws
    return {"diverging": np.zeros(shape, bool), "n_steps": np.ones(shape, np.int32), **others}


DRAWS = {
    "independent": walks(0.0),
    "correlated": walks(0.9),
    "heavy tails": np.tan(walks(0.3)),
    "repeated": np.round(walks(0.5)),
    "apart": walks(0.5) + np.array([0.0, 0.0, 0.0, 1.0])[:, None],
    "of two widths": walks(0.5) * np.array([1.0, 1.0, 1.0, 3.0])[:, None],
}


@pytest.mark.filterwarnings("ignore")  # arviz's own
@pytest.mark.parametrize("name", DRAWS)
def test_as_arviz(name: str) -> None:
    az = pytest.importorskip("arviz")
    found = diagnose(DRAWS[name], stats(), 10)
    assert found.r_hat is not None
    assert found.effective is not None
    assert found.r_hat.value == pytest.approx(float(az.rhat(DRAWS[name])), rel=1e-4)
    assert found.effective.value == pytest.approx(float(az.ess(DRAWS[name])), rel=0.05)


@pytest.mark.parametrize(
    ("draws", "others", "words"),
    [
        (DRAWS["independent"], {}, []),
        (DRAWS["apart"], {}, ["R-hat of position is 1."]),
        (walks(0.98), {}, ["effective draws of 2,000"]),
        (DRAWS["independent"], {"diverging": np.full((4, 500), True)}, ["2,000 of 2,000 draws diverged"]),
        (DRAWS["independent"], {"n_steps": np.full((4, 500), 7)}, ["all 3 doublings"]),
        (np.zeros((4, 500)), {}, []),
        (np.full((4, 500), np.nan), {}, []),
    ],
)
def test_complaints(draws: Any, others: Any, words: list[str]) -> None:
    found = list(diagnose(draws, stats(**others), 3).complaints())
    assert all(any(word in one for one in found) for word in words)
    assert bool(found) == bool(words)


def test_the_worst_has_its_name() -> None:
    draws = {"a": np.stack([walks(0.0)] * 3, axis=-1), "b": [DRAWS["correlated"]]}
    found = diagnose(draws, stats(), 10)
    assert found.effective is not None
    assert found.effective.name == "b.0"


def test_of_many_numbers_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlobatch.mcmc.diagnosis.MOST_NUMBERS", 3 * 40)
    looked = list[int]()
    monkeypatch.setattr("hlobatch.mcmc.diagnosis.r_hat", lambda column: looked.append(column.size) or 1.0)
    diagnose(RANDOM.normal(size=(4, 10, 9)), stats(4, 10), 10)
    assert looked == [40] * 6  # three elements, each twice


def test_of_many_chains_some_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Effective draws are of all."""
    draws = RANDOM.normal(size=(200, 50))
    expected = diagnose(draws, stats(200, 50), 10).effective
    monkeypatch.setattr("hlobatch.mcmc.diagnosis.MOST_OF_AN_ELEMENT", 1_000)
    looked = list[int]()
    monkeypatch.setattr("hlobatch.mcmc.diagnosis.r_hat", lambda column: looked.append(len(column)) or 1.0)
    found = diagnose(draws, stats(200, 50), 10).effective
    assert looked == [20, 20]
    assert found is not None
    assert expected is not None
    assert found.value == pytest.approx(expected.value, rel=0.2)


def test_few_draws_say_nothing() -> None:
    assert diagnose(walks(0.0, draws=4), stats(draws=4), 10) == Diagnosis(4, 4, 0, 0, 10, None, None)
    assert diagnose(walks(0.0, draws=0), stats(draws=0), 10) == Diagnosis(4, 0, 0, 0, 10, None, None)


def test_a_run_that_diverges_says_so_once_at_the_call() -> None:
    def wall(x: Any) -> Any:
        return jnp.where((x > 0).all(), -x.sum(), -jnp.inf)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = mcmc.sample(wall, 2 * jnp.ones(3), jax.random.key(0), chains=2, num_warmup=50, num_samples=50)
    [warning] = caught
    assert warning.category is mcmc.SamplingWarning
    assert warning.filename == __file__
    assert "of 100 draws diverged" in str(warning.message)
    lines = repr(result).splitlines()
    assert lines[0].startswith("2 chains of 50 draws, in ")
    assert [line.split()[0] for line in lines[1:]] == ["parameters", "steps", "convergence", "diagnosis"]
    assert "diverged" in lines[-1]
    assert result._repr_html_().count("<tr>") == 4

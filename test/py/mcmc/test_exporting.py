"""A sampler as a file: it draws what `sample` draws, with hlobatch and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.export
import numpy as np
import pytest

import hlobatch as hb
from hlobatch import mcmc

CHAINS, WARMUP, DRAWS = 8, 40, 6
OPTIONS: dict[str, Any] = {"num_warmup": WARMUP, "num_samples": DRAWS, "constraints": {"rate": mcmc.positive}}


def log_density(p: Any, scale: Any) -> Any:
    return -0.5 * (p["x"] / scale) ** 2 - p["rate"]


def starts(rate: float = 1.0) -> dict[str, Any]:
    return {"x": np.zeros(CHAINS, np.float32), "rate": np.full(CHAINS, rate, np.float32)}


SCALE = np.float32(3.0)


@pytest.fixture(scope="module")
def artifact() -> hb.Artifact:
    return mcmc.export(log_density, {"x": 0.0, "rate": 1.0}, data=(SCALE,), **OPTIONS)


def test_it_draws_what_sample_draws(artifact: hb.Artifact, tmp_path: Path) -> None:
    """Draws equal those of `sample` except for rounding, which the warm-up amplifies in some chains."""
    expected = mcmc.sample(log_density, starts(), jax.random.key(0), data=(SCALE,), pool=False, **OPTIONS)
    artifact.save(tmp_path / "sampler.hlob")
    draws, stats = hb.load(tmp_path / "sampler.hlob").call(expected.state.chains.key, starts(), DRAWS, (SCALE,))
    assert {name: np.shape(array) for name, array in draws.items()} == {"x": (CHAINS, DRAWS), "rate": (CHAINS, DRAWS)}
    assert set(stats) == set(expected.stats)
    assert np.median(abs(draws["x"] - expected.draws["x"])) < 0.01
    assert np.median(abs(stats["step_size"] - expected.stats["step_size"])) < 0.01
    assert (draws["rate"] > 0).all()


def test_fewer_draws_and_other_data_without_hlobatch(artifact: hb.Artifact) -> None:
    """The `jax.export` module takes arrays in the order of `operands`; draws beyond `number` are NaN."""
    keys, few, wider = jax.random.split(jax.random.key(1), CHAINS), np.int32(4), np.float32(30.0)
    draws, _ = artifact.call(keys, starts(), few, (wider,))
    assert np.isnan(draws["x"][:, 4:]).all()
    assert not np.isnan(draws["x"][:, :4]).any()
    names = [operand.partition(":")[0] for operand in artifact.operands]
    assert names == ["key", "start['rate']", "start['x']", "number", "data[0]"]
    alone = jax.export.deserialize(bytearray(artifact.exported.serialize()))
    found = alone.call(jax.random.key_data(keys), starts()["rate"], starts()["x"], few, wider)
    results = dict(zip((result.partition(":")[0] for result in artifact.results), found, strict=True))
    np.testing.assert_array_equal(results["result[0]['x']"], draws["x"])
    assert int(results["stopped"]) == 0


@pytest.mark.parametrize(
    ("start", "number", "words"),
    [(starts(-1.0), DRAWS, "not finite"), (starts(), DRAWS + 1, "more draws than the sampler was exported for")],
)
def test_what_cannot_be_drawn(start: Any, number: int, words: str, artifact: hb.Artifact) -> None:
    with pytest.raises(hb.LaneError, match=words):
        artifact.call(jax.random.split(jax.random.key(1), CHAINS), start, number, (SCALE,))


def test_what_cannot_be_meant() -> None:
    with pytest.raises(mcmc.ArgumentError, match="num_samples"):
        mcmc.export(log_density, {"x": 0.0, "rate": 1.0}, num_samples=0)


@pytest.mark.slow
def test_a_density_that_loops_and_a_dense_metric() -> None:
    def root(a: Any) -> Any:
        x = a
        while abs(x * x - a) > 1e-6 * a:
            x = (x + a / x) / 2
        return x

    artifact = mcmc.export(
        lambda p: -0.5 * root(1.0 + (p[0] / 3.0) ** 2) ** 2 - 0.5 * (p[1] - p[0]) ** 2,
        np.zeros(2, np.float32),
        num_warmup=200,
        num_samples=200,
        dense=True,
    )
    draws, stats = artifact.call(jax.random.split(jax.random.key(0), 32), np.zeros((32, 2), np.float32), 200)
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 2).T), [[9.0, 9.0], [9.0, 10.0]], rtol=0.15)
    assert stats["diverging"].mean() < 0.01

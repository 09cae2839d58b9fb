"""`mcmc.sample`: its results, how runs are resumed, and its errors for bad starts."""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlobatch as hb
from hlobatch import mcmc
from hlobatch.mcmc.run import wanted_seconds

# Runs are short.
pytestmark = pytest.mark.filterwarnings("ignore::hlobatch.mcmc.SamplingWarning")

KEY = jax.random.key(0)


def two_parameters(p: Any) -> Any:
    """A normal of standard deviation 3, and an exponential of mean 1."""
    return -0.5 * (p["x"] / 3.0) ** 2 - p["rate"]


def run(**options: Any) -> mcmc.Result:
    """A small run, of the same compiled program in all tests."""
    init = {"x": np.zeros((16,), np.float32), "rate": np.ones((16,), np.float32)}
    settings: dict[str, Any] = {"num_warmup": 200, "num_samples": 100, "constraints": {"rate": mcmc.positive}}
    return mcmc.sample(two_parameters, init, KEY, **{**settings, **options})


@pytest.fixture(scope="module")
def result() -> mcmc.Result:
    return run()


def test_draws_and_statistics(result: mcmc.Result) -> None:
    assert {name: array.shape for name, array in result.draws.items()} == {"x": (16, 100), "rate": (16, 100)}
    assert set(result.stats) == {
        "diverging",
        "energy",
        "acceptance_rate",
        "tree_depth",
        "n_steps",
        "lp",
        "step_size",
    }
    assert {array.shape for array in result.stats.values()} == {(16, 100)}
    assert result.stats["diverging"].dtype == bool
    assert (result.draws["rate"] > 0).all()
    np.testing.assert_allclose(
        result.stats["lp"], two_parameters(result.draws) + np.log(result.draws["rate"]), rtol=1e-4, atol=1e-5
    )
    assert (result.stats["energy"] >= -result.stats["lp"] - 1e-5).all()
    assert (result.stats["n_steps"] >= 2.0 ** result.stats["tree_depth"] / 2).all()
    assert (result.stats["n_steps"] < 2.0 ** result.stats["tree_depth"]).all()
    assert 0.6 < result.stats["acceptance_rate"].mean() < 1.0
    assert np.unique(result.stats["step_size"]).size == 1
    assert not result.interrupted
    assert not list(result.diagnosis.complaints())


def test_each_chain_draws_its_own(result: mcmc.Result) -> None:
    assert np.unique(result.draws["x"][:, -1]).size == 16


def test_moments(result: mcmc.Result) -> None:
    """Within five standard errors, of at least 400 effective draws."""
    assert abs(result.draws["x"].mean()) < 5 * 3.0 / 20
    assert abs(result.draws["x"].std() - 3.0) < 5 * 3.0 / 20
    assert abs(result.draws["rate"].mean() - 1.0) < 5 / 20


@pytest.mark.parametrize(
    "options",
    [
        {"lanes": 4},
        *(
            pytest.param(options, marks=pytest.mark.slow)
            for options in ({"threads": 2}, {"dispatch": "sweep"}, {"dispatch": "case"}, {"schedule": "most_lanes"})
        ),
    ],
)
def test_same_draws_in_every_way_of_running(options: dict[str, Any]) -> None:
    """The first draws of chains that learn nothing yet; later ones would differ by what rounding makes of them."""
    plain = run(num_warmup=0, num_samples=4)
    other = run(num_warmup=0, num_samples=4, batch_options=options)
    np.testing.assert_allclose(other.draws["x"], plain.draws["x"], rtol=1e-4, atol=1e-4)
    assert (other.stats["n_steps"] == plain.stats["n_steps"]).all()


@pytest.mark.slow
def test_a_chain_draws_the_same_among_others() -> None:
    few = {"x": np.zeros(3, np.float32), "rate": np.ones(3, np.float32)}
    constraints = {"rate": mcmc.positive}
    alone = mcmc.sample(two_parameters, few, KEY, num_warmup=0, num_samples=4, constraints=constraints, pool=False)
    np.testing.assert_allclose(
        alone.draws["x"], run(num_warmup=0, num_samples=4, pool=False).draws["x"][:3], rtol=1e-4, atol=1e-4
    )


def test_calls_do_not_change_what_is_drawn(result: mcmc.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be they of few steps each, or of as many as can be counted in 32 bits."""
    monkeypatch.setattr("hlobatch.mcmc.run.LONG_SECONDS", 1e-4)
    monkeypatch.setattr("hlobatch.mcmc.run.Run.leapfrogs", 7)
    np.testing.assert_array_equal(run().draws["x"], result.draws["x"])
    monkeypatch.setattr("hlobatch.mcmc.run.LONG_SECONDS", 1e9)
    monkeypatch.setattr("hlobatch.mcmc.run.FIRST_SECONDS", 1e9)
    np.testing.assert_array_equal(run(num_samples=500).draws["x"][:, :100], result.draws["x"])


@pytest.mark.parametrize(
    ("gone", "trajectory", "seconds"),
    [
        (0.5, 0.01, 0.1),  # in one stretch: nothing more is compiled
        (4.0, 0.01, 0.4),
        (60.0, 0.01, 1.0),
        (4.0, 0.09, 0.9),
        (0.5, 0.2, 2.0),  # not in one stretch anyway
        (60.0, 0.5, 5.0),
        (60.0, 3.0, 10.0),
    ],
)
def test_a_call_is_much_longer_than_a_trajectory(gone: float, trajectory: float, seconds: float) -> None:
    """Else chains would wait for the longest one in every call; but as long as it has to be to compile less."""
    assert wanted_seconds(gone, trajectory) == pytest.approx(seconds)


def test_going_on(result: mcmc.Result) -> None:
    first = run(num_samples=40)
    second = run(num_samples=60, state=first.state)
    together = np.concatenate([first.draws["x"], second.draws["x"]], axis=1)
    np.testing.assert_array_equal(together, result.draws["x"])


def test_thinning(result: mcmc.Result) -> None:
    thinned = run(num_samples=20, thin=5)
    np.testing.assert_array_equal(thinned.draws["x"], result.draws["x"][:, 4::5])


def test_in_files(result: mcmc.Result, tmp_path: Path) -> None:
    kept = run(folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), result.draws["x"])
    np.testing.assert_array_equal(np.load(tmp_path / "stats.lp.npy"), result.stats["lp"])
    assert np.load(tmp_path / "counts.npy").tolist() == [100] * 16
    assert isinstance(kept.draws["x"], np.memmap)


def test_a_folder_is_gone_on_with(result: mcmc.Result, tmp_path: Path) -> None:
    """It has the draws of both runs, those that one run makes; and so has the result."""
    run(num_samples=40, folder=tmp_path)
    for state in (None, run(num_samples=41).state):
        with pytest.raises(mcmc.ArgumentError, match=r"state=mcmc\.saved_state\(folder\)"):
            run(folder=tmp_path, state=state)
    with pytest.raises(mcmc.ArgumentError, match="write thin=1"):
        run(folder=tmp_path, state=mcmc.saved_state(tmp_path), thin=2)
    with pytest.raises(mcmc.ArgumentError, match=r"a draw is now of float32, \(1,\)"):
        run(folder=tmp_path, state=mcmc.saved_state(tmp_path), postprocess=lambda p: {"x": p["x"][None]})
    more = run(num_samples=60, folder=tmp_path, state=mcmc.saved_state(tmp_path))
    for found in (np.load(tmp_path / "x.npy"), more.draws["x"]):
        np.testing.assert_array_equal(found, result.draws["x"])
    np.testing.assert_array_equal(np.load(tmp_path / "stats.lp.npy"), result.stats["lp"])


@pytest.mark.parametrize(("share", "thin"), [(0.0, 1), (0.5, 1), (0.95, 1), (0.95, 3)])
def test_a_run_that_was_killed_goes_on(
    result: mcmc.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, thin: int
) -> None:
    """From wherever it was, of which its folder knows, to the same draws; chains were not equally far."""
    monkeypatch.setattr("hlobatch.mcmc.run.MOST_GROWTH", 1.0)
    monkeypatch.setattr("hlobatch.mcmc.run.SHARE_OF_SAVING", np.inf)

    def killed(progress: mcmc.Progress) -> None:
        if progress.done >= share * progress.total:
            raise MemoryError

    with pytest.raises(MemoryError):
        run(num_samples=30, folder=tmp_path, progress=killed, thin=thin)
    there = int(np.load(tmp_path / "counts.npy").min())
    more = run(num_samples=30 - there, folder=tmp_path, state=mcmc.saved_state(tmp_path), thin=thin)
    np.testing.assert_array_equal(more.draws["x"][:, :30], result.draws["x"][:, thin - 1 : 30 * thin : thin])


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        ({"../up": 0.0}, r"called '\.\./up'"),
        ({"counts": 0.0}, "called 'counts'"),
        ({"a": 0.0, "A": 0.0}, "would be written to the same file"),
        ({"a.b": 0.0, "a": {"b": 0.0}}, "would be written to the same file"),
    ],
)
def test_names_are_no_paths(draws: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(mcmc.ArgumentError, match=words):
        run(num_samples=5, folder=tmp_path / "run", postprocess=lambda p: jax.tree.map(lambda _: p["x"], draws))
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    with pytest.raises(mcmc.ArgumentError, match="is none of this run"):
        run(num_samples=5, folder=tmp_path)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.zeros(3))
    with pytest.raises(mcmc.ArgumentError, match="no run of `sample` has written"):
        mcmc.saved_state(tmp_path)
    (tmp_path / "state.npz").write_bytes(b"something else")
    with pytest.raises(mcmc.ArgumentError, match="is not where a run stands"):
        mcmc.saved_state(tmp_path)


def test_postprocessing(result: mcmc.Result) -> None:
    def double(p: Any) -> Any:
        return {"doubled": 2 * p["x"]}

    np.testing.assert_allclose(run(postprocess=double).draws["doubled"], 2 * result.draws["x"])


def test_progress() -> None:
    told: list[mcmc.Progress] = []
    run(num_samples=10, progress=told.append)
    assert [one.done for one in told] == sorted(one.done for one in told)
    assert told[-1].done == told[-1].total == 16 * 210
    assert told[0].warming
    assert not told[-1].warming
    assert str(told[-1]).startswith("sampling ██████████████████████████████ 100 %  0 divergences  step size ")


def test_bar(capsys: pytest.CaptureFixture[str]) -> None:
    run(num_samples=10, progress=True)
    assert capsys.readouterr().err.endswith("\n")
    run(num_samples=10)
    assert capsys.readouterr().err == ""


def test_a_notebook_has_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar says from the start that something is compiled."""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    run(num_samples=10)
    first, *others = capsys.readouterr().err.lstrip("\r").split("\r")
    assert first == "compiling …"
    assert others[-1].startswith("sampling ")


@pytest.mark.parametrize("warming", [True, False])
def test_interrupt(result: mcmc.Result, warming: bool, request: pytest.FixtureRequest) -> None:
    """Ctrl-C: what is finished is kept, and the state goes on, to what the whole run draws."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has jobs in the background ignore it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def press(progress: mcmc.Progress) -> None:
        if warming or progress.done > 16 * 600:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = run(num_samples=1_000, progress=press)
    assert stopped.interrupted
    kept = stopped.draws["x"].shape[1]
    assert (kept == 0) if warming else (0 < kept < 1_000)
    assert stopped.stats["lp"].shape == (16, kept)
    if warming:
        np.testing.assert_array_equal(run(state=stopped.state).draws["x"], result.draws["x"])
    else:
        np.testing.assert_array_equal(stopped.draws["x"][:, :100], result.draws["x"][:, :kept])


def test_pytrees_and_shared_data() -> None:
    """Nested parameters, data that all chains share, and a program that is compiled once for all data of a shape."""

    def log_density(parameters: Any, y: Any) -> Any:
        mean, (scale, unused) = parameters
        return jnp.sum(-0.5 * ((y - mean) / scale) ** 2 - jnp.log(scale)) - 0.5 * jnp.sum(unused**2)

    y = np.random.default_rng(0).normal(2.0, 0.5, 200).astype(np.float32)
    init = (0.0, [1.0, np.zeros((2, 3), np.float32)])
    settings: dict[str, Any] = {"chains": 8, "num_warmup": 150, "num_samples": 100}
    constraints = (None, [mcmc.above(0.0), None])
    first = mcmc.sample(log_density, init, KEY, data=(y,), constraints=constraints, **settings)
    second = mcmc.sample(log_density, init, KEY, data=(y + 1.0,), constraints=constraints, **settings)
    mean, (scale, unused) = first.draws
    assert mean.shape == (8, 100)
    assert unused.shape == (8, 100, 2, 3)
    assert abs(mean.mean() - y.mean()) < 0.03
    assert abs(scale.mean() - y.std()) < 0.05
    assert abs(second.draws[0].mean() - y.mean() - 1.0) < 0.03


def test_data_of_each_chain() -> None:
    """Each chain samples a posterior of its own: a normal around its own datum."""
    centers = np.arange(8, dtype=np.float32) * 10
    result = mcmc.sample(
        lambda x, center: -0.5 * (x - center) ** 2,
        np.zeros(8, np.float32),
        KEY,
        data=(centers,),
        data_per_chain=True,
        num_warmup=300,
        num_samples=200,
    )
    assert (abs(result.draws.mean(axis=1) - centers) < 0.6).all()
    assert result.diagnosis.r_hat is None


@pytest.mark.slow
@pytest.mark.parametrize("pool", [True, False])
def test_dense_metric(pool: bool) -> None:
    """It learns a covariance, and then takes no longer trajectories than if there were none."""
    covariance = np.array([[1.0, 0.99], [0.99, 1.0]])
    precision = jnp.asarray(np.linalg.inv(covariance), jnp.float32)

    def log_density(x: Any) -> Any:
        return -0.5 * x @ precision @ x

    def steps(dense: bool) -> tuple[mcmc.Result, float]:
        found = mcmc.sample(
            log_density,
            np.zeros(2, np.float32),
            KEY,
            chains=16,
            dense=dense,
            pool=pool,
            num_warmup=300,
            num_samples=200,
        )
        return found, float(found.stats["n_steps"].mean())

    result, with_dense = steps(True)
    _, with_diagonal = steps(False)
    assert with_dense < 0.6 * with_diagonal
    sampled = np.cov(result.draws.reshape(-1, 2).T)
    np.testing.assert_allclose(sampled, covariance, atol=0.25)


@pytest.mark.parametrize(
    ("init", "options", "words"),
    [
        ({}, {"chains": 2}, "no parameters"),
        ({"n": 1}, {"chains": 2}, "parameter n is of int32, and gradients are taken of real numbers only"),
        ({"x": "1"}, {"chains": 2}, "parameter x is '1', and has to be a number or an array"),
        ({"x": np.ones(0)}, {"chains": 2}, "there is nothing to sample"),
        ({"x": 1.0}, {}, "without `chains`, init has an axis of chains"),
        ({"x": np.ones(0)}, {}, "without `chains`, init has an axis of chains"),
        (lambda key: {"x": 1.0}, {}, "say how many there are: chains=64"),
        ({"x": 1.0}, {"chains": 0}, "chains=0 has to be 1 or more"),
        ({"x": 1.0}, {"chains": 2.5}, "chains=2.5 is no whole number.(.|\n)*: chains=2."),
        ({"x": 1.0}, {"chains": True}, "chains=True is no whole number"),
        ({"x": 1.0}, {"chains": 2, "thin": 0}, "thin=0 has to be 1 or more"),
        ({"x": 1.0}, {"chains": 2, "max_depth": 0}, "max_depth=0 has to be from 1 to 30"),
        ({"x": 1.0}, {"chains": 2, "jitter": -1.0}, "jitter=-1.0 has to be a number of 0 or more"),
        ({"x": 1.0}, {"chains": 2, "key": 0}, r"key is 0, which is no key(.|\n)*write jax.random.key\(0\)"),
        ({"x": 1.0}, {"chains": 2, "key": jax.random.split(KEY)}, "key is an array of 2 keys"),
        ({"x": 1.0}, {"chains": 2, "data": np.ones((2, 3))}, r"data is an array of float64(.|\n)*data=\(y,\)"),
        ({"x": 1.0}, {"chains": 2, "data": ("y",)}, r"data\[0\] is 'y', and data are arrays"),
        ({"x": 1.0}, {"chains": 2, "data": (np.ones(3),), "data_per_chain": True}, "there is an axis of 2 chains"),
        ({"x": 1.0}, {"chains": 2, "constraints": {"x": mcmc.ordered}}, r"x has shape \(\), and mcmc.ordered is for"),
        ({"x": 1.0}, {"chains": 2, "constraints": mcmc.simplex}, r"x has shape \(\), and mcmc.simplex is for arrays"),
        (
            {"x": np.ones((2, 3))},
            {"chains": 2, "constraints": mcmc.correlation_cholesky},
            "mcmc.correlation_cholesky is for square matrices",
        ),
        ({"x": 1.0}, {"chains": 2, "constraints": {"x": mcmc.interval}}, r"the function interval(.|\n)*call it"),
        ({"x": 1.0}, {"chains": 2, "constraints": {"x": "positive"}}, "'positive', which has not the structure"),
        ({"x": 1.0}, {"chains": 2, "state": 1}, "state is 1, and has to be the `state` of a result"),
        ({"x": 1.0}, {"chains": 2, "constraints": {"y": mcmc.positive}}, "constraints names 'y'"),
        ({"x": 1.0}, {"chains": 2, "num_warmup": -1}, "num_warmup=-1"),
        ({"x": 1.0}, {"chains": 2, "target_acceptance": 1.5}, "target_acceptance=1.5"),
        ({"x": 1.0}, {"chains": 2, "pool": True, "data_per_chain": True}, "cannot pool"),
        ({"x": 1.0}, {"chains": 2, "dense": True, "gradients": True}, "is learned from draws alone"),
        ({"x": np.ones(3)}, {"chains": 2}, "has to be a scalar, and is an array of shape"),
    ],
)
def test_what_does_not_fit(init: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(mcmc.ArgumentError, match=words) as caught:
        mcmc.sample(lambda p: -(p["x"] ** 2), init, **{"key": KEY, **options})
    assert caught.value.location.file == __file__
    assert caught.value.location.text.startswith("mcmc.sample(lambda")


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        (lambda x: (x, 1.0), r"gives a tuple(.|\n)*postprocess="),
        (lambda x: None, r"gives None(.|\n)*`return`"),
        (lambda x: x * (1.0 + 1.0j), "of complex64, and has to be a real number"),
        (lambda x: x > 0, "of bool, and has to be a real number"),
        (lambda x: jnp.int32(x), "of int32, and has to be a real number"),
    ],
)
def test_what_is_no_log_density(gives: Any, words: str) -> None:
    with pytest.raises(mcmc.ArgumentError, match=words):
        mcmc.sample(gives, 1.0, KEY, chains=2)


def test_what_is_no_log_density_in_lanes() -> None:
    """Where it is found in the program's code, it is said of the user's call."""

    def looped(x: Any) -> Any:
        while abs(x) > 1.0:
            x = x / 2
        return x, 1.0

    with pytest.raises(mcmc.ArgumentError, match="gives a tuple") as caught:
        mcmc.sample(looped, 1.0, KEY, chains=2)
    assert caught.value.location.text == "mcmc.sample(looped, 1.0, KEY, chains=2)"
    assert "hlobatch/mcmc" not in str(caught.value)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (lambda: mcmc.interval(1.0, 1.0), "is empty"),
        (lambda: mcmc.above(np.zeros(2)), "a bound of above is"),
        (lambda: mcmc.interval(0.0, np.inf), "a bound of interval is inf, and has to be a finite number"),
    ],
)
def test_bounds(bound: Any, words: str) -> None:
    with pytest.raises(mcmc.ArgumentError, match=words):
        bound()


def test_a_state_of_other_chains(result: mcmc.Result) -> None:
    density, three = (lambda p: -p["x"]), {"x": np.zeros(16, np.float32)}
    for init, options, words in (
        ({"x": 0.0, "rate": 1.0}, {"chains": 3}, "state has 16 chains, and this run 3"),
        (three, {}, "state has 2 free coordinates for each chain, and these parameters have 1"),
        ({"x": 0.0, "rate": 1.0}, {"chains": 16, "dense": True}, r"state has a metric of shape \(2,\)"),
        ({"x": 0.0, "rate": 1.0}, {"chains": 16, "gradients": True}, "write gradients=False"),
        ({"x": 0.0, "rate": 1.0}, {"chains": 16, "pool": False}, r"state has a metric of shape \(2,\)"),
    ):
        with pytest.raises(mcmc.ArgumentError, match=words):
            mcmc.sample(density, init, KEY, state=result.state, **options)
    with pytest.raises(mcmc.ArgumentError, match=r"state=result\.state"):
        mcmc.sample(density, three, KEY, state=result)  # type: ignore[arg-type]


def test_a_key_of_old_is_one(result: mcmc.Result) -> None:
    init = {"x": np.zeros((16,), np.float32), "rate": np.ones((16,), np.float32)}
    settings: dict[str, Any] = {"num_warmup": 200, "num_samples": 100, "constraints": {"rate": mcmc.positive}}
    old = mcmc.sample(two_parameters, init, jax.random.PRNGKey(0), **settings)
    np.testing.assert_array_equal(old.draws["x"], result.draws["x"])


def test_start_outside_of_the_support() -> None:
    init = {"x": np.zeros(4, np.float32), "rate": np.array([1.0, 1.0, -1.0, 1.0], np.float32)}
    with pytest.raises(
        mcmc.InitialValueError, match=r"parameter rate of chain 2 is not in its support: rate=-1\."
    ) as caught:
        mcmc.sample(two_parameters, init, KEY, constraints={"rate": mcmc.positive})
    assert (caught.value.chain, caught.value.parameters) == (2, ("rate",))
    assert "start inside of mcmc.positive" in caught.value.help


def test_start_without_density() -> None:
    def log_density(p: Any) -> Any:
        return -0.5 * p["x"] ** 2 + jnp.where(p["y"] < 5.0, -0.5 * p["y"] ** 2, -jnp.inf)

    init = {"x": np.zeros(3, np.float32), "y": np.array([0.0, 7.0, 8.0], np.float32)}
    with pytest.raises(mcmc.InitialValueError, match=r"parameter y of chain 1 has log density -inf.*y=7.*1 other"):
        mcmc.sample(log_density, init, KEY)
    with pytest.raises(mcmc.InitialValueError, match=r"chain 0 has log density -inf after 100 tries"):
        mcmc.sample(log_density, {"x": 0.0, "y": 50.0}, KEY, chains=2)


def test_start_without_gradient() -> None:
    def log_density(p: Any) -> Any:
        return -jnp.sqrt(jnp.abs(p["x"])) - 0.5 * p["y"] ** 2

    init = {"x": np.zeros(2, np.float32), "y": np.ones(2, np.float32)}
    with pytest.raises(mcmc.InitialValueError, match=r"parameter x of chain 0 has log density -0.5 and a gradient"):
        mcmc.sample(log_density, init, KEY)


def test_random_starts_are_tried_again() -> None:
    """Half of the starts have no density: those chains start somewhere else."""

    def log_density(x: Any) -> Any:
        return jnp.where(x > 0.0, -x, -jnp.inf)

    result = mcmc.sample(log_density, lambda key: jax.random.normal(key), KEY, chains=8, num_warmup=20, num_samples=5)
    assert (result.draws > 0).all()


def test_interruptions_are_those_of_the_batch() -> None:
    """What a call raises on Ctrl-C is a KeyboardInterrupt, which `sample` waits for."""
    assert issubclass(hb.Interrupted, KeyboardInterrupt)


def test_a_first_call_compiles_few_programs() -> None:
    """None of them for a single operation of JAX's."""
    compiled = list[str]()

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if (text := record.getMessage()).startswith("Finished XLA compilation of"):
                compiled.append(text.split()[4])

    logger, listening = logging.getLogger("jax._src.dispatch"), Listening()
    logger.addHandler(listening)
    jax.config.update("jax_log_compiles", True)  # of all threads
    try:
        mcmc.sample(lambda p: -0.5 * p["x"] ** 2, {"x": 1.0}, KEY, chains=2, num_warmup=30, num_samples=10)
    finally:
        jax.config.update("jax_log_compiles", False)
        logger.removeHandler(listening)
    ours = {"jit(noise_for)", "jit(around)", "jit(begin)", "jit(learn)", "jit(taken)"}
    assert ours - {"jit(taken)"} <= set(compiled)  # that may be there from another test
    assert len(compiled) <= 14  # of which six are of the diagnosis


def test_another_length_does_not_compile() -> None:
    """Compiled code is the same for runs of all lengths."""
    run()
    with pytest.MonkeyPatch.context() as patch:
        compiled: list[object] = []
        patch.setattr("jax.stages.Lowered.compile", lambda *_, **__: compiled.append(1))
        longer = run(num_warmup=300, num_samples=150)
    assert longer.draws["x"].shape == (16, 150)
    assert not compiled

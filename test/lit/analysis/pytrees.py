"""Variables hold pytrees: dicts, named tuples, typed keys, Python objects among arrays."""

# RUN: hlobatch trace %s:f --args "key<fry>[8], {'x': f32[8,3], 'n': i32[8]}" | filecheck %s
from typing import NamedTuple

import jax

import hlobatch as hb


class State(NamedTuple):
    key: jax.Array
    position: dict


@hb.batch
def f(key, start):
    state = State(key, start)
    while state.position["n"] > 0:
        key, draw = jax.random.split(state.key)
        x = state.position["x"] + jax.random.normal(draw, (3,))
        state = State(key, {"x": x, "n": state.position["n"] - 1})
    return state


# CHECK-DAG: var register  %f.state: State(key=key<fry>[], position={n: i32[], x: f32[3]})
# CHECK-DAG: var temporary %f.draw: key<fry>[]
# CHECK-DAG: var register  %main.start: {n: i32[], x: f32[3]}

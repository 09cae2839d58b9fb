"""Each leaf of a variable is an array of its own; a typed key is stored as its words."""

# RUN: hlobatch lower %s:f --args "(key<fry>[8], {'x': f32[8,3]})" --dispatch chain --dialect portable | filecheck %s
import jax

import hlobatch as hb


@hb.batch
def f(state):
    key, draws = state
    while draws["x"].sum() < 1.0:
        key, one = jax.random.split(key)
        draws = {"x": draws["x"] + jax.random.uniform(one, (3,))}
    return key, draws


# CHECK: func.func public @main(%arg0: tensor<8x2xui32>, %arg1: tensor<8x3xf32>) -> (tensor<8x2xui32>, tensor<8x3xf32>
# CHECK: stablehlo.while({{.*}}) : tensor<8xi32>, tensor<8x2xui32>, tensor<8x3xf32>

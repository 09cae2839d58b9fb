"""SHARED: an input of all lanes, and what is computed from such, also in a function that is called with it."""

# RUN: hlobatch trace %s:f --args "f32[8], f32[100,3]" | filecheck %s
import hlobatch as hb


@hb.batch
def step(x, data):
    if x > 1000.0:
        return x
    total = data.sum()
    return step(x * total, data)


@hb.batch(in_axes=(0, None))
def f(x, data):
    means = data.mean(axis=0)
    return step(x, data) * means


# CHECK-DAG: var shared    %main.data: f32[100,3]
# CHECK-DAG: var shared    %f.means: f32[3]
# CHECK-DAG: var shared    %step.total: f32[]
# CHECK-DAG: var register  %step.x: f32[]

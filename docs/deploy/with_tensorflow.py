"""Run an artifact with TensorFlow and without JAX, as a SavedModel too: `with_tensorflow.py FILE.hlob IN.npy OUT.npz`.

The function takes one array of numbers and gives one, for batches of any size.
"""

import json
import sys
import tempfile
import zipfile

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import call_module


def function_of(file: str) -> tf.Module:
    """The artifact as a TensorFlow module, whose ``run`` can be called and saved."""
    with zipfile.ZipFile(file) as parts:
        module, manifest = parts.read("module.mlirbc"), json.loads(parts.read("manifest.json"))
    (argument,), result = manifest["inputs"]["items"], manifest["result"]
    shapes = [[manifest["batch"], *result["shape"]], [], [manifest["batch"]]]
    types = [tf.as_dtype(result["dtype"]), tf.int32, tf.int32]
    given = tf.TensorSpec([manifest["batch"], *argument["shape"]], tf.as_dtype(argument["dtype"]))

    def run(x: tf.Tensor) -> list[tf.Tensor]:
        convention = manifest["calling_convention"]
        return call_module([x], version=convention, module=module, Sout=shapes, Tout=types, platforms=["CPU"])

    loaded = tf.Module()
    loaded.run = tf.function(run, input_signature=[given], autograph=False, jit_compile=True)
    return loaded


def main(file: str, given: str, found: str) -> None:
    x = np.load(given)
    loaded = function_of(file)
    result, stopped, status = (part.numpy() for part in loaded.run(x))
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(loaded, folder)
        again = tf.saved_model.load(folder).run(x)[0].numpy()
    np.testing.assert_array_equal(again, result)
    np.savez(found, result=result, stopped=stopped, status=status)


if __name__ == "__main__":
    main(*sys.argv[1:])

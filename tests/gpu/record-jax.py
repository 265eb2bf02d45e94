# SPDX-License-Identifier: LGPL-2.1-or-later
"""JAX under the recorder: XLA turns a jitted function into command buffers, which are CUDA graphs. It knows nothing of
the recorder and prints what it saw itself."""

import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ["XLA_FLAGS"] = (
    "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT --xla_gpu_graph_min_graph_size=1 "
    + os.environ.get("XLA_FLAGS", "")
)

import jax  # noqa: E402: reads the flags above
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def layer(x, weights):
    for weight in weights:
        x = jnp.tanh(x @ weight) + 0.5 * jnp.sin(x)
    return x


def main():
    keys = jax.random.split(jax.random.key(1), 5)
    weights = [jax.random.normal(key, (256, 256), dtype=jnp.float32) / 16 for key in keys[:4]]
    x = jax.random.normal(keys[4], (8, 256), dtype=jnp.float32)
    step = jax.jit(layer)
    got = x
    for _ in range(10):
        got = step(got, weights)
    got = np.asarray(got)

    wanted = np.asarray(x)
    for _ in range(10):
        for weight in weights:
            wanted = np.tanh(wanted @ np.asarray(weight)) + 0.5 * np.sin(wanted)
    if not np.allclose(got, wanted, rtol=3e-2, atol=3e-2):
        raise SystemExit("jax: the result is wrong")
    print("jax: ten steps, the result is right")


if __name__ == "__main__":
    main()

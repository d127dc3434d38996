"""JAX as fast as we could make it for these networks, with its own gradients.

Everything is one compiled program: a scan over the updates, the batch gathered
inside, validation after every 200. What helped, measured on one core: samples
along the last axis, all parameters in one vector (one fused Adam), rows
gathered before they are transposed, the T iterations unrolled up to 16.
"""

import cases

cases.pin_to_one_core()

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# Past this the unrolled program is slower than a loop (shape E, T = 64).
UNROLL_AT_MOST = 16
UPDATES_PER_CALL = 5 * cases.VALIDATE_EVERY
# Rows predicted at a time; the faster of the two depends on r.
PREDICT_CHUNKS = (500, 2000)


def apply_block(params, block, z):
    w1, b1, w2, b2 = (params[f"block.{block}.{name}"] for name in ("w1", "b1", "w2", "b2"))
    return z + w2 @ jax.nn.relu(w1 @ z + b1[:, None]) + b2[:, None]


def forward(case, params, x, unroll):
    """x [d, rows] -> [outputs, rows], before clipping."""
    z = params["input.weight"] @ x + params["input.bias"][:, None]
    if unroll or case.blocks > 1:
        for step in range(case.t):
            z = apply_block(params, case.block(step), z)
    else:
        z = lax.scan(lambda z, _: (apply_block(params, 0, z), None), z, length=case.t)[0]
    return params["output.weight"] @ z + params["output.bias"][:, None]


def loss(case, params, x, y):
    f = forward(case, params, x, unroll=case.t <= UNROLL_AT_MOST)
    if case.multiclass:
        return jnp.mean(jax.nn.logsumexp(f, axis=0) - jnp.take_along_axis(f, y[None], axis=0)[0])
    return jnp.mean((jnp.clip(f[0], -cases.PREDICTION_BOUND, cases.PREDICTION_BOUND) - y) ** 2)


def named(case, flat):
    """The views of one parameter vector, by name."""
    views, start = {}, 0
    for name, value in case.params.items():
        views[name] = flat[start : start + value.size].reshape(value.shape)
        start += value.size
    return views


def start(case):
    flat = jnp.concatenate([value.ravel() for value in case.params.values()])
    moments = jnp.zeros_like(flat)
    return (flat, moments, moments, jnp.float32(0)), (jnp.float32(np.inf), flat)


def trainer(case):
    """(state, batches, data) -> state after `UPDATES_PER_CALL` updates."""

    def update(fit, rows, x, y):
        flat, m, v, step = fit
        batch_x, batch_y = x[rows].T, y[rows]
        g = jax.grad(lambda flat: loss(case, named(case, flat), batch_x, batch_y))(flat)
        g = g * jnp.minimum(1.0, cases.GRADIENT_NORM_CAP / jnp.sqrt(jnp.sum(g * g)))
        g = g + case.weight_decay * flat
        cosine = 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(step / case.updates, 1.0)))
        rate = case.learning_rate * (cases.FINAL_RATE + (1 - cases.FINAL_RATE) * cosine)
        step = step + 1
        m = cases.BETA1 * m + (1 - cases.BETA1) * g
        v = cases.BETA2 * v + (1 - cases.BETA2) * g * g
        m_hat, v_hat = m / (1 - cases.BETA1**step), v / (1 - cases.BETA2**step)
        flat = flat - rate * m_hat / (jnp.sqrt(v_hat) + cases.EPSILON)
        return jnp.clip(flat, -cases.COEFFICIENT_BOUND, cases.COEFFICIENT_BOUND), m, v, step

    def run(state, rows, x, y, valid_x, valid_y):
        def until_validation(state, rows):
            fit, (best_loss, best) = state
            fit = lax.scan(lambda fit, rows: (update(fit, rows, x, y), None), fit, rows)[0]
            now = loss(case, named(case, fit[0]), valid_x, valid_y)
            best = jnp.where(now < best_loss, fit[0], best)
            return (fit, (jnp.minimum(now, best_loss), best)), None

        return lax.scan(until_validation, state, rows)[0]

    return run


def train(case, fits):
    """Speed of one fit (`fits` = 1) or of several at once, all updates counted."""
    shape = (-1, cases.VALIDATE_EVERY, case.batch)
    rows = [cases.batches(case, UPDATES_PER_CALL, seed).reshape(shape) for seed in range(fits)]
    x, y = cases.sample(case, cases.TRAIN_ROWS, seed=1)
    valid_x, valid_y = cases.sample(case, cases.VALID_ROWS, seed=2)
    data = [jnp.array(values) for values in (x, y, np.ascontiguousarray(valid_x.T), valid_y)]
    run, state = trainer(case), start(case)
    if fits > 1:
        state = jax.tree.map(lambda value: jnp.stack([value] * fits), state)
        run, rows = jax.vmap(run, in_axes=(0, 0, None, None, None, None)), jnp.array(rows)
    else:
        rows = jnp.array(rows[0])
    run = jax.jit(run)

    def work():
        nonlocal state
        state = jax.block_until_ready(run(state, rows, *data))

    variant = "JAX" if fits == 1 else f"JAX, vmap over {fits} fits"
    return cases.training_speed(variant, work, fits * UPDATES_PER_CALL)


def predict(case, params, x):
    """x [rows, d] -> [outputs, rows]."""
    f = forward(case, params, x.T, unroll=False)
    return f if case.multiclass else jnp.clip(f, -cases.PREDICTION_BOUND, cases.PREDICTION_BOUND)


def predict_row_us(case):
    # Parameters as constants of the program: a fifth faster than as arguments.
    f = jax.jit(lambda x: predict(case, case.params, x[None]))
    row = jnp.array(case.x[0])
    return 1e6 / cases.per_second(lambda: f(row).block_until_ready(), 1)[0]


def predict_rows_per_s(case, chunk):
    x = jnp.array(cases.sample(case, cases.PREDICT_ROWS, seed=3)[0])
    f = jax.jit(lambda params, x: lax.map(lambda rows: predict(case, params, rows), x.reshape(-1, chunk, case.d)))
    params = {name: jnp.array(value) for name, value in case.params.items()}
    return cases.per_second(lambda: f(params, x).block_until_ready(), cases.PREDICT_ROWS)[0]


def measure(case):
    gradient = jax.jit(jax.grad(lambda params: loss(case, params, case.x.T, case.y)))(case.params)
    return {
        "gradient_error": cases.gradient_error(case, gradient),
        "variants": [train(case, 1), train(case, cases.FITS)],
        "predict_row_us": predict_row_us(case),
        "predict_rows_per_s": max(predict_rows_per_s(case, chunk) for chunk in PREDICT_CHUNKS),
    }


if __name__ == "__main__":
    cases.run_peer("JAX", jax.__version__, measure)

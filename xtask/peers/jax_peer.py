"""JAX as fast as we could make it for these networks, with its own gradients.

Everything is one compiled program: a scan over the updates, the batch gathered
inside, validation after every 200. What helped, measured on one core: samples
along the last axis, all parameters in one vector (one fused Adam), rows
gathered before they are transposed, the FFN's T iterations unrolled up to 16.
The Transformer is scanned (unrolled it was three times slower) and compiled
without XLA's YNN kernels for reductions, which took three times as long.
Attention is written as explicit sums: einsum was slower with samples last and
far slower with samples first. Biases, gains and for small q all weights are
repeated along the samples before the loop, so that their gradients are summed
over the samples once, not T times.
"""

import cases

cases.pin_to_one_core()

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# Past this the unrolled program is slower than a loop (shape E, T = 64).
UNROLL_AT_MOST = 16
# From this state dimension on (shapes J, K) the Transformer's matrix products beat explicit sums.
MATRIX_PRODUCT_FROM_Q = 4
# What XLA gives to its library of kernels, YNN; by default also reductions.
ONLY_PRODUCTS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}
NOTHING = {"xla_cpu_experimental_ynn_fusion_type": ""}
UPDATES_PER_CALL = 5 * cases.VALIDATE_EVERY
# Rows predicted at a time; the faster of the two depends on r.
PREDICT_CHUNKS = (500, 2000)


def apply_block(params, block, z):
    w1, b1, w2, b2 = (params[f"block.{block}.{name}"] for name in ("w1", "b1", "w2", "b2"))
    return z + w2 @ jax.nn.relu(w1 @ z + b1[:, None]) + b2[:, None]


def product(w, s):
    """w [i, j] or, repeated along the samples, [i, j, rows]; s [j, tokens, rows]."""
    if w.ndim == 2:
        return (w @ s.reshape(w.shape[1], -1)).reshape(-1, *s.shape[1:])
    return (w[:, :, None] * s).sum(1)


def layer_norm(params, name, s):
    centred = s - s.mean(0)
    scale = lax.rsqrt((centred * centred).mean(0) + cases.LAYER_NORM_STABILISER)
    return params[f"{name}.gain"][:, None] * (centred * scale) + params[f"{name}.bias"][:, None]


def transformer_block(params, s):
    """s [q, tokens, rows]."""
    projected = product(params["query_key_value.weight"], s) + params["query_key_value.bias"][:, None]
    query, key, value = jnp.split(projected, 3)
    logits = (query[:, :, None] * key[:, None]).sum(0)
    weights = jnp.exp(logits - lax.stop_gradient(logits.max(1, keepdims=True)))
    average = (weights * value[:, None]).sum(2) / weights.sum(1)
    y = layer_norm(params, "ln1", s + product(params["out.weight"], average) + params["out.bias"][:, None])
    hidden = jax.nn.relu(product(params["w1"], y) + params["b1"][:, None])
    return layer_norm(params, "ln2", y + product(params["w2"], hidden) + params["b2"][:, None])


def transformer_block_params(case, params, block, rows):
    """One block's tensors as `transformer_block` wants them: the first three projections stacked, the
    scale in the query, and repeated along the samples."""
    prefix = f"block.{block}."
    own = {name.removeprefix(prefix): value for name, value in params.items() if name.startswith(prefix)}
    for part in ("weight", "bias"):
        query, key, value = (own.pop(f"{name}.{part}") for name in ("query", "key", "value"))
        own[f"query_key_value.{part}"] = jnp.concatenate([query / np.sqrt(case.q), key, value])

    def repeated(value):
        if value.ndim == 2 and case.q >= MATRIX_PRODUCT_FROM_Q:
            return value
        return jnp.broadcast_to(value[..., None], (*value.shape, rows))

    return {name: repeated(value) for name, value in own.items()}


def transformer(case, params, x):
    rows = x.shape[1]
    data = [
        params[f"input.{token}.weight"] @ x[np.array(inputs)] + params[f"input.{token}.bias"][:, None]
        for token, inputs in enumerate(case.tokens)
    ]
    constant = [jnp.broadcast_to(params[name][:, None], (case.q, rows)) for name in cases.CONSTANT_TOKENS]
    s = jnp.stack(data + constant, axis=1)
    blocks = [transformer_block_params(case, params, block, rows) for block in range(case.blocks)]
    if case.blocks > 1:
        for block in blocks:
            s = transformer_block(block, s)
    else:
        s = lax.scan(lambda s, _: (transformer_block(blocks[0], s), None), s, length=case.t)[0]
    return params["output.weight"] @ s.swapaxes(0, 1).reshape(-1, rows) + params["output.bias"][:, None]


def forward(case, params, x, unroll):
    """x [d, rows] -> [outputs, rows], before clipping."""
    if case.tokens is not None:
        return transformer(case, params, x)
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


def compiled(case, f, transformer_options=ONLY_PRODUCTS):
    return jax.jit(f, compiler_options=None if case.tokens is None else transformer_options)


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
    run = compiled(case, run)

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
    f = compiled(case, lambda x: predict(case, case.params, x[None]), transformer_options=NOTHING)
    row = jnp.array(case.x[0])
    return 1e6 / cases.per_second(lambda: f(row).block_until_ready(), 1)[0]


def predict_rows_per_s(case, chunk):
    x = jnp.array(cases.sample(case, cases.PREDICT_ROWS, seed=3)[0])
    chunks = x.reshape(-1, chunk, case.d)
    f = compiled(case, lambda params, chunks: lax.map(lambda rows: predict(case, params, rows), chunks))
    params = {name: jnp.array(value) for name, value in case.params.items()}
    return cases.per_second(lambda: f(params, chunks).block_until_ready(), cases.PREDICT_ROWS)[0]


def measure(case):
    gradient = compiled(case, jax.grad(lambda params: loss(case, params, case.x.T, case.y)))(case.params)
    return {
        "gradient_error": cases.gradient_error(case, gradient),
        "variants": [train(case, 1), train(case, cases.FITS)],
        "predict_row_us": predict_row_us(case),
        "predict_rows_per_s": max(predict_rows_per_s(case, chunk) for chunk in PREDICT_CHUNKS),
    }


if __name__ == "__main__":
    cases.run_peer("JAX", jax.__version__, measure)

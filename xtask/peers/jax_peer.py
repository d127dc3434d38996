"""JAX as fast as we could make it for these networks, with its own gradients.

Everything is one compiled program: a scan over the updates, the batch gathered
inside, validation after every 200. What helped, measured on one core: samples
along the last axis, all parameters in one vector (one fused Adam), rows
gathered before they are transposed, the FFN's T iterations unrolled up to 16.
"By hand" is a Loop whose backward pass is written out and sums the gradients of
its weights over all iterations in one product: faster at small widths.
The Transformer is scanned (unrolled it was three times slower) and compiled
without XLA's YNN kernels for reductions, which took three times as long.
Attention is written as explicit sums: einsum was slower with samples last and
far slower with samples first. Biases, gains and for small q all weights are
repeated along the samples before the loop, so that their gradients are summed
over the samples once, not T times.
"""

import functools

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
# A call must be long for the smallest networks, and short where several fits are trained at once.
VALIDATIONS_PER_CALL = {1: 5, cases.FITS: 1}
# Rows predicted at a time; the faster of the two depends on r.
PREDICT_CHUNKS = (500, 2000)


def apply_block(params, block, z):
    w1, b1, w2, b2 = (params[f"block.{block}.{name}"] for name in ("w1", "b1", "w2", "b2"))
    return z + w2 @ jax.nn.relu(w1 @ z + b1[:, None]) + b2[:, None]


def loop_by_hand(t):
    """(w1, b1, w2, b2, z) -> the state after t iterations of one block."""

    @jax.custom_vjp
    def loop(*arguments):
        return keep(*arguments)[0]

    def keep(w1, b1, w2, b2, z):
        states, hidden = [], []
        for _ in range(t):
            states.append(z)
            hidden.append(jax.nn.relu(w1 @ z + b1[:, None]))
            z = z + w2 @ hidden[-1] + b2[:, None]
        return z, (w1, w2, states, hidden)

    def backward(kept, dz):
        w1, w2, states, hidden = kept
        state_gradients, hidden_gradients = [], []
        for h in reversed(hidden):
            dh = jnp.where(h > 0, w2.T @ dz, 0.0)
            state_gradients.insert(0, dz)
            hidden_gradients.insert(0, dh)
            dz = dz + w1.T @ dh
        into, out = gradients(hidden_gradients, states), gradients(state_gradients, hidden)
        return *into, *out, dz

    def gradients(left, right):
        """Of a weight and its bias: iterations side by side, one product."""
        left, right = jnp.concatenate(left, axis=1), jnp.concatenate(right, axis=1)
        both = left @ jnp.concatenate([right, jnp.ones((1, right.shape[1]))]).T
        return both[:, :-1], both[:, -1]

    loop.defvjp(keep, backward)
    return loop


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


def forward(case, params, x, unroll, by_hand=False):
    """x [d, rows] -> [outputs, rows], before clipping."""
    if case.tokens is not None:
        return transformer(case, params, x)
    z = params["input.weight"] @ x + params["input.bias"][:, None]
    if by_hand:
        z = loop_by_hand(case.t)(*(params[f"block.0.{name}"] for name in ("w1", "b1", "w2", "b2")), z)
    elif unroll or case.blocks > 1:
        for step in range(case.t):
            z = apply_block(params, case.block(step), z)
    else:
        z = lax.scan(lambda z, _: (apply_block(params, 0, z), None), z, length=case.t)[0]
    return params["output.weight"] @ z + params["output.bias"][:, None]


def loss(case, params, x, y, by_hand=False):
    f = forward(case, params, x, case.t <= UNROLL_AT_MOST, by_hand)
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


def trainer(case, by_hand):
    """(state, batches, data) -> state after the updates."""

    def update(fit, rows, x, y):
        flat, m, v, step = fit
        batch_x, batch_y = x[rows].T, y[rows]
        g = jax.grad(lambda flat: loss(case, named(case, flat), batch_x, batch_y, by_hand))(flat)
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


def train(case, fits, by_hand):
    """Updates per second of one fit (`fits` = 1) or of several at once, all updates counted."""
    shape = (-1, cases.VALIDATE_EVERY, case.batch)
    updates = VALIDATIONS_PER_CALL[fits] * cases.VALIDATE_EVERY
    rows = [cases.batches(case, updates, seed).reshape(shape) for seed in range(fits)]
    x, y = cases.sample(case, cases.TRAIN_ROWS, seed=1)
    valid_x, valid_y = cases.sample(case, cases.VALID_ROWS, seed=2)
    data = [jnp.array(values) for values in (x, y, np.ascontiguousarray(valid_x.T), valid_y)]
    run, state = trainer(case, by_hand), start(case)
    if fits > 1:
        state = jax.tree.map(lambda value: jnp.stack([value] * fits), state)
        run, rows = jax.vmap(run, in_axes=(0, 0, None, None, None, None)), jnp.array(rows)
    else:
        rows = jnp.array(rows[0])
    run = compiled(case, run)

    def work():
        nonlocal state
        state = jax.block_until_ready(run(state, rows, *data))

    return cases.per_second(work, fits * updates)


def predict(case, params, x):
    """x [rows, d] -> [outputs, rows]."""
    f = forward(case, params, x.T, unroll=False)
    return f if case.multiclass else jnp.clip(f, -cases.PREDICTION_BOUND, cases.PREDICTION_BOUND)


def predict_row_us(case):
    # Parameters as constants of the program: a fifth faster than as arguments.
    f = compiled(case, lambda x: predict(case, case.params, x[None]), transformer_options=NOTHING)
    row = jnp.array(case.x[0])
    return 1e6 / cases.per_second(lambda: f(row).block_until_ready(), 1)


def predict_rows_per_s(case, chunk):
    x = jnp.array(cases.sample(case, cases.PREDICT_ROWS, seed=3)[0])
    chunks = x.reshape(-1, chunk, case.d)
    f = compiled(case, lambda params, chunks: lax.map(lambda rows: predict(case, params, rows), chunks))
    params = {name: jnp.array(value) for name, value in case.params.items()}
    return cases.per_second(lambda: f(params, chunks).block_until_ready(), cases.PREDICT_ROWS)


def gradient_error(case, by_hand):
    of = jax.grad(lambda params: loss(case, params, case.x.T, case.y, by_hand))
    return cases.gradient_error(case, compiled(case, of)(case.params))


def measurements(case):
    can_be_by_hand = case.tokens is None and case.blocks == 1 and 1 < case.t <= UNROLL_AT_MOST
    ways = [False, True] if can_be_by_hand else [False]
    not_by_hand = f"written for Loops of residual FFNs with up to {UNROLL_AT_MOST} iterations"
    training = {}
    for by_hand in (False, True):
        name = "JAX, backward by hand" if by_hand else "JAX"
        for fits, suffix in ((1, ""), (cases.FITS, f", vmap over {cases.FITS} fits")):
            work = functools.partial(train, case, fits, by_hand)
            training[name + suffix] = work if by_hand in ways else not_by_hand
    return cases.Measurements(
        gradients=[functools.partial(gradient_error, case, by_hand) for by_hand in ways],
        training=training,
        row={"JAX, one row": functools.partial(predict_row_us, case)},
        rows={f"JAX, chunks of {n} rows": functools.partial(predict_rows_per_s, case, n) for n in PREDICT_CHUNKS},
    )


if __name__ == "__main__":
    cases.run_peer("JAX", jax.__version__, measurements)

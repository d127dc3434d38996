"""PyTorch in three ways: eager as usually written, the whole update compiled,
and the compiled update over several fits at once.

What helped the compiled ones, measured on one core: samples along the last
axis, all parameters in one vector, calls between kernels in C++, and for small
q products summed by the generated kernels instead of calls of a matrix product.
"""

import cases

cases.pin_to_one_core()

import numpy as np
import torch
from torch._inductor import config as inductor
from torch.nn import functional

torch.set_num_threads(1)
inductor.cpp_wrapper = True

# From this state dimension on (shape H) a call of a matrix product is faster.
MATRIX_PRODUCT_FROM_Q = 12
PREDICT_CHUNK = 2000


class Network:
    """The compiled variants' network. Holds sizes only, no arrays: the
    compiler would trace arrays as inputs."""

    def __init__(self, case):
        self.sizes = [(name, value.size, value.shape) for name, value in case.params.items()]
        self.blocks = [case.block(step) for step in range(case.t)]
        self.multiclass = case.multiclass
        self.sum_products = case.params["input.bias"].size < MATRIX_PRODUCT_FROM_Q

    def product(self, w, z):
        return (w[:, :, None] * z[None]).sum(1) if self.sum_products else w @ z

    def forward(self, flat, x):
        """x [d, rows] -> [outputs, rows], clipped."""
        params, start = {}, 0
        for name, size, shape in self.sizes:
            params[name] = flat[start : start + size].view(shape)
            start += size
        z = self.product(params["input.weight"], x) + params["input.bias"][:, None]
        for block in self.blocks:
            w1, b1, w2, b2 = (params[f"block.{block}.{name}"] for name in ("w1", "b1", "w2", "b2"))
            z = z + self.product(w2, torch.relu(self.product(w1, z) + b1[:, None])) + b2[:, None]
        f = self.product(params["output.weight"], z) + params["output.bias"][:, None]
        return f if self.multiclass else f.clamp(-cases.PREDICTION_BOUND, cases.PREDICTION_BOUND)

    def loss(self, flat, x, y):
        f = self.forward(flat, x)
        return functional.cross_entropy(f.T, y) if self.multiclass else functional.mse_loss(f[0], y)


def tensor(values):
    values = torch.tensor(values)
    return values.long() if values.dtype == torch.int32 else values


def flat_params(case):
    return torch.cat([torch.tensor(value).ravel() for value in case.params.values()])


def data(case):
    x, y = cases.sample(case, cases.TRAIN_ROWS, seed=1)
    valid_x, valid_y = cases.sample(case, cases.VALID_ROWS, seed=2)
    return tensor(x), tensor(y), tensor(valid_x), tensor(valid_y)


def train_compiled(case, fits):
    """Speed of one fit (`fits` = 1) or of several at once, all updates counted."""
    torch._dynamo.reset()
    network = Network(case)
    learning_rate, weight_decay, updates = case.learning_rate, case.weight_decay, case.updates

    def update(flat, m, v, step, rows, x, y):
        batch_x, batch_y = x[rows].T, y[rows]
        g = torch.func.grad(lambda flat: network.loss(flat, batch_x, batch_y))(flat)
        g = g * torch.clamp(cases.GRADIENT_NORM_CAP / torch.sqrt((g * g).sum()), max=1.0)
        g = g + weight_decay * flat
        cosine = 0.5 * (1 + torch.cos(torch.pi * torch.clamp(step / updates, max=1.0)))
        rate = learning_rate * (cases.FINAL_RATE + (1 - cases.FINAL_RATE) * cosine)
        step = step + 1
        m = cases.BETA1 * m + (1 - cases.BETA1) * g
        v = cases.BETA2 * v + (1 - cases.BETA2) * g * g
        m_hat, v_hat = m / (1 - cases.BETA1**step), v / (1 - cases.BETA2**step)
        flat = flat - rate * m_hat / (torch.sqrt(v_hat) + cases.EPSILON)
        return flat.clamp(-cases.COEFFICIENT_BOUND, cases.COEFFICIENT_BOUND), m, v, step

    def validate(flat, best_loss, best, x, y):
        now = network.loss(flat, x, y)
        return torch.minimum(now, best_loss), torch.where(now < best_loss, flat, best)

    x, y, valid_x, valid_y = data(case)
    valid_x = valid_x.T.contiguous()
    flat = flat_params(case)
    state = (flat, torch.zeros_like(flat), torch.zeros_like(flat), torch.tensor(0.0))
    best = (torch.tensor(torch.inf), flat)
    rows = np.stack([cases.batches(case, cases.VALIDATE_EVERY, seed) for seed in range(fits)], axis=1)
    if fits > 1:
        state, best = ([value.expand(fits, *value.shape).clone() for value in part] for part in (state, best))
        update = torch.func.vmap(update, in_dims=(0, 0, 0, 0, 0, None, None))
        validate = torch.func.vmap(validate, in_dims=(0, 0, 0, None, None))
    else:
        rows = rows[:, 0]
    rows = list(tensor(rows))
    update, validate = torch.compile(update), torch.compile(validate)

    @torch.no_grad()
    def work():
        nonlocal state, best
        for batch in rows:
            state = update(*state, batch, x, y)
        best = validate(state[0], *best, valid_x, valid_y)

    variant = "PyTorch compiled" if fits == 1 else f"PyTorch compiled, vmap over {fits} fits"
    return cases.training_speed(variant, work, fits * cases.VALIDATE_EVERY)


def eager_loss(case, params, x, y):
    """x [rows, d]: the layout of `torch.nn.Linear`."""
    z = functional.linear(x, params["input.weight"], params["input.bias"])
    for step in range(case.t):
        w1, b1, w2, b2 = (params[f"block.{case.block(step)}.{name}"] for name in ("w1", "b1", "w2", "b2"))
        z = z + functional.linear(torch.relu(functional.linear(z, w1, b1)), w2, b2)
    f = functional.linear(z, params["output.weight"], params["output.bias"])
    if case.multiclass:
        return functional.cross_entropy(f, y)
    return functional.mse_loss(f[:, 0].clamp(-cases.PREDICTION_BOUND, cases.PREDICTION_BOUND), y)


def train_eager(case):
    params = {name: torch.tensor(value, requires_grad=True) for name, value in case.params.items()}
    values = list(params.values())
    adam = torch.optim.Adam(
        values,
        lr=case.learning_rate,
        betas=(cases.BETA1, cases.BETA2),
        eps=cases.EPSILON,
        weight_decay=case.weight_decay,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(
        adam, case.updates, eta_min=cases.FINAL_RATE * case.learning_rate
    )
    x, y, valid_x, valid_y = data(case)
    rows = list(tensor(cases.batches(case, cases.VALIDATE_EVERY, seed=0)))
    best_loss, best = np.inf, None

    def work():
        nonlocal best_loss, best
        for batch in rows:
            adam.zero_grad()
            eager_loss(case, params, x[batch], y[batch]).backward()
            torch.nn.utils.clip_grad_norm_(values, cases.GRADIENT_NORM_CAP)
            adam.step()
            schedule.step()
            with torch.no_grad():
                torch._foreach_clamp_min_(values, -cases.COEFFICIENT_BOUND)
                torch._foreach_clamp_max_(values, cases.COEFFICIENT_BOUND)
        with torch.no_grad():
            now = eager_loss(case, params, valid_x, valid_y).item()
            if now < best_loss:
                best_loss, best = now, [value.clone() for value in values]

    return cases.training_speed("PyTorch eager", work, cases.VALIDATE_EVERY)


def predictor(case):
    torch._dynamo.reset()
    return torch.compile(Network(case).forward, dynamic=False), flat_params(case)


@torch.no_grad()
def predict_row_us(case):
    forward, flat = predictor(case)
    row = torch.tensor(case.x[:1]).T
    return 1e6 / cases.per_second(lambda: forward(flat, row), 1)[0]


@torch.no_grad()
def predict_rows_per_s(case):
    forward, flat = predictor(case)
    x = torch.tensor(cases.sample(case, cases.PREDICT_ROWS, seed=3)[0])
    chunks = [chunk.T.contiguous() for chunk in x.split(PREDICT_CHUNK)]
    return cases.per_second(lambda: [forward(flat, chunk) for chunk in chunks], cases.PREDICT_ROWS)[0]


def gradient_error(case):
    """Of the eager and of the compiled network, the larger."""
    params = {name: torch.tensor(value, requires_grad=True) for name, value in case.params.items()}
    eager_loss(case, params, torch.tensor(case.x), tensor(case.y)).backward()
    eager = {name: value.grad.numpy() for name, value in params.items()}

    torch._dynamo.reset()
    network, x, y = Network(case), torch.tensor(case.x).T.contiguous(), tensor(case.y)
    flat = torch.compile(torch.func.grad(lambda flat: network.loss(flat, x, y)))(flat_params(case))
    compiled, start = {}, 0
    for name, size, shape in network.sizes:
        compiled[name] = flat[start : start + size].view(shape).numpy()
        start += size
    return max(cases.gradient_error(case, eager), cases.gradient_error(case, compiled))


def measure(case):
    return {
        "gradient_error": gradient_error(case),
        "variants": [train_eager(case), train_compiled(case, 1), train_compiled(case, cases.FITS)],
        "predict_row_us": predict_row_us(case),
        "predict_rows_per_s": predict_rows_per_s(case),
    }


if __name__ == "__main__":
    cases.run_peer("PyTorch", torch.__version__, measure)

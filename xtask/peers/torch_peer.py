"""PyTorch in three ways: eager as usually written, the whole update compiled,
and the compiled update over several fits at once.

What helped the compiled ones, measured on one core: samples along the last
axis, all parameters in one vector, calls between kernels in C++, and for small
q products summed by the generated kernels instead of calls of a matrix product.
The Transformer is written likewise, attention included, but not compiled: its
blocks, unrolled, compile for minutes. Its gradient is checked all the same.
"""

import functools

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
# Rows predicted at a time; the faster of the two depends on the shape.
PREDICT_CHUNKS = (500, 2000)
COMPILES_TOO_LONG = "the unrolled blocks of a Transformer compile for minutes"


class Network:
    """The compiled variants' network. Holds sizes only, no arrays: the
    compiler would trace arrays as inputs."""

    def __init__(self, case):
        self.sizes = [(name, value.size, value.shape) for name, value in case.params.items()]
        self.blocks = [case.block(step) for step in range(case.t)]
        self.tokens = case.tokens
        self.multiclass = case.multiclass
        self.sum_products = case.q < MATRIX_PRODUCT_FROM_Q

    def affine(self, w, b, z):
        """z [features, rows] or [features, tokens, rows]."""
        flat = z.flatten(1)
        product = (w[:, :, None] * flat).sum(1) if self.sum_products else w @ flat
        return (product + b[:, None]).view(-1, *z.shape[1:])

    def feedforward(self, params, block, z):
        w1, b1, w2, b2 = (params[f"block.{block}.{name}"] for name in ("w1", "b1", "w2", "b2"))
        return self.affine(w2, b2, torch.relu(self.affine(w1, b1, z)))

    def ffn(self, params, x):
        z = self.affine(params["input.weight"], params["input.bias"], x)
        for block in self.blocks:
            z = z + self.feedforward(params, block, z)
        return z

    def transformer(self, params, x):
        """The state's rows stacked: [tokens * q, rows]."""
        data = [
            self.affine(params[f"input.{token}.weight"], params[f"input.{token}.bias"], x[inputs])
            for token, inputs in enumerate(self.tokens)
        ]
        constant = [params[name][:, None].expand(-1, x.shape[1]) for name in cases.CONSTANT_TOKENS]
        s = torch.stack(data + constant, 1)
        projections = {block: stacked_projections(params, block) for block in self.blocks}
        for block in self.blocks:
            query, key, value = self.affine(*projections[block], s).chunk(3)
            logits = (query[:, :, None] * key[:, None]).sum(0)
            average = (logits.softmax(1) * value[:, None]).sum(2)
            attention = self.affine(params[f"block.{block}.out.weight"], params[f"block.{block}.out.bias"], average)
            y = layer_norm(params, f"block.{block}.ln1", s + attention)
            s = layer_norm(params, f"block.{block}.ln2", y + self.feedforward(params, block, y))
        return s.transpose(0, 1).flatten(0, 1)

    def forward(self, flat, x):
        """x [d, rows] -> [outputs, rows], clipped."""
        params, start = {}, 0
        for name, size, shape in self.sizes:
            params[name] = flat[start : start + size].view(shape)
            start += size
        state = self.ffn(params, x) if self.tokens is None else self.transformer(params, x)
        f = self.affine(params["output.weight"], params["output.bias"], state)
        return f if self.multiclass else f.clamp(-cases.PREDICTION_BOUND, cases.PREDICTION_BOUND)

    def loss(self, flat, x, y):
        f = self.forward(flat, x)
        return functional.cross_entropy(f.T, y) if self.multiclass else functional.mse_loss(f[0], y)


def stacked_projections(params, block):
    """Query (with the scale), key and value of a block as one affine map."""
    names = [f"block.{block}.{name}" for name in ("query", "key", "value")]
    scale = params[f"{names[0]}.bias"].numel() ** -0.5
    weight, bias = ([params[f"{name}.{part}"] for name in names] for part in ("weight", "bias"))
    return torch.cat([weight[0] * scale, *weight[1:]]), torch.cat([bias[0] * scale, *bias[1:]])


def layer_norm(params, name, s):
    centred = s - s.mean(0)
    scale = torch.rsqrt((centred * centred).mean(0) + cases.LAYER_NORM_STABILISER)
    return params[f"{name}.gain"][:, None, None] * (centred * scale) + params[f"{name}.bias"][:, None, None]


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
    """Updates per second of one fit (`fits` = 1) or of several at once, all updates counted."""
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

    return cases.per_second(work, fits * cases.VALIDATE_EVERY)


class EagerFfn:
    """The residual FFN as usually written; x [rows, d] -> [rows, outputs]."""

    def __init__(self, case):
        self.params = {name: torch.tensor(value, requires_grad=True) for name, value in case.params.items()}
        self.order = [case.block(step) for step in range(case.t)]

    def parameters(self):
        return self.params.values()

    def tensors(self, of):
        return {name: of(value) for name, value in self.params.items()}

    def __call__(self, x):
        params = self.params
        z = functional.linear(x, params["input.weight"], params["input.bias"])
        for block in self.order:
            w1, b1, w2, b2 = (params[f"block.{block}.{name}"] for name in ("w1", "b1", "w2", "b2"))
            z = z + functional.linear(torch.relu(functional.linear(z, w1, b1)), w2, b2)
        return functional.linear(z, params["output.weight"], params["output.bias"])


class EagerBlock(torch.nn.Module):
    """The post-LN block of PyTorch's own modules; s [rows, tokens, q]."""

    def __init__(self, q, r):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(q, num_heads=1, batch_first=True)
        self.inner, self.outer = torch.nn.Linear(q, r), torch.nn.Linear(r, q)
        self.norm1, self.norm2 = (torch.nn.LayerNorm(q, eps=cases.LAYER_NORM_STABILISER) for _ in range(2))

    def tensors(self, of):
        attention = self.attention
        query, key, value = of(attention.in_proj_weight).chunk(3)
        query_bias, key_bias, value_bias = of(attention.in_proj_bias).chunk(3)
        return {
            "query.weight": query,
            "query.bias": query_bias,
            "key.weight": key,
            "key.bias": key_bias,
            "value.weight": value,
            "value.bias": value_bias,
            "out.weight": of(attention.out_proj.weight),
            "out.bias": of(attention.out_proj.bias),
            "ln1.gain": of(self.norm1.weight),
            "ln1.bias": of(self.norm1.bias),
            "w1": of(self.inner.weight),
            "b1": of(self.inner.bias),
            "w2": of(self.outer.weight),
            "b2": of(self.outer.bias),
            "ln2.gain": of(self.norm2.weight),
            "ln2.bias": of(self.norm2.bias),
        }

    def forward(self, s):
        y = self.norm1(s + self.attention(s, s, s, need_weights=False)[0])
        return self.norm2(y + self.outer(torch.relu(self.inner(y))))


class EagerTransformer(torch.nn.Module):
    """The Transformer of PyTorch's own modules; x [rows, d] -> [rows, outputs]."""

    def __init__(self, case):
        super().__init__()
        rows = len(case.tokens) + len(cases.CONSTANT_TOKENS)
        self.partition = case.tokens
        self.order = [case.block(step) for step in range(case.t)]
        self.data = torch.nn.ModuleList(torch.nn.Linear(len(inputs), case.q) for inputs in case.tokens)
        self.constant = torch.nn.Parameter(torch.empty(len(cases.CONSTANT_TOKENS), case.q))
        self.blocks = torch.nn.ModuleList(EagerBlock(case.q, case.r) for _ in range(case.blocks))
        self.output = torch.nn.Linear(rows * case.q, case.outputs)
        with torch.no_grad():
            for name, value in self.tensors(lambda parameter: parameter).items():
                value.copy_(torch.tensor(case.params[name]))

    def tensors(self, of):
        """The case file's tensors, cut out of what `of` gives for each parameter."""
        affine = {f"input.{token}": linear for token, linear in enumerate(self.data)} | {"output": self.output}
        named = dict(zip(cases.CONSTANT_TOKENS, of(self.constant)))
        for name, linear in affine.items():
            named |= {f"{name}.weight": of(linear.weight), f"{name}.bias": of(linear.bias)}
        for i, block in enumerate(self.blocks):
            named |= {f"block.{i}.{name}": value for name, value in block.tensors(of).items()}
        return named

    def forward(self, x):
        data = [linear(x[:, inputs]) for linear, inputs in zip(self.data, self.partition)]
        s = torch.stack(data + [row.expand_as(data[0]) for row in self.constant], dim=1)
        for block in self.order:
            s = self.blocks[block](s)
        return self.output(s.flatten(1))


def eager(case):
    return EagerFfn(case) if case.tokens is None else EagerTransformer(case)


def eager_loss(case, model, x, y):
    f = model(x)
    if case.multiclass:
        return functional.cross_entropy(f, y)
    return functional.mse_loss(f[:, 0].clamp(-cases.PREDICTION_BOUND, cases.PREDICTION_BOUND), y)


def train_eager(case):
    model = eager(case)
    values = list(model.parameters())
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
            eager_loss(case, model, x[batch], y[batch]).backward()
            torch.nn.utils.clip_grad_norm_(values, cases.GRADIENT_NORM_CAP)
            adam.step()
            schedule.step()
            with torch.no_grad():
                torch._foreach_clamp_min_(values, -cases.COEFFICIENT_BOUND)
                torch._foreach_clamp_max_(values, cases.COEFFICIENT_BOUND)
        with torch.no_grad():
            now = eager_loss(case, model, valid_x, valid_y).item()
            if now < best_loss:
                best_loss, best = now, [value.clone() for value in values]

    return cases.per_second(work, cases.VALIDATE_EVERY)


def predictor(case):
    return torch.compile(Network(case).forward, dynamic=False), flat_params(case)


@torch.no_grad()
def predict_row_us(case):
    forward, flat = predictor(case)
    row = torch.tensor(case.x[:1]).T
    return 1e6 / cases.per_second(lambda: forward(flat, row), 1)


@torch.no_grad()
def predict_rows_per_s(case, chunk):
    forward, flat = predictor(case)
    x = torch.tensor(cases.sample(case, cases.PREDICT_ROWS, seed=3)[0])
    chunks = [rows.T.contiguous() for rows in x.split(chunk)]
    return cases.per_second(lambda: [forward(flat, rows) for rows in chunks], cases.PREDICT_ROWS)


def eager_gradient_error(case):
    model = eager(case)
    eager_loss(case, model, torch.tensor(case.x), tensor(case.y)).backward()
    return cases.gradient_error(case, model.tensors(lambda parameter: parameter.grad))


def functional_gradient_error(case):
    """Of the network that is compiled for training, without the minutes that compiling it once more takes."""
    network, x, y = Network(case), torch.tensor(case.x).T.contiguous(), tensor(case.y)
    flat = torch.func.grad(lambda flat: network.loss(flat, x, y))(flat_params(case))
    gradient, start = {}, 0
    for name, size, shape in network.sizes:
        gradient[name] = flat[start : start + size].view(shape).numpy()
        start += size
    return cases.gradient_error(case, gradient)


def measurements(case):
    def compiled(measure, *arguments):
        return functools.partial(measure, case, *arguments) if case.tokens is None else COMPILES_TOO_LONG

    return cases.Measurements(
        gradients=[functools.partial(error, case) for error in (eager_gradient_error, functional_gradient_error)],
        training={
            "PyTorch eager": functools.partial(train_eager, case),
            "PyTorch compiled": compiled(train_compiled, 1),
            f"PyTorch compiled, vmap over {cases.FITS} fits": compiled(train_compiled, cases.FITS),
        },
        row={"PyTorch, one row": compiled(predict_row_us)},
        rows={f"PyTorch, chunks of {n} rows": compiled(predict_rows_per_s, n) for n in PREDICT_CHUNKS},
    )


if __name__ == "__main__":
    cases.run_peer("PyTorch", torch.__version__, measurements)

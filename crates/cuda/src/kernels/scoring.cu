// Stochastic Fisher scoring, a block of threads a fit: the gradient of a batch, the damped step, and what the next information
// needs. Between them `refresh.cu` takes a batch into the information.
#if PART_SCORING

// The masses of an energy model at its nodes, to `terms`, in 64 bits: e^{f_i - log sum}.
__device__ void node_masses(const Launch &L, const Fit &fit, const Work &w) {
    double *values = fit.terms, *terms = fit.terms + L.nodes;
    int n = L.nodes;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        values[i] = clip(w.out[(size_t)L.strips * 16 + i], fit.output_bound);
    __syncthreads();
    double top = largest(values, n, terms);
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = values[i] - top;
    __syncthreads();
    double log_sum = log_sum_exp(values, n, terms, terms + n);
    for (int i = threadIdx.x; i < n; i += blockDim.x) terms[i] = exp_double(values[i] - log_sum);
    __syncthreads();
}

// Derivatives whose products are the lines of the information's factor, and the roots of masses behind those.
__device__ void information_seeds(const Launch &L, const Fit &fit, const Work &w, uint64_t signs) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    bool energy = L.kind == ENERGY;
    int first = energy ? L.strips : 0, strips = energy ? L.node_strips : L.strips;
    size_t lines = (size_t)(L.padded + 1) * 16;
    if (energy) node_masses(L, fit, w);
    for (int s = group; s < strips; s += groups) {
        int i = s * 16 + lane;
        size_t at = (size_t)(first + s) * L.outputs * 16 + lane;
        if (energy) {
            float root = i < L.nodes ? (float)sqrt(fit.terms[L.nodes + i]) : 0.0f;
            w.g_out[at] = fabsf(w.out[at]) <= fit.output_bound ? root : 0.0f;
            fit.rows[s * lines + (size_t)L.padded * 16 + lane] = root;
        } else {
            double weight = sqrt((double)(i < L.batch ? fit.weight : 0.0f));
            information_seed(L, fit, signs, i, weight, w.out + at, w.g_out + at);
        }
    }
}

// What the threads of a block share while they solve.
struct Shared {
    double partial[PANEL * PANEL], length;
};

// Replaces x, which lies in shared memory, by the solution of U^T U x = b.
__device__ void solve(const Launch &L, const Fit &fit, double *x, Shared &shared) {
    int n = L.packed, stride = stride_of(n), lane = threadIdx.x;
    const double *u = global_memory(fit.factor);
    for (int first = 0; first < n; first += PANEL) {
        int end = first + PANEL < n ? first + PANEL : n;
        if (lane < 16) {
            // A number a lane.
            bool own = first + lane < end && lane < PANEL;
            double value = own ? x[first + lane] : 0.0, inverse = own ? fit.inverse[first + lane] : 0.0, row[PANEL];
#pragma unroll
            for (int k = 0; k < PANEL; k++)
                row[k] = own && k < lane ? u[(size_t)(first + k) * stride + first + lane] : 0.0;
#pragma unroll
            for (int k = 0; k < PANEL; k++) {
                double done = from_lane(value * inverse, k);
                value = lane == k ? done : lane > k ? fma(-done, row[k], value) : value;
            }
            if (own) x[first + lane] = value;
        }
        __syncthreads();
        for (int j = end + threadIdx.x; j < n; j += blockDim.x) {
            double value = x[j];
#pragma unroll
            for (int k = 0; k < PANEL; k++) value = fma(-x[first + k], u[(size_t)(first + k) * stride + j], value);
            x[j] = value;
        }
        __syncthreads();
    }
    for (int first = (n - 1) / PANEL * PANEL; first >= 0; first -= PANEL) {
        int end = first + PANEL < n ? first + PANEL : n;
        if (end < n) {
            // Eight partial sums of each row's products with what is known.
            for (int i = threadIdx.x; i < PANEL * PANEL; i += blockDim.x) {
                const double *row = u + (size_t)(first + i / 8) * stride;
                double sum = 0.0;
#pragma unroll 4
                for (int at = end + i % 8; at < stride; at += 8) sum = fma(row[at], at < n ? x[at] : 0.0, sum);
                shared.partial[i] = sum;
            }
            __syncthreads();
        }
        if (lane < 16) {
            bool own = first + lane < end && lane < PANEL;
            double value = own ? x[first + lane] : 0.0, inverse = own ? fit.inverse[first + lane] : 0.0, column[PANEL];
            if (own && end < n) {
                const double *p = shared.partial + 8 * lane;
                double a = p[0] + p[4], b = p[1] + p[5], c = p[2] + p[6], d = p[3] + p[7];
                value -= (a + c) + (b + d);
            }
#pragma unroll
            for (int k = 0; k < PANEL; k++)
                column[k] = own && k > lane && first + k < end ? u[(size_t)(first + lane) * stride + first + k] : 0.0;
#pragma unroll
            for (int k = PANEL - 1; k >= 0; k--) {
                if (first + k >= end) continue;
                double done = from_lane(value * inverse, k);
                value = lane == k ? done : lane < k ? fma(-done, column[k], value) : value;
            }
            if (own) x[first + lane] = value;
        }
        __syncthreads();
    }
}

KERNEL_AT(scoring, GRADIENT_THREADS, GRADIENT_BLOCKS) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    begin_stage(L, fit);
    Work w;
    float *rest = lay_out_shared(L, fit, w);
    rest = states_near(L) ? w.x + (size_t)w.strips * L.d * 16 : rest + 4 + (blockDim.x >> 4) * COMING;
    Shared &shared = *reinterpret_cast<Shared *>(rest);
    double *direction = reinterpret_cast<double *>(rest) + sizeof(Shared) / 8;
    float *params = const_cast<float *>(w.params);
    int p = L.packed, last = L.update + L.updates, made = 0;
    double power = L.stage_start ? 1.0 : fit.power;
    if (L.stage_start)
        for (int i = threadIdx.x; i < p; i += blockDim.x) fit.momentum[i] = 0.0;
    __syncthreads();
    spread(L, fit.theta, params);
    for (int update = L.update; update < last + L.lined; update++) {
        if (L.resumed && update == L.update) {
            for (int i = threadIdx.x; i < L.padded; i += blockDim.x) w.grad[i] = fit.gradient[i];
            __syncthreads();
        } else {
            w.rows = batch_rows(L, fit, update);
            forward_pass(L, fit, w);
            for (int lined = 0; lined <= (update == last); lined++) {
                if (lined) information_seeds(L, fit, w, nth(fit.signs, (uint64_t)update));
                back_pass(L, fit, w, lined);
            }
        }
        if (update == last) {
            for (int i = threadIdx.x; i < L.padded; i += blockDim.x) fit.gradient[i] = w.grad[i];
            break;
        }
        double rate = fit.rates[update];
        power *= 0.9;
        for (int i = threadIdx.x; i < p; i += blockDim.x) {
            int at = L.place[i];
            direction[i] = momentum_step(fit, w.grad[at], params[at], 1.0 - power, unit_of(L, fit, i), fit.momentum + i);
        }
        __syncthreads();
        solve(L, fit, direction, shared);
        if (threadIdx.x == 0) shared.length = step_length(fit, direction, p, rate);
        __syncthreads();
        double length = shared.length;
        if (!(length >= 0.0)) {
            if (threadIdx.x == 0) fit.status = DIVERGED;
            break;
        }
        for (int i = threadIdx.x; i < p; i += blockDim.x) {
            float &own = params[L.place[i]];
            own = moved(fit, own, rate, length, unit_of(L, fit, i) * direction[i]);
        }
        __syncthreads();
        made++;
    }
    for (int i = threadIdx.x; i < p; i += blockDim.x) fit.theta[i] = params[L.place[i]];
    if (threadIdx.x == 0) {
        fit.made = L.update - L.ordered + made;
        fit.power = power;
    }
}
#endif

// Stochastic Fisher scoring: the information of a batch, its Cholesky factor, the damped step.
#if PART_SCORING

// R e of one sample, where R R^T is the likelihood's information at its outputs; `f` are clipped outputs.
__device__ void information_seed(const Launch &L, const Fit &fit, uint64_t signs, int sample, double weight, const float *out,
                                 float *seed) {
    float bound = fit.output_bound;
    if (L.outputs == 1 && L.kind != MULTICLASS) {
        double f = clip(out[0], bound), fisher = fit.fisher;
        if (L.kind == POISSON) fisher = exp_double(f);
        if (L.kind == BERNOULLI) fisher = sigmoid_double(f) * sigmoid_double(-f);
        double value = sqrt(fisher) * 1.0;
        seed[0] = fabsf(out[0]) <= bound ? (float)(weight * value) : 0.0f;
        return;
    }
    int classes = L.outputs;
    double top = -INFINITY, total = 0.0, sum = 0.0;
    for (int c = 0; c < classes; c++) top = fmax(top, (double)clip(out[16 * c], bound));
    for (int c = 0; c < classes; c++) total += exp_double((double)clip(out[16 * c], bound) - top);
    for (int c = 0; c < classes; c++) {
        double p = exp_double((double)clip(out[16 * c], bound) - top) / total;
        double e = bits_of(signs, (uint64_t)sample * classes + c) >> 63 == 0 ? 1.0 : -1.0;
        sum += sqrt(p) * e;
    }
    for (int c = 0; c < classes; c++) {
        double p = exp_double((double)clip(out[16 * c], bound) - top) / total;
        double e = bits_of(signs, (uint64_t)sample * classes + c) >> 63 == 0 ? 1.0 : -1.0;
        double value = sqrt(p) * e - p * sum;
        seed[16 * c] = fabsf(out[16 * c]) <= bound ? (float)(weight * value) : 0.0f;
    }
}

// The masses of an energy model at its nodes, to `terms`, in 64 bits: e^{f_i - log sum}.
__device__ void node_masses(const Launch &L, const Fit &fit, const Work &w) {
    double *values = fit.terms, *terms = fit.terms + L.nodes;
    int n = L.nodes;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        values[i] = clip(w.out[(size_t)L.strips * 16 + i], fit.output_bound);
    __syncthreads();
    double top = -INFINITY;
    for (int i = 0; i < n; i++) top = fmax(top, values[i]);
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = values[i] - top;
    __syncthreads();
    double log_sum = log_sum_exp(values, n, terms, terms + n);
    for (int i = threadIdx.x; i < n; i += blockDim.x) terms[i] = exp_double(values[i] - log_sum);
    __syncthreads();
}

// Lines of the factor of the information: [strip][padded word][lane], and the roots of masses behind them.
__device__ void information_rows(const Launch &L, const Fit &fit, const Work &w, uint64_t signs) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    bool energy = L.kind == ENERGY;
    int first = energy ? L.strips : 0, strips = energy ? L.node_strips : L.strips;
    size_t lines = (size_t)(L.padded + 1) * 16;
    if (energy) node_masses(L, fit, w);
    for (int s = group; s < strips; s += groups) {
        int strip = first + s, i = s * 16 + lane;
        size_t at = (size_t)strip * L.outputs * 16 + lane;
        if (energy) {
            float root = i < L.nodes ? (float)sqrt(fit.terms[L.nodes + i]) : 0.0f;
            w.g_out[at] = fabsf(w.out[at]) <= fit.output_bound ? root : 0.0f;
            fit.rows[s * lines + (size_t)L.padded * 16 + lane] = root;
        } else {
            double weight = sqrt((double)(i < L.batch ? fit.weight : 0.0f));
            information_seed(L, fit, signs, i, weight, w.out + at, w.g_out + at);
        }
        backward_strips<1>(L, w, strip, groups, lane);
    }
    __syncthreads();
    for (int s = 0; s < strips; s++)
        products<true>(L, fit, w, first + s, first + s + 1, 1, fit.rows + s * lines);
    __syncthreads();
}

#define TILE 4

// Products of lines over strips and lanes, blended into the average in 64 bits: a tile of the matrix is sixteen lanes'.
__device__ void blend_information(const Launch &L, const Fit &fit, double keep, double share, float *means) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    bool energy = L.kind == ENERGY;
    int strips = energy ? L.node_strips : L.strips, p = L.packed;
    size_t lines = (size_t)(L.padded + 1) * 16;
    if (energy) {
        for (int i = group; i < p; i += groups) {
            const float *left = fit.rows + (size_t)L.place[i] * 16 + lane, *right = fit.rows + (size_t)L.padded * 16 + lane;
            float sum = 0.0f;
            for (int s = 0; s < strips; s++) sum = fmaf(left[s * lines], right[s * lines], sum);
            sum = sum_lanes(sum);
            if (lane == 0) means[i] = sum;
        }
        __syncthreads();
    }
    int side = (p + TILE - 1) / TILE;
    for (int tile = group; tile < side * side; tile += groups) {
        int i = tile / side * TILE, j = tile % side * TILE;
        if (j < i) continue;
        float sums[TILE][TILE];
        const float *left[TILE], *right[TILE];
#pragma unroll
        for (int a = 0; a < TILE; a++) {
            left[a] = fit.rows + (size_t)L.place[i + a < p ? i + a : i] * 16 + lane;
            right[a] = fit.rows + (size_t)L.place[j + a < p ? j + a : j] * 16 + lane;
#pragma unroll
            for (int b = 0; b < TILE; b++) sums[a][b] = 0.0f;
        }
        for (int s = 0; s < strips; s++) {
            float r[TILE];
#pragma unroll
            for (int b = 0; b < TILE; b++) r[b] = right[b][s * lines];
#pragma unroll
            for (int a = 0; a < TILE; a++) {
                float l = left[a][s * lines];
#pragma unroll
                for (int b = 0; b < TILE; b++) sums[a][b] = fmaf(l, r[b], sums[a][b]);
            }
        }
#pragma unroll
        for (int a = 0; a < TILE; a++)
#pragma unroll
            for (int b = 0; b < TILE; b++) {
                float sum = sum_lanes(sums[a][b]);
                // A lane writes an entry.
                if (lane != a * TILE + b || i + a >= p || j + b >= p || j + b < i + a) continue;
                double product = sum;
                if (energy) product = product - (double)means[i + a] * (double)means[j + b];
                double *to = fit.average + (size_t)(i + a) * p + j + b;
                *to = keep * *to + share * product;
            }
    }
    __syncthreads();
}

__device__ __forceinline__ double unit_of(const Launch &L, const Fit &fit, int i) {
    return L.outgoing[i] ? fit.outgoing_unit : 1.0;
}

__device__ __forceinline__ int stride_of(int n) { return ((n + 7) / 8 | 1) * 8; }

// U with U^T U = A + damping I, row by row; every entry takes off the rows above in ascending order. False if A is not
// positive definite.
__device__ bool factor(const Launch &L, const Fit &fit, const double *a, double damping, double *common) {
    int n = L.packed, stride = stride_of(n);
    double *u = fit.factor;
    for (int k = 0; k < n; k++) {
        for (int j = k + threadIdx.x; j < stride; j += blockDim.x) {
            double sum = 0.0;
            if (j < n) {
                sum = a[(size_t)k * n + j];
                if (j == k) sum += damping;
                for (int i = 0; i < k; i++) sum = fma(-u[(size_t)i * stride + k], u[(size_t)i * stride + j], sum);
            }
            u[(size_t)k * stride + j] = sum;
        }
        __syncthreads();
        double pivot = sqrt(u[(size_t)k * stride + k]);
        double inverse = 1.0 / pivot;
        bool good = inverse > 0.0 && inverse <= 1.7976931348623157e308;
        __syncthreads();
        if (!good) return false;
        for (int j = k + threadIdx.x; j < stride; j += blockDim.x)
            u[(size_t)k * stride + j] = j == k ? pivot : u[(size_t)k * stride + j] * inverse;
        if (threadIdx.x == 0) fit.inverse[k] = inverse;
        __syncthreads();
    }
    return true;
}

#define PANEL 8

// Replaces x by the solution of U^T U x = b.
__device__ void solve(const Launch &L, const Fit &fit, double *x, double *partial) {
    int n = L.packed, stride = stride_of(n);
    const double *u = fit.factor;
    for (int first = 0; first < n; first += PANEL) {
        int end = first + PANEL < n ? first + PANEL : n;
        if (threadIdx.x == 0)
            for (int k = first; k < end; k++) {
                double value = x[k] * fit.inverse[k];
                x[k] = value;
                for (int j = k + 1; j < end; j++) x[j] = fma(-value, u[(size_t)k * stride + j], x[j]);
            }
        __syncthreads();
        for (int j = end + threadIdx.x; j < n; j += blockDim.x) {
            double value = x[j];
            for (int k = first; k < end; k++) value = fma(-x[k], u[(size_t)k * stride + j], value);
            x[j] = value;
        }
        __syncthreads();
    }
    for (int first = (n - 1) / PANEL * PANEL; first >= 0; first -= PANEL) {
        int end = first + PANEL < n ? first + PANEL : n;
        if (end < n) {
            // Eight partial sums of each row's products with what is known.
            for (int i = threadIdx.x; i < 64; i += blockDim.x) {
                const double *row = u + (size_t)(first + i / 8) * stride;
                double sum = 0.0;
                for (int at = end + i % 8; at < stride; at += 8) sum = fma(row[at], at < n ? x[at] : 0.0, sum);
                partial[i] = sum;
            }
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            if (end < n)
                for (int k = 0; k < PANEL; k++) {
                    const double *p = partial + 8 * k;
                    double a = p[0] + p[4], b = p[1] + p[5], c = p[2] + p[6], d = p[3] + p[7];
                    x[first + k] -= (a + c) + (b + d);
                }
            for (int k = end - 1; k >= first; k--) {
                double value = x[k] * fit.inverse[k];
                x[k] = value;
                for (int j = first; j < k; j++) x[j] = fma(-value, u[(size_t)j * stride + k], x[j]);
            }
        }
        __syncthreads();
    }
}

// Takes a batch into the average information and factors it; false if that is hopeless.
__device__ bool refresh(const Launch &L, Fit &fit, const Work &w, int step, double past, float *common) {
    double share = (1.0 - fit.memory) / (1.0 - past);
    information_rows(L, fit, w, nth(fit.signs, (uint64_t)step));
    // The gradient is still needed: means go behind the lines.
    float *means = fit.rows + (size_t)(L.kind == ENERGY ? L.node_strips : L.strips) * (L.padded + 1) * 16;
    blend_information(L, fit, 1.0 - share, share, means);
    const double *information = fit.average;
    int p = L.packed;
    if (fit.outgoing_unit != 1.0) {
        for (int i = threadIdx.x; i < p * p; i += blockDim.x)
            fit.scaled[i] = fit.average[i] * (unit_of(L, fit, i / p) * unit_of(L, fit, i % p));
        __syncthreads();
        information = fit.scaled;
    }
    double damping = fit.damping;
    for (int attempt = 0; attempt < 8; attempt++) {
        if (factor(L, fit, information, damping, reinterpret_cast<double *>(common))) return true;
        damping *= 10.0;
    }
    return false;
}

KERNEL(scoring, GRADIENT_THREADS) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    begin_stage(L, fit);
    Work w;
    float *common = lay_out_shared(L, fit, w);
    float *params = const_cast<float *>(w.params);
    int p = L.packed, made = 0;
    double past = L.stage_start ? 1.0 : fit.past, power = L.stage_start ? 1.0 : fit.power;
    if (L.stage_start) {
        for (int i = threadIdx.x; i < p * p; i += blockDim.x) fit.average[i] = 0.0;
        for (int i = threadIdx.x; i < p; i += blockDim.x) fit.momentum[i] = 0.0;
    }
    __syncthreads();
    spread(L, fit.theta, params);
    for (int update = L.update; update < L.update + L.updates; update++) {
        w.rows = batch_rows(L, fit, update);
        passes(L, fit, w);
        products<false>(L, fit, w, 0, w.strips, L.at_once, nullptr);
        __syncthreads();
        bool good = true;
        if (update < 20 || update % fit.refresh == 0) {
            past *= fit.memory;
            good = refresh(L, fit, w, update, past, common);
        }
        if (good) {
            double rate = fit.rates[update];
            power *= 0.9;
            for (int i = threadIdx.x; i < p; i += blockDim.x) {
                int at = L.place[i];
                double g = (double)w.grad[at] + fit.coupled_double * (double)params[at];
                double m = 0.9 * fit.momentum[i] + (1.0 - 0.9) * g;
                fit.momentum[i] = m;
                fit.direction[i] = unit_of(L, fit, i) * (m / (1.0 - power));
            }
            __syncthreads();
            solve(L, fit, fit.direction, fit.terms);
            if (threadIdx.x == 0) {
                double sum = 0.0;
                for (int i = 0; i < p; i++) sum += fit.direction[i] * fit.direction[i];
                double norm = sqrt(sum);
                bool finite = norm <= 1.7976931348623157e308;
                reinterpret_cast<double *>(common)[0] = finite ? fmin(rate, fit.step_cap / norm) : -1.0;
            }
            __syncthreads();
            double length = reinterpret_cast<double *>(common)[0];
            good = length >= 0.0;
            if (good)
                for (int i = threadIdx.x; i < p; i += blockDim.x) {
                    double old = params[L.place[i]], bound = fit.parameter_bound;
                    double moved = old - rate * fit.decoupled_double * old - length * (unit_of(L, fit, i) * fit.direction[i]);
                    if (moved < -bound) moved = -bound;
                    if (moved > bound) moved = bound;
                    params[L.place[i]] = (float)moved;
                }
            __syncthreads();
        }
        if (!good) {
            if (threadIdx.x == 0) fit.status = DIVERGED;
            break;
        }
        made++;
    }
    for (int i = threadIdx.x; i < p; i += blockDim.x) fit.theta[i] = params[L.place[i]];
    if (threadIdx.x == 0) {
        fit.made = made;
        fit.past = past;
        fit.power = power;
    }
}
#endif

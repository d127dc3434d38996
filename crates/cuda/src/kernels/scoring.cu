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
    double top = largest(values, n, terms);
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
    int chunks = (L.r + UNITS - 1) / UNITS, tiles = L.blocks * chunks, others = L.blocks + L.outputs + Q;
    for (int task = group; task < strips * tiles; task += groups) {
        int s = task / tiles, tile = task % tiles;
        unit_products<true>(L, w, tile / chunks, tile % chunks * UNITS, first + s, first + s + 1, 1, lane, fit.rows + s * lines);
    }
    for (int task = group; task < strips * others; task += groups) {
        int s = task / others;
        other_products<true>(L, w, task % others, first + s, first + s + 1, 1, lane, fit.rows + s * lines);
    }
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
    const float *rows = global_memory(fit.rows);
    double *average = global_memory(fit.average);
    int side = (p + TILE - 1) / TILE;
    for (int tile = group; tile < side * side; tile += groups) {
        int i = tile / side * TILE, j = tile % side * TILE;
        if (j < i) continue;
        float sums[TILE * TILE];
        const float *left[TILE], *right[TILE];
#pragma unroll
        for (int a = 0; a < TILE; a++) {
            left[a] = rows + (size_t)L.place[i + a < p ? i + a : i] * 16 + lane;
            right[a] = rows + (size_t)L.place[j + a < p ? j + a : j] * 16 + lane;
#pragma unroll
            for (int b = 0; b < TILE; b++) sums[a * TILE + b] = 0.0f;
        }
#pragma unroll 4
        for (int s = 0; s < strips; s++) {
            float r[TILE];
#pragma unroll
            for (int b = 0; b < TILE; b++) r[b] = right[b][s * lines];
#pragma unroll
            for (int a = 0; a < TILE; a++) {
                float l = left[a][s * lines];
#pragma unroll
                for (int b = 0; b < TILE; b++) sums[a * TILE + b] = fmaf(l, r[b], sums[a * TILE + b]);
            }
        }
        // A lane has the sum of an entry and writes it.
        float sum = sum_sixteen(sums);
        int row = i + lane / TILE, column = j + lane % TILE;
        if (row < p && column < p && column >= row) {
            double product = sum;
            if (energy) product = product - (double)means[row] * (double)means[column];
            double *to = average + (size_t)row * p + column;
            *to = keep * *to + share * product;
        }
    }
    __syncthreads();
}

__device__ __forceinline__ double unit_of(const Launch &L, const Fit &fit, int i) {
    return L.outgoing[i] ? fit.outgoing_unit : 1.0;
}

__device__ __forceinline__ int stride_of(int n) { return ((n + 7) / 8 | 1) * 8; }

#define PANEL 8

// What the threads of a block share while they factor and solve.
struct Shared {
    double triangle[PANEL * PANEL], inverse[PANEL], partial[PANEL * PANEL];
    double length;
    int good;
};

// Factors the triangle of a panel in place, a column a lane of the first sixteen threads.
__device__ __forceinline__ void factor_triangle(Shared &shared, int rows, int lane) {
    double d[PANEL];
#pragma unroll
    for (int k = 0; k < PANEL; k++) d[k] = lane < PANEL ? shared.triangle[k * PANEL + lane] : 0.0;
    bool good = true;
#pragma unroll
    for (int k = 0; k < PANEL; k++) {
        if (k >= rows) break;
        double pivot = sqrt(from_lane(d[k], k));
        double inverse = 1.0 / pivot;
        good = good && inverse > 0.0 && inverse <= 1.7976931348623157e308;
        d[k] = lane == k ? pivot : d[k] * inverse;
        if (lane == k) shared.inverse[k] = inverse;
#pragma unroll
        for (int r = k + 1; r < PANEL; r++) d[r] = fma(-from_lane(d[k], r), d[k], d[r]);
    }
#pragma unroll
    for (int k = 0; k < PANEL; k++)
        if (lane < PANEL) shared.triangle[k * PANEL + lane] = d[k];
    if (lane == 0) shared.good = good;
}

// U with U^T U = A + damping I, a panel of rows at a time; every entry takes off the rows above in ascending order. False
// if A is not positive definite.
__device__ bool factor(const Launch &L, const Fit &fit, const double *a, double damping, Shared &shared) {
    int n = L.packed, stride = stride_of(n);
    double *u = global_memory(fit.factor);
    for (int first = 0; first < n; first += PANEL) {
        int rows = n - first < PANEL ? n - first : PANEL;
        for (int base = first; base < stride; base += blockDim.x) {
            int j = base + threadIdx.x;
            double s[PANEL];
#pragma unroll
            for (int k = 0; k < PANEL; k++) {
                s[k] = k < rows && j < n && j >= first + k ? a[(size_t)(first + k) * n + j] : 0.0;
                if (j == first + k) s[k] += damping;
            }
            if (j < n) {
#pragma unroll 2
                for (int i = 0; i < first; i++) {
                    const double *row = u + (size_t)i * stride;
                    double own = row[j];
#pragma unroll
                    for (int k = 0; k < PANEL; k++) s[k] = fma(-row[first + k], own, s[k]);
                }
            }
            if (base == first) {
                if (threadIdx.x < PANEL)
#pragma unroll
                    for (int k = 0; k < PANEL; k++) shared.triangle[k * PANEL + threadIdx.x] = s[k];
                __syncthreads();
                if (threadIdx.x < 16) factor_triangle(shared, rows, threadIdx.x);
                __syncthreads();
                if (!shared.good) return false;
                if (threadIdx.x < rows) fit.inverse[first + threadIdx.x] = shared.inverse[threadIdx.x];
            }
#pragma unroll
            for (int k = 0; k < PANEL; k++) {
                if (k >= rows) break;
                s[k] = j == first + k ? shared.triangle[k * PANEL + k] : s[k] * shared.inverse[k];
                if (j >= first + k && j < stride) u[(size_t)(first + k) * stride + j] = j < n ? s[k] : 0.0;
#pragma unroll
                for (int r = k + 1; r < PANEL; r++) s[r] = fma(-shared.triangle[k * PANEL + r], s[k], s[r]);
            }
        }
        __syncthreads();
    }
    return true;
}

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

// Takes a batch into the average information and factors it; false if that is hopeless.
__device__ bool refresh(const Launch &L, Fit &fit, const Work &w, int step, double past, Shared &shared) {
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
        if (factor(L, fit, information, damping, shared)) return true;
        __syncthreads();
        damping *= 10.0;
    }
    return false;
}

KERNEL(scoring, GRADIENT_THREADS) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    begin_stage(L, fit);
    Work w;
    float *rest = lay_out_shared(L, fit, w);
#if SHARED_STATES
    rest = w.x + (size_t)w.strips * L.d * 16;
#endif
    Shared &shared = *reinterpret_cast<Shared *>(rest);
    double *direction = reinterpret_cast<double *>(rest) + sizeof(Shared) / 8;
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
        products(L, w);
        __syncthreads();
        bool good = true;
        if (update < 20 || update % fit.refresh == 0) {
            past *= fit.memory;
            good = refresh(L, fit, w, update, past, shared);
        }
        if (good) {
            double rate = fit.rates[update];
            power *= 0.9;
            for (int i = threadIdx.x; i < p; i += blockDim.x) {
                int at = L.place[i];
                double g = (double)w.grad[at] + fit.coupled_double * (double)params[at];
                double m = 0.9 * fit.momentum[i] + (1.0 - 0.9) * g;
                fit.momentum[i] = m;
                direction[i] = unit_of(L, fit, i) * (m / (1.0 - power));
            }
            __syncthreads();
            solve(L, fit, direction, shared);
            if (threadIdx.x == 0) {
                double sum = 0.0;
#pragma unroll 8
                for (int i = 0; i < p; i++) sum += direction[i] * direction[i];
                double norm = sqrt(sum);
                bool finite = norm <= 1.7976931348623157e308;
                shared.length = finite ? fmin(rate, fit.step_cap / norm) : -1.0;
            }
            __syncthreads();
            double length = shared.length;
            good = length >= 0.0;
            if (good)
                for (int i = threadIdx.x; i < p; i += blockDim.x) {
                    double old = params[L.place[i]], bound = fit.parameter_bound;
                    double moved = old - rate * fit.decoupled_double * old - length * (unit_of(L, fit, i) * direction[i]);
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

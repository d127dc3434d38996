// The gradient of a batch, a block of threads a fit: sixteen lanes in several groups. A group takes strips in turn for
// the passes forward and back, and hidden units for the products; the sum of a weight over (iteration, strip) is one
// thread's in every lane, so that the order of sums is the processor's.

// Where the numbers of a batch lie.
struct Work {
    const float *params;  // padded coefficients
    float *grad;          // their gradient
    float *z, *g;         // states z_t and gradients g_t: [t][strip][k][lane]
    float *out, *g_out;   // [strip][c][lane]
    float *x;             // inputs: [strip][i][lane]
    const uint32_t *rows; // sample numbers of the batch
    int strips;           // with those of an energy model's nodes
};

__device__ __forceinline__ size_t state_at(const Work &w, int t, int strip) {
    return ((size_t)t * w.strips + strip) * STATE;
}

// Floats of the scratch memory of a fit.
__device__ __forceinline__ void lay_out(const Launch &L, float *scratch, Work &w) {
    w.strips = L.strips + L.node_strips;
    size_t states = (size_t)(L.iterations + 1) * w.strips * STATE;
    w.z = scratch;
    w.g = w.z + states;
    w.out = w.g + states;
    w.g_out = w.out + (size_t)w.strips * L.outputs * 16;
    w.x = w.g_out + (size_t)w.strips * L.outputs * 16;
}

// The inputs of a lane's sample in a strip. Lanes beyond the last sample repeat the strip's first.
__device__ __forceinline__ const float *inputs_of(const Launch &L, const Fit &fit, const Work &w, int strip, int lane) {
    if (strip < L.strips) {
        int i = strip * 16 + lane;
        uint32_t row = w.rows[i < L.batch ? i : strip * 16];
        return fit.x + (size_t)row * L.d;
    }
    int first = (strip - L.strips) * 16, i = first + lane;
    return L.node_x + (size_t)(i < L.nodes ? i : first) * L.d;
}

// Forward through all iterations, M strips of a group at once; states are kept.
template <int M>
__device__ __forceinline__ void forward_strips(const Launch &L, const Fit &fit, const Work &w, int strip, int step, int lane) {
    const float *x[M];
    float *keep[M], z[M][Q];
#pragma unroll
    for (int m = 0; m < M; m++) {
        x[m] = inputs_of(L, fit, w, strip + m * step, lane);
        keep[m] = w.x + (size_t)(strip + m * step) * L.d * 16 + lane;
    }
    input_rows<M, true>(L, w.params, x, keep, z);
    for (int t = 0; t <= L.iterations; t++) {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int k = 0; k < Q; k++) w.z[state_at(w, t, strip + m * step) + k * 16 + lane] = z[m][k];
        if (t < L.iterations) {
            int block = block_at(L, t);
            block_forward<M>(units_of(L, w.params, block), b2_of(L, w.params, block), L.r, z);
        }
    }
#pragma unroll
    for (int m = 0; m < M; m++)
        for (int c = 0; c < L.outputs; c++)
            w.out[((size_t)(strip + m * step) * L.outputs + c) * 16 + lane] = output_row(L, w.params, c, z[m]);
}

#if PART_ADAM || PART_SCORING
// Back from g_out through all iterations, M strips of a group at once; gradients of states are kept.
template <int M>
__device__ __forceinline__ void backward_strips(const Launch &L, const Work &w, int strip, int step, int lane) {
    float g[M][Q];
#pragma unroll
    for (int m = 0; m < M; m++) {
        int at = strip + m * step;
        output_backward(L, w.params, w.g_out + (size_t)at * L.outputs * 16 + lane, g[m]);
    }
    for (int t = L.iterations; t >= 0; t--) {
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int k = 0; k < Q; k++) w.g[state_at(w, t, strip + m * step) + k * 16 + lane] = g[m][k];
        if (t == 0) break;
        float z[M][Q];
#pragma unroll
        for (int m = 0; m < M; m++)
#pragma unroll
            for (int k = 0; k < Q; k++) z[m][k] = w.z[state_at(w, t - 1, strip + m * step) + k * 16 + lane];
        block_backward<M>(units_of(L, w.params, block_at(L, t - 1)), L.r, z, g);
    }
}

// Sums of the gradients of UNITS hidden units, lane by lane.
struct UnitSums {
    float w1[UNITS][Q], b1[UNITS], w2[UNITS][Q];
};

// Number i of a unit's sums.
__device__ __forceinline__ float unit_sum(const UnitSums &sums, int i) {
    int j = i / (2 * Q + 1), k = i % (2 * Q + 1);
    return k < Q ? sums.w1[j][k < Q ? k : 0] : k == Q ? sums.b1[j] : sums.w2[j][k > Q ? k - Q - 1 : 0];
}

// One iteration of M strips added to the sums of `count` units.
template <int M>
__device__ __forceinline__ void add_products(const float *units, int count, const float *z_at, const float *g_at, UnitSums &sums) {
    float z[M][Q], g[M][Q];
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < Q; k++) {
            z[m][k] = z_at[m * STATE + k * 16];
            g[m][k] = g_at[m * STATE + k * 16];
        }
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        if (i >= count) break;
        float unit[UNIT];
        read_unit(units + i * UNIT, unit);
#pragma unroll
        for (int m = 0; m < M; m++) {
            float u = unit[Q], slope;
#pragma unroll
            for (int k = 0; k < Q; k++) u = fmaf(unit[k], z[m][k], u);
            float h = activate(u, &slope);
            float a = unit[Q + 1] * g[m][0];
#pragma unroll
            for (int k = 1; k < Q; k++) a = fmaf(unit[Q + 1 + k], g[m][k], a);
            a = through_activation(a, h, slope);
            sums.b1[i] = sums.b1[i] + a;
#pragma unroll
            for (int k = 0; k < Q; k++) {
                sums.w1[i][k] = fmaf(a, z[m][k], sums.w1[i][k]);
                sums.w2[i][k] = fmaf(h, g[m][k], sums.w2[i][k]);
            }
        }
    }
}

// The gradient's products of up to UNITS hidden units from unit j of a block on, over the strips `from..to` in groups of
// `at_once`. Sums of lanes: to `grad`; with PER_STRIP, one strip's lines to `rows`.
template <bool PER_STRIP>
__device__ __forceinline__ void unit_products(const Launch &L, const Work &w, int block, int j, int from, int to, int at_once,
                                              int lane, float *rows) {
    int count = L.r - j < UNITS ? L.r - j : UNITS;
    const float *units = units_of(L, w.params, block) + j * UNIT;
    UnitSums sums;
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        sums.b1[i] = 0.0f;
#pragma unroll
        for (int k = 0; k < Q; k++) sums.w1[i][k] = sums.w2[i][k] = 0.0f;
    }
    int t_first = L.blocks == 1 ? L.iterations - 1 : block, t_last = L.blocks == 1 ? 0 : block;
    for (int start = from; start < to; start += at_once) {
        int end = start + at_once < to ? start + at_once : to;
        for (int t = t_first; t >= t_last; t--) {
            const float *z = w.z + state_at(w, t, start) + lane, *g = w.g + state_at(w, t + 1, start) + lane;
            int left = end - start;
            for (; left >= 2; left -= 2, z += 2 * STATE, g += 2 * STATE) add_products<2>(units, count, z, g, sums);
            if (left > 0) add_products<1>(units, count, z, g, sums);
        }
    }
    int at = L.input_len + block * L.block_len + j * UNIT;
    if (PER_STRIP) {
#pragma unroll
        for (int i = 0; i < UNITS * (2 * Q + 1); i++) {
            if (i / (2 * Q + 1) >= count) break;
            rows[(size_t)(at + i / (2 * Q + 1) * UNIT + i % (2 * Q + 1)) * 16 + lane] = unit_sum(sums, i);
        }
        return;
    }
#pragma unroll
    for (int first = 0; first < UNITS * (2 * Q + 1); first += 16) {
        float sixteen[16];
#pragma unroll
        for (int i = 0; i < 16; i++) sixteen[i] = first + i < UNITS * (2 * Q + 1) ? unit_sum(sums, first + i) : 0.0f;
        float sum = sum_sixteen(sixteen);
        int unit = (first + lane) / (2 * Q + 1);
        if (unit < count) w.grad[at + unit * UNIT + (first + lane) % (2 * Q + 1)] = sum;
    }
}

// What is not a hidden unit's: b2 of each block, rows of the output function, rows of the input function.
template <bool PER_STRIP>
__device__ __forceinline__ void other_products(const Launch &L, const Work &w, int task, int from, int to,
                                               int at_once, int lane, float *rows) {
    if (task < L.blocks) {
        int t_first = L.blocks == 1 ? L.iterations - 1 : task, t_last = L.blocks == 1 ? 0 : task;
        float b2[Q];
#pragma unroll
        for (int k = 0; k < Q; k++) b2[k] = 0.0f;
        for (int start = from; start < to; start += at_once) {
            int end = start + at_once < to ? start + at_once : to;
            for (int t = t_first; t >= t_last; t--)
#pragma unroll 4
                for (int strip = start; strip < end; strip++)
#pragma unroll
                    for (int k = 0; k < Q; k++) b2[k] = b2[k] + w.g[state_at(w, t + 1, strip) + k * 16 + lane];
        }
        int at = L.input_len + task * L.block_len + L.r * UNIT;
#pragma unroll
        for (int k = 0; k < Q; k++) {
            if (PER_STRIP) {
                rows[(size_t)(at + k) * 16 + lane] = b2[k];
            } else {
                float sum = sum_lanes(b2[k]);
                if (lane == 0) w.grad[at + k] = sum;
            }
        }
        return;
    }
    task -= L.blocks;
    bool output = task < L.outputs;
    int row = output ? task : task - L.outputs, width = output ? Q : L.d;
    int at = output ? output_at(L) + row * (Q + 1) : row * (L.d + 1);
    const float *left = output ? w.g_out + row * 16 + lane : w.g + row * 16 + lane;
    const float *right = output ? w.z + state_at(w, L.iterations, 0) + lane : w.x + lane;
    size_t left_step = output ? (size_t)L.outputs * 16 : STATE, right_step = output ? STATE : (size_t)L.d * 16;
    for (int i = 0; i <= width; i++) {
        float sum = 0.0f;
#pragma unroll 4
        for (int strip = from; strip < to; strip++) {
            float own = left[strip * left_step];
            sum = i < width ? fmaf(own, right[strip * right_step + i * 16], sum) : sum + own;
        }
        if (PER_STRIP) {
            rows[(size_t)(at + i) * 16 + lane] = sum;
        } else {
            sum = sum_lanes(sum);
            if (lane == 0) w.grad[at + i] = sum;
        }
    }
}

// All products: hidden units first, then the rest, one task after the other to the groups.
__device__ __forceinline__ void products(const Launch &L, const Work &w) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    int chunks = (L.r + UNITS - 1) / UNITS, tiles = L.blocks * chunks;
    for (int tile = group; tile < tiles; tile += groups)
        unit_products<false>(L, w, tile / chunks, tile % chunks * UNITS, 0, w.strips, L.at_once, lane, nullptr);
    // The groups with fewer units begin.
    int others = L.blocks + L.outputs + Q;
    for (int task = (group + groups - tiles % groups) % groups; task < others; task += groups)
        other_products<false>(L, w, task, 0, w.strips, L.at_once, lane, nullptr);
}
#endif

// Derivatives of an energy model in the outputs at data and nodes: one group's work, since the normaliser needs all.
__device__ void energy_derivative(const Launch &L, const Fit &fit, const Work &w, int lane) {
    float bound = fit.output_bound;
    for (int strip = 0; strip < L.strips; strip++) {
        float weight = strip * 16 + lane < L.batch ? fit.weight : 0.0f;
        w.g_out[strip * 16 + lane] = through_clip(w.out[strip * 16 + lane], bound, -1.0f * weight);
    }
    const float *f = w.out + (size_t)L.strips * 16 + lane;
    float *g = w.g_out + (size_t)L.strips * 16 + lane;
    float top = -INFINITY;
    for (int line = 0; line < L.node_strips; line++) {
        float v = line * 16 + lane < L.nodes ? clip(f[line * 16], bound) : -INFINITY;
        top = greater(v, top);
    }
    top = top_lanes(top);
    float total = 0.0f;
    for (int line = 0; line < L.node_strips; line++) {
        float e = line * 16 + lane < L.nodes ? exp_lane(clip(f[line * 16], bound) - top) : 0.0f;
        total = total + e;
        g[line * 16] = e;
    }
    float scale = 1.0f / sum_lanes(total);
    for (int line = 0; line < L.node_strips; line++)
        g[line * 16] = through_clip(f[line * 16], bound, g[line * 16] * scale);
}

#if PART_ADAM || PART_SCORING
// Forward, derivatives and back for all strips of all groups; every thread sees the result.
__device__ __forceinline__ void passes(const Launch &L, const Fit &fit, const Work &w) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    bool coupled = L.kind == ENERGY;
    int strip = group;
    for (; strip + groups < w.strips; strip += 2 * groups) forward_strips<2>(L, fit, w, strip, groups, lane);
    for (; strip < w.strips; strip += groups) forward_strips<1>(L, fit, w, strip, groups, lane);
    if (coupled) {
        __syncthreads();
        if (group == 0) energy_derivative(L, fit, w, lane);
        __syncthreads();
    } else {
        for (strip = group; strip < w.strips; strip += groups) {
            int i = strip * 16 + lane;
            bool own = i < L.batch;
            size_t at = (size_t)strip * L.outputs * 16 + lane;
            derivative_row(L, fit, fit.y[w.rows[own ? i : strip * 16]], own ? fit.weight : 0.0f, w.out + at, w.g_out + at);
        }
    }
    strip = group;
    for (; strip + groups < w.strips; strip += 2 * groups) backward_strips<2>(L, w, strip, groups, lane);
    for (; strip < w.strips; strip += groups) backward_strips<1>(L, w, strip, groups, lane);
    __syncthreads();
}
#endif

// The sample numbers of an update's batch.
__device__ __forceinline__ const uint32_t *batch_rows(const Launch &L, const Fit &fit, int update) {
    int in_epoch = fit.n / L.batch;
    return order_of(L, fit, update / in_epoch) + (size_t)(update % in_epoch) * L.batch;
}

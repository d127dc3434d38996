// The gradient of a batch, a block of threads a fit: sixteen lanes in several groups. A group takes strips in turn for
// the passes forward and back, and hidden units for the products; the sum of a weight over (iteration, strip) is one
// thread's in every lane, so that the order of sums is the processor's.

// Where the numbers of a batch lie.
struct Work {
    const float *params;  // padded coefficients
    float *grad;          // their gradient
    float *z, *g;         // states z_t and gradients g_t: [t][strip][lane][k]
    float *coming;        // this group's states on their way
    float *out, *g_out;   // [strip][c][lane]
    float *x;             // inputs: [strip][i][lane]
    const uint32_t *rows; // sample numbers of the batch
    int strips;           // with those of an energy model's nodes
};

__device__ __forceinline__ size_t state_at(const Work &w, int t, int strip) {
    return ((size_t)t * w.strips + strip) * LINE;
}

// Floats of the scratch memory of a fit.
__device__ __forceinline__ void lay_out(const Launch &L, float *scratch, Work &w) {
    w.strips = L.strips + L.node_strips;
    size_t states = (size_t)(L.iterations + 1) * w.strips * LINE;
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
        return fit.x + (size_t)row * row_len(L);
    }
    int first = (strip - L.strips) * 16, i = first + lane;
    return L.node_x + (size_t)(i < L.nodes ? i : first) * row_len(L);
}

#if PART_ADAM || PART_SCORING
// The strips of a group that go together, STRIPS of them in steps of `step`: a hidden unit is read once for all. Beyond the
// last strip the first is made again.
__device__ __forceinline__ int together(const Work &w, int strip, int step, int m) {
    return strip + m * step < w.strips ? strip + m * step : strip;
}

// Forward through all iterations; states are kept.
__device__ __forceinline__ void forward_strips(const Launch &L, const Fit &fit, const Work &w, int strip, int step, int lane) {
    const float *x[STRIPS];
    float *keep[STRIPS], z[STRIPS][Q];
    int at[STRIPS];
#pragma unroll
    for (int m = 0; m < STRIPS; m++) {
        at[m] = together(w, strip, step, m);
        x[m] = inputs_of(L, fit, w, at[m], lane);
        keep[m] = w.x + (size_t)at[m] * L.d * 16 + lane;
    }
    input_rows<STRIPS, true>(L, w.params, x, keep, z);
    for (int t = 0; t <= L.iterations; t++) {
#pragma unroll
        for (int m = 0; m < STRIPS; m++) write_state(w.z + state_at(w, t, at[m]) + lane * WIDE, z[m]);
        if (t < L.iterations) {
            int block = block_at(L, t);
            block_forward<STRIPS>(units_of(L, w.params, block), b2_of(L, w.params, block), L.r, z);
        }
    }
#pragma unroll 1
    for (int c = 0; c < L.outputs; c++)
#pragma unroll
        for (int m = 0; m < STRIPS; m++)
            w.out[((size_t)at[m] * L.outputs + c) * 16 + lane] = output_row(L, w.params, c, z[m]);
}

// Back from g_out through all iterations; gradients of states are kept.
__device__ __forceinline__ void backward_strips(const Launch &L, const Work &w, int strip, int step, int lane) {
    const float *g_out[STRIPS];
    float g[STRIPS][Q];
    int at[STRIPS];
#pragma unroll
    for (int m = 0; m < STRIPS; m++) {
        at[m] = together(w, strip, step, m);
        g_out[m] = w.g_out + (size_t)at[m] * L.outputs * 16 + lane;
    }
    output_backward<STRIPS>(L, w.params, g_out, g);
    for (int t = L.iterations; t >= 0; t--) {
#pragma unroll
        for (int m = 0; m < STRIPS; m++) write_state(w.g + state_at(w, t, at[m]) + lane * WIDE, g[m]);
        if (t == 0) break;
        float z[STRIPS][Q];
#pragma unroll
        for (int m = 0; m < STRIPS; m++) read_state(w.z + state_at(w, t - 1, at[m]) + lane * WIDE, z[m]);
        block_backward<STRIPS>(units_of(L, w.params, block_at(L, t - 1)), L.r, z, g);
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

// One iteration of PRODUCTS strips added to the sums of `count` units.
__device__ __forceinline__ void add_products(const float *units, int count, const float (*z)[Q], const float (*g)[Q], UnitSums &sums) {
    float coming[UNIT];
    read_unit(units, coming);
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        if (i >= count) break;
        float unit[UNIT];
#pragma unroll
        for (int k = 0; k < UNIT; k++) unit[k] = coming[k];
        if (i + 1 < UNITS) read_unit(units + (i + 1) * UNIT, coming);
#pragma unroll
        for (int m = 0; m < PRODUCTS; m++) {
            float u = unit[Q], h;
#pragma unroll
            for (int k = 0; k < Q; k++) u = fmaf(unit[k], z[m][k], u);
            float a = unit[Q + 1] * g[m][0];
#pragma unroll
            for (int k = 1; k < Q; k++) a = fmaf(unit[Q + 1 + k], g[m][k], a);
            a = activate_back(u, a, &h);
            sums.b1[i] = sums.b1[i] + a;
#pragma unroll
            for (int k = 0; k < Q; k++) {
                sums.w1[i][k] = fmaf(a, z[m][k], sums.w1[i][k]);
                sums.w2[i][k] = fmaf(h, g[m][k], sums.w2[i][k]);
            }
        }
    }
}

// Where the products are: strips from `strip` on of those before `end`, of an iteration.
struct Place {
    int start, end, t, strip;
};

#if STRIPS > 1
// Starts to bring a lane's states and their gradients; for a strip that is missing the one before it again.
__device__ __forceinline__ void fetch_states(const Work &w, const Place &p, float *to, int lane) {
    const float *z = w.z + state_at(w, p.t, p.strip) + lane * WIDE, *g = w.g + state_at(w, p.t + 1, p.strip) + lane * WIDE;
    to += lane * WIDE;
#pragma unroll
    for (int m = 0; m < PRODUCTS; m++) {
        int from = p.strip + m < p.end ? m * LINE : 0;
#pragma unroll
        for (int i = 0; i < WIDE; i += VECTOR) {
            async_copy<VECTOR>(to + m * LINE + i, z + from + i);
            async_copy<VECTOR>(to + (PRODUCTS + m) * LINE + i, g + from + i);
        }
    }
    async_group();
}
#endif

// The gradient's products of a tile of hidden units, from unit j of a block on, over the strips `from..to` in groups of
// `at_once`. Sums of lanes: to `grad`; or one strip's lines to `rows`.
__device__ __forceinline__ void unit_products(const Launch &L, const Work &w, int block, int j, int from, int to, int at_once,
                                              int lane, float *rows) {
    int count = L.r - j < L.units ? L.r - j : L.units;
    const float *units = units_of(L, w.params, block) + j * UNIT;
    UnitSums sums;
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        sums.b1[i] = 0.0f;
#pragma unroll
        for (int k = 0; k < Q; k++) sums.w1[i][k] = sums.w2[i][k] = 0.0f;
    }
    int t_first = L.blocks == 1 ? L.iterations - 1 : block, t_last = L.blocks == 1 ? 0 : block;
    Place now = {from, from + at_once < to ? from + at_once : to, t_first, from};
#if STRIPS > 1
    // The states of the next strips are on their way while these are taken.
    float *near = w.coming;
    fetch_states(w, now, near, lane);
#endif
    while (now.start < to) {
        Place next = now;
        next.strip += PRODUCTS;
        if (next.strip >= next.end) {
            next.t--;
            if (next.t < t_last) {
                next.t = t_first;
                next.start = next.end;
                next.end = next.start + at_once < to ? next.start + at_once : to;
            }
            next.strip = next.start;
        }
        float z[PRODUCTS][Q], g[PRODUCTS][Q];
#if STRIPS > 1
        float *other = w.coming + (near == w.coming ? 2 * PRODUCTS * LINE : 0);
        // Nothing is under way at the end: copies to one place are in no order.
        if (next.start < to)
            fetch_states(w, next, other, lane);
        else
            async_group();
        async_wait<1>();
        const float *z_at = near + lane * WIDE, *g_at = z_at + PRODUCTS * LINE;
        near = other;
#else
        const float *z_at = w.z + state_at(w, now.t, now.strip) + lane * WIDE;
        const float *g_at = w.g + state_at(w, now.t + 1, now.strip) + lane * WIDE;
#endif
#pragma unroll
        for (int m = 0; m < PRODUCTS; m++) {
            read_state(z_at + m * LINE, z[m]);
            read_state(g_at + m * LINE, g[m]);
            // A strip that is missing has no gradient, and adds zeros.
            if (now.strip + m >= now.end)
#pragma unroll
                for (int k = 0; k < Q; k++) g[m][k] = 0.0f;
        }
        add_products(units, count, z, g, sums);
        now = next;
    }
    int at = L.input_len + block * L.block_len + j * UNIT;
    if (rows != nullptr) {
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

// b2 of a block.
__device__ __forceinline__ void bias_products(const Launch &L, const Work &w, int block, int from, int to, int at_once, int lane,
                                              float *rows) {
    int t_first = L.blocks == 1 ? L.iterations - 1 : block, t_last = L.blocks == 1 ? 0 : block;
    float b2[Q];
#pragma unroll
    for (int k = 0; k < Q; k++) b2[k] = 0.0f;
    for (int start = from; start < to; start += at_once) {
        int end = start + at_once < to ? start + at_once : to;
        for (int t = t_first; t >= t_last; t--)
#pragma unroll 2
            for (int strip = start; strip < end; strip++) {
                float g[Q];
                read_state(w.g + state_at(w, t + 1, strip) + lane * WIDE, g);
#pragma unroll
                for (int k = 0; k < Q; k++) b2[k] = b2[k] + g[k];
            }
    }
    int at = L.input_len + block * L.block_len + L.r * UNIT;
#pragma unroll
    for (int k = 0; k < Q; k++) {
        if (rows != nullptr) {
            rows[(size_t)(at + k) * 16 + lane] = b2[k];
        } else {
            float sum = sum_lanes(b2[k]);
            if (lane == 0) w.grad[at + k] = sum;
        }
    }
}

// A row of the output function and its bias.
__device__ __forceinline__ void output_products(const Launch &L, const Work &w, int c, int from, int to, int lane, float *rows) {
    float row[Q], bias = 0.0f;
#pragma unroll
    for (int k = 0; k < Q; k++) row[k] = 0.0f;
#pragma unroll 2
    for (int strip = from; strip < to; strip++) {
        float left = w.g_out[((size_t)strip * L.outputs + c) * 16 + lane];
        float z[Q];
        read_state(w.z + state_at(w, L.iterations, strip) + lane * WIDE, z);
        bias = bias + left;
#pragma unroll
        for (int k = 0; k < Q; k++) row[k] = fmaf(left, z[k], row[k]);
    }
    int at = output_at(L) + c * (Q + 1);
    if (rows == nullptr) {
        finish_row(row, bias, w.grad + at, lane);
        return;
    }
#pragma unroll
    for (int k = 0; k < Q; k++) rows[(size_t)(at + k) * 16 + lane] = row[k];
    rows[(size_t)(at + Q) * 16 + lane] = bias;
}

// Columns of the input function from `first` on; the bias is the weight of a one.
__device__ __forceinline__ void input_products(const Launch &L, const Work &w, int first, int from, int to, int lane, float *rows) {
    float sums[16];
#pragma unroll
    for (int i = 0; i < 16; i++) sums[i] = 0.0f;
#pragma unroll 2
    for (int strip = from; strip < to; strip++) {
        const float *x = w.x + ((size_t)strip * L.d + first) * 16 + lane;
        float g[Q];
        read_state(w.g + state_at(w, 0, strip) + lane * WIDE, g);
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            float right = first + c < L.d ? x[c * 16] : 1.0f;
#pragma unroll
            for (int k = 0; k < Q; k++) sums[c * Q + k] = fmaf(g[k], right, sums[c * Q + k]);
        }
    }
    if (rows == nullptr) {
        float sum = sum_sixteen(sums);
        int i = first + lane / Q;
        if (lane < COLUMNS * Q && i <= L.d) w.grad[lane % Q * (L.d + 1) + i] = sum;
        return;
    }
#pragma unroll
    for (int i = 0; i < COLUMNS * Q; i++)
        if (first + i / Q <= L.d) rows[(size_t)(i % Q * (L.d + 1) + first + i / Q) * 16 + lane] = sums[i];
}

// Tasks that are not hidden units.
__device__ __forceinline__ int others(const Launch &L) { return L.blocks + L.outputs + (L.d + COLUMNS) / COLUMNS; }

__device__ __forceinline__ void other_products(const Launch &L, const Work &w, int task, int from, int to, int at_once, int lane,
                                               float *rows) {
    if (task < L.blocks)
        bias_products(L, w, task, from, to, at_once, lane, rows);
    else if (task < L.blocks + L.outputs)
        output_products(L, w, task - L.blocks, from, to, lane, rows);
    else
        input_products(L, w, (task - L.blocks - L.outputs) * COLUMNS, from, to, lane, rows);
}
#endif

// Derivatives of an energy model in the outputs at data and nodes: one group's work, since the normaliser needs all.
__device__ void energy_derivative(const Launch &L, const Fit &fit, const Work &w, int lane) {
    float bound = fit.output_bound;
#pragma unroll 2
    for (int strip = 0; strip < L.strips; strip++) {
        float weight = strip * 16 + lane < L.batch ? fit.weight : 0.0f;
        w.g_out[strip * 16 + lane] = through_clip(w.out[strip * 16 + lane], bound, -1.0f * weight);
    }
    const float *f = w.out + (size_t)L.strips * 16 + lane;
    float *g = w.g_out + (size_t)L.strips * 16 + lane;
    float top = -INFINITY;
#pragma unroll 2
    for (int line = 0; line < L.node_strips; line++) {
        float v = line * 16 + lane < L.nodes ? clip(f[line * 16], bound) : -INFINITY;
        top = greater(v, top);
    }
    top = top_lanes(top);
    float total = 0.0f;
#pragma unroll 2
    for (int line = 0; line < L.node_strips; line++) {
        float e = line * 16 + lane < L.nodes ? exp_lane(clip(f[line * 16], bound) - top) : 0.0f;
        total = total + e;
        g[line * 16] = e;
    }
    float scale = 1.0f / sum_lanes(total);
#pragma unroll 2
    for (int line = 0; line < L.node_strips; line++)
        g[line * 16] = through_clip(f[line * 16], bound, g[line * 16] * scale);
}

#if PART_ADAM || PART_SCORING
// Forward and derivatives for all strips of all groups.
__device__ __forceinline__ void forward_pass(const Launch &L, const Fit &fit, const Work &w) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    for (int strip = group; strip < w.strips; strip += STRIPS * groups) forward_strips(L, fit, w, strip, groups, lane);
    if (L.kind == ENERGY) {
        __syncthreads();
        if (group == 0) energy_derivative(L, fit, w, lane);
        __syncthreads();
    } else {
        for (int strip = group; strip < w.strips; strip += groups) {
            int i = strip * 16 + lane;
            bool own = i < L.batch;
            size_t at = (size_t)strip * L.outputs * 16 + lane;
            derivative_row(L, fit, fit.y[w.rows[own ? i : strip * 16]], own ? fit.weight : 0.0f, w.out + at, w.g_out + at);
        }
    }
}

// Back from the derivatives, and all products: hidden units first, then the rest, one task after the other to the groups. Their
// sums are the gradient; or those of each strip are lines of an information, [strip][padded word][lane], of the batch, or of an
// energy model's nodes.
__device__ __forceinline__ void back_pass(const Launch &L, const Fit &fit, const Work &w, bool lined) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    int first = lined && L.kind == ENERGY ? L.strips : 0, strips = (lined && L.kind != ENERGY ? L.strips : w.strips) - first;
    for (int s = group; s < strips; s += STRIPS * groups) backward_strips(L, w, first + s, groups, lane);
    __syncthreads();
    int chunks = (L.r + L.units - 1) / L.units, tiles = L.blocks * chunks;
    int times = lined ? strips : 1, many = lined ? 1 : strips, at_once = lined ? 1 : L.at_once;
    size_t lines = (size_t)(L.padded + 1) * 16;
    for (int task = group; task < times * tiles; task += groups) {
        int s = task / tiles, tile = task % tiles, from = first + s;
        unit_products(L, w, tile / chunks, tile % chunks * L.units, from, from + many, at_once, lane,
                      lined ? fit.rows + s * lines : nullptr);
    }
    // The groups with fewer units begin.
    int rest = others(L);
    for (int task = (group + groups - times * tiles % groups) % groups; task < times * rest; task += groups) {
        int s = task / rest, from = first + s;
        other_products(L, w, task % rest, from, from + many, at_once, lane, lined ? fit.rows + s * lines : nullptr);
    }
    __syncthreads();
}
#endif

// The sample numbers of an update's batch.
__device__ __forceinline__ const uint32_t *batch_rows(const Launch &L, const Fit &fit, int update) {
    int in_epoch = fit.n / L.batch;
    return order_of(L, fit, update / in_epoch) + (size_t)(update % in_epoch) * L.batch;
}

// The gradient of a batch with half a warp a fit: a thread is a lane and takes its strips in turn. Weight gradients stay in
// registers over all iterations, and the products use what the backward pass has at hand; nothing passes between threads until
// the last sum over lanes. For many fits at once of networks whose hidden units fit the registers.
#if PART_FUSED

// Numbers of one block's gradient.
#define NUMBERS (UNITS * (2 * Q + 1) + Q)

// What half a warp has at hand, in shared memory but for the states. Places are the launch's, so that they cost no
// registers. Inputs, targets and sample numbers are each thread's own: nobody else reads them.
struct Own {
    float *params;  // coefficients, and all that follows them
    float *z;       // states: [t][strip][lane][k]

    float *grad(const Launch &L) const { return params + L.half.grad; }
#if SCORING
    double *momentum(const Launch &L) const { return reinterpret_cast<double *>(params + L.half.momentum); }
#endif
    // Gradients of states, and zeros for one more strip where some goes back alone: [strip][lane][k].
    float *g(const Launch &L) const { return params + L.half.g; }
    // Targets: [strip][lane].
    float *y(const Launch &L) const { return params + L.half.y; }
    // Outputs and their gradients, where there are several, a normaliser or scoring: [strip][c][lane].
    float *out(const Launch &L) const { return params + L.half.out; }
    float *g_out(const Launch &L) const { return params + L.half.g_out; }
    // States on their way: [2][BACK][lane][k]. Where they were come sample numbers of the next batch, [strip][lane], and after
    // those Adam's moments, or in their place the direction of scoring.
    float *coming(const Launch &L) const { return params + L.half.coming; }
    uint32_t *rows(const Launch &L) const { return reinterpret_cast<uint32_t *>(coming(L)); }
    float *m(const Launch &L) const { return coming(L) + L.strips * 16; }
    float *v(const Launch &L) const { return m(L) + L.packed; }
    double *direction(const Launch &L) const { return reinterpret_cast<double *>(coming(L)); }
    // Inputs: [strip][i][lane].
    float *x(const Launch &L) const {
#if SHARED_INPUTS
        return params + L.half.x;
#else
        return z + L.half.x;
#endif
    }
};

// Gradients of one block's coefficients, lane by lane.
struct Sums {
    float w1[UNITS][Q], b1[UNITS], w2[UNITS][Q], b2[Q];
};

__device__ __forceinline__ void clear(Sums &sums) {
#pragma unroll
    for (int j = 0; j < UNITS; j++) {
        sums.b1[j] = 0.0f;
#pragma unroll
        for (int k = 0; k < Q; k++) sums.w1[j][k] = sums.w2[j][k] = 0.0f;
    }
#pragma unroll
    for (int k = 0; k < Q; k++) sums.b2[k] = 0.0f;
}

// Number i of a block's gradient.
__device__ __forceinline__ float number_of(const Sums &sums, int i) {
    if (i >= NUMBERS) return 0.0f;
    if (i >= UNITS * (2 * Q + 1)) return sums.b2[i - UNITS * (2 * Q + 1)];
    int j = i / (2 * Q + 1), k = i % (2 * Q + 1);
    return k < Q ? sums.w1[j][k < Q ? k : 0] : k == Q ? sums.b1[j] : sums.w2[j][k > Q ? k - Q - 1 : 0];
}

// Where it lies among a block's coefficients.
__device__ __forceinline__ int place_of(int i) {
    int unit = i / (2 * Q + 1);
    return unit < UNITS ? unit * UNIT + i % (2 * Q + 1) : UNITS * UNIT + i - UNITS * (2 * Q + 1);
}

// Sums over lanes to the gradient of a block.
__device__ __forceinline__ void finish(const Sums &sums, float *grad, int lane) {
#pragma unroll
    for (int first = 0; first < NUMBERS; first += 16) {
        float sixteen[16];
#pragma unroll
        for (int i = 0; i < 16; i++) sixteen[i] = number_of(sums, first + i);
        float sum = sum_sixteen(sixteen);
        if (first + lane < NUMBERS) grad[place_of(first + lane)] = sum;
    }
}

// One number of a sample.
__device__ __forceinline__ void copy_input(float *to, const float *from) {
#if SHARED_INPUTS
    async_copy<1>(to, from);
#else
    *to = *from;
#endif
}

// The sample numbers of an update's batch, on their way.
__device__ __forceinline__ void fetch_rows(const Launch &L, const Fit &fit, const Own &own, int update, int lane) {
    const uint32_t *rows = batch_rows(L, fit, update);
#pragma unroll 4
    for (int strip = 0; strip < L.strips; strip++) {
        int i = strip * 16 + lane;
        // Lanes beyond the last sample repeat the strip's first.
        async_copy<1>(own.rows(L) + i, rows + (i < L.batch ? i : strip * 16));
    }
}

// What an update needs once its states are not needed any more, on its way: moments, and the next sample numbers if there are more.
__device__ __forceinline__ void fetch_late(const Launch &L, const Fit &fit, const Own &own, int update, bool more, int lane) {
    sync_warp();
    if (more) fetch_rows(L, fit, own, update + 1, lane);
#if !SCORING
#pragma unroll 2
    for (int i = lane; i < L.packed; i += 16) {
        async_copy<1>(own.m(L) + i, fit.m + i);
        async_copy<1>(own.v(L) + i, fit.v + i);
    }
#endif
    async_group();
}

// Inputs and targets of those samples, on their way.
__device__ __forceinline__ void fetch_samples(const Launch &L, const Fit &fit, const Own &own, int lane) {
    const float *x = global_memory(fit.x), *y = global_memory(fit.y);
#pragma unroll 4
    for (int strip = 0; strip < L.strips; strip++) {
        size_t row = own.rows(L)[strip * 16 + lane];
        if (L.kind != ENERGY) async_copy<1>(own.y(L) + strip * 16 + lane, y + row);
        float *to = own.x(L) + strip * L.d * 16 + lane;
#pragma unroll 1
        for (int i = 0; i < L.d; i++) copy_input(to + i * 16, x + row * row_len(L) + i);
    }
    async_group();
}

// Sums of the output function's products, lane by lane.
struct Head {
    float row[Q], bias;
};

// Forward through all iterations, up to M strips at once; states are kept. Where a sample's loss is its own, on to the
// gradient of its last state. Beyond the last strip that one is repeated.
template <int M>
__device__ __forceinline__ void ahead(const Launch &L, const Fit &fit, const Own &own, int strip, int lane, Head &head) {
    float z[M][Q];
    int at[M], d = L.d;
#pragma unroll
    for (int m = 0; m < M; m++) at[m] = strip + m < L.all_strips ? m : L.all_strips - 1 - strip;
#pragma unroll
    for (int k = 0; k < Q; k++)
#pragma unroll
        for (int m = 0; m < M; m++) z[m][k] = own.params[k * (d + 1) + d];
#pragma unroll 1
    for (int i = 0; i < d; i++) {
        float x_i[M];
#pragma unroll
        for (int m = 0; m < M; m++) x_i[m] = own.x(L)[((strip + at[m]) * d + i) * 16 + lane];
#pragma unroll
        for (int k = 0; k < Q; k++) {
            float w = own.params[k * (d + 1) + i];
#pragma unroll
            for (int m = 0; m < M; m++) z[m][k] = fmaf(w, x_i[m], z[m][k]);
        }
    }
    float *keep = own.z + strip * LINE + lane * WIDE;
    for (int t = 0; t < L.iterations; t++) {
#pragma unroll
        for (int m = 0; m < M; m++) write_state(keep + at[m] * LINE, z[m]);
        keep += L.all_strips * LINE;
        const float *units = units_of(L, own.params, block_at(L, t));
        block_forward<M>(units, units + UNITS * UNIT, UNITS, z);
    }
#if SINGLE
    const float *row = own.params + output_at(L);
    float bound = fit.output_bound;
#pragma unroll
    for (int m = 0; m < M; m++) {
        if (strip + m >= L.all_strips) break;
        int i = (strip + m) * 16 + lane;
        float f = output_row(L, own.params, 0, z[m]);
#if SCORING
        own.out(L)[i] = f;
        write_state(keep + m * LINE, z[m]);
#endif
        float slope = derivative(L.kind, fit.likelihood, own.y(L)[i], clip(f, bound));
        float left = (i < L.batch ? fit.weight : 0.0f) * through_clip(f, bound, slope);
        float g[Q];
        head.bias = head.bias + left;
#pragma unroll
        for (int k = 0; k < Q; k++) {
            head.row[k] = fmaf(left, z[m][k], head.row[k]);
            g[k] = fmaf(row[k], left, 0.0f);
        }
        write_state(own.g(L) + (strip + m) * LINE + lane * WIDE, g);
    }
#else
#pragma unroll
    for (int m = 0; m < M; m++) {
        if (strip + m >= L.all_strips) break;
        write_state(keep + m * LINE, z[m]);
        for (int c = 0; c < L.outputs; c++)
            own.out(L)[((strip + m) * L.outputs + c) * 16 + lane] = output_row(L, own.params, c, z[m]);
    }
#endif
}

#if !SINGLE
// From outputs to the gradients of the last states, and the products of the output function.
__device__ __forceinline__ void turn(const Launch &L, const Fit &fit, const Own &own, int lane) {
    if (L.kind == ENERGY) {
        Work w;
        w.out = own.out(L);
        w.g_out = own.g_out(L);
        energy_derivative(L, fit, w, lane);
    } else {
        for (int strip = 0; strip < L.all_strips; strip++) {
            int i = strip * 16 + lane, at = strip * L.outputs * 16 + lane;
            derivative_row(L, fit, own.y(L)[i], i < L.batch ? fit.weight : 0.0f, own.out(L) + at, own.g_out(L) + at);
        }
    }
    for (int strip = 0; strip < L.all_strips; strip++) {
        const float *g_out[1] = {own.g_out(L) + strip * L.outputs * 16 + lane};
        float g[1][Q];
        output_backward<1>(L, own.params, g_out, g);
        write_state(own.g(L) + strip * LINE + lane * WIDE, g[0]);
    }
    const float *last = own.z + L.iterations * L.all_strips * LINE + lane * WIDE;
    for (int c = 0; c < L.outputs; c++) {
        Head head = {};
#pragma unroll 2
        for (int strip = 0; strip < L.all_strips; strip++) {
            float left = own.g_out(L)[(strip * L.outputs + c) * 16 + lane], z[Q];
            read_state(last + strip * LINE, z);
            head.bias = head.bias + left;
#pragma unroll
            for (int k = 0; k < Q; k++) head.row[k] = fmaf(left, z[k], head.row[k]);
        }
        finish_row(head.row, head.bias, own.grad(L) + output_at(L) + c * (Q + 1), lane);
    }
}
#endif

// Starts to bring the states of the strips from `strip` to before `end`, at most BACK; the first again where there is none.
__device__ __forceinline__ void fetch_states(const Launch &L, const Own &own, int t, int strip, int end, float *to, int lane) {
    const float *from = own.z + (t * L.all_strips + strip) * LINE + lane * WIDE;
    to += lane * WIDE;
#pragma unroll
    for (int m = 0; m < BACK; m++)
#pragma unroll
        for (int i = 0; i < WIDE; i += VECTOR)
            async_copy<VECTOR>(to + m * LINE + i, from + (strip + m < end ? m * LINE : 0) + i);
    async_group();
}

// Hidden units that are read before they are used on the way back: the compiler puts a read where it is asked for, and shared
// memory answers after some thirty instructions. Where a unit is more work than a ReLU, one is enough.
#define COMING_UNITS (ACTIVATION == 0 ? 3 : 1)

// One iteration back for M strips, and its products; gradients of states are replaced.
template <int M>
__device__ __forceinline__ void back(const float *units, const float (*z)[Q], float (*g)[Q], Sums &sums) {
    float next[M][Q];
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < Q; k++) {
            next[m][k] = g[m][k];
            sums.b2[k] = sums.b2[k] + g[m][k];
        }
    float coming[COMING_UNITS][UNIT];
#pragma unroll
    for (int j = 0; j < COMING_UNITS && j < UNITS; j++) read_unit(units + j * UNIT, coming[j]);
#pragma unroll
    for (int j = 0; j < UNITS; j++) {
        float unit[UNIT];
#pragma unroll
        for (int k = 0; k < UNIT; k++) unit[k] = coming[j % COMING_UNITS][k];
        if (j + COMING_UNITS < UNITS) read_unit(units + (j + COMING_UNITS) * UNIT, coming[j % COMING_UNITS]);
#pragma unroll
        for (int m = 0; m < M; m++) {
            float u = unit[Q], h;
#pragma unroll
            for (int k = 0; k < Q; k++) u = fmaf(unit[k], z[m][k], u);
            float a = unit[Q + 1] * g[m][0];
#pragma unroll
            for (int k = 1; k < Q; k++) a = fmaf(unit[Q + 1 + k], g[m][k], a);
            a = activate_back(u, a, &h);
            sums.b1[j] = sums.b1[j] + a;
#pragma unroll
            for (int k = 0; k < Q; k++) {
                sums.w1[j][k] = fmaf(a, z[m][k], sums.w1[j][k]);
                sums.w2[j][k] = fmaf(h, g[m][k], sums.w2[j][k]);
                next[m][k] = fmaf(unit[k], a, next[m][k]);
            }
        }
    }
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < Q; k++) g[m][k] = next[m][k];
}

// Back through all iterations for the strips `start..end`, BACK at once, and the products of the blocks. Where some are
// missing, one without a gradient takes their place: it adds zeros and keeps its own.
__device__ __forceinline__ void behind(const Launch &L, const Own &own, int start, int end, int lane, Sums &sums) {
    float *g = own.g(L) + lane * WIDE;
#if !SHARED_STATES
    int buffer = 0;
    fetch_states(L, own, L.iterations - 1, start, end, own.coming(L), lane);
#endif
    for (int t = L.iterations - 1; t >= 0; t--) {
        int block = block_at(L, t);
        const float *units = units_of(L, own.params, block);
        for (int strip = start; strip < end; strip += BACK) {
#if SHARED_STATES
            const float *z = own.z + (t * L.all_strips + strip) * LINE + lane * WIDE;
#else
            const float *z = own.coming(L) + buffer * BACK * LINE + lane * WIDE;
            buffer ^= 1;
            bool more = strip + BACK < end;
            // Nothing is under way at the end: copies to one place are in no order.
            if (more || t > 0)
                fetch_states(L, own, more ? t : t - 1, more ? strip + BACK : start, end, own.coming(L) + buffer * BACK * LINE, lane);
            else
                async_group();
            async_wait<1>();
#endif
            float states[BACK][Q], gradients[BACK][Q], *at[BACK];
#pragma unroll
            for (int m = 0; m < BACK; m++) {
                bool there = strip + m < end;
                at[m] = g + (there ? strip + m : L.all_strips) * LINE;
                read_state(there || !SHARED_STATES ? z + m * LINE : z, states[m]);
                read_state(at[m], gradients[m]);
            }
            back<BACK>(units, states, gradients, sums);
#pragma unroll
            for (int m = 0; m < BACK; m++) write_state(at[m], gradients[m]);
        }
        if (L.blocks > 1) {
            finish(sums, own.grad(L) + L.input_len + block * L.block_len, lane);
            clear(sums);
        }
    }
}

// The products of the input function.
__device__ __forceinline__ void input_products(const Launch &L, const Own &own, int lane) {
    for (int first = 0; first <= L.d; first += COLUMNS) {
        float sums[16];
#pragma unroll
        for (int i = 0; i < 16; i++) sums[i] = 0.0f;
#pragma unroll 2
        for (int strip = 0; strip < L.all_strips; strip++) {
            float g[Q];
            read_state(own.g(L) + strip * LINE + lane * WIDE, g);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                // The bias is the weight of a one.
                float right = first + c < L.d ? own.x(L)[(strip * L.d + first + c) * 16 + lane] : 1.0f;
#pragma unroll
                for (int k = 0; k < Q; k++) sums[c * Q + k] = fmaf(g[k], right, sums[c * Q + k]);
            }
        }
        float sum = sum_sixteen(sums);
        int i = first + lane / Q;
        if (lane < COLUMNS * Q && i <= L.d) own.grad(L)[lane % Q * (L.d + 1) + i] = sum;
    }
}

// The gradient of the batch whose samples are there. What comes after it is on its way at the end.
__device__ __forceinline__ void gradient_of(const Launch &L, const Fit &fit, const Own &own, int update, bool more, int lane) {
    Head head = {};
    for (int strip = 0; strip < L.all_strips; strip += STRIPS) ahead<STRIPS>(L, fit, own, strip, lane, head);
#if SINGLE
    finish_row(head.row, head.bias, own.grad(L) + output_at(L), lane);
#else
    turn(L, fit, own, lane);
#endif
    Sums sums;
    clear(sums);
    for (int start = 0; start < L.all_strips; start += L.at_once)
        behind(L, own, start, start + L.at_once < L.all_strips ? start + L.at_once : L.all_strips, lane, sums);
    fetch_late(L, fit, own, update, more, lane);
    if (L.blocks == 1) finish(sums, own.grad(L) + L.input_len, lane);
    input_products(L, own, lane);
}
#endif

// Adam and Fisher scoring with half a warp a fit: a thread is a lane and takes its strips in turn. Weight gradients stay in
// registers over all iterations, and the products use what the backward pass has at hand; nothing passes between threads until
// the last sum over lanes. For many fits at once of networks whose hidden units fit the registers. Both halves of a warp go the
// same way at the same time: one whose fit has ended goes along and leaves no trace.
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
    double *momentum(const Launch &L) const { return reinterpret_cast<double *>(params + L.half.m); }
    double *direction(const Launch &L) const { return reinterpret_cast<double *>(params + L.half.v); }
#else
    float *m(const Launch &L) const { return params + L.half.m; }
    float *v(const Launch &L) const { return params + L.half.v; }
#endif
    // Gradients of states, and zeros for one more strip: [strip][lane][k].
    float *g(const Launch &L) const { return params + L.half.g; }
    // Targets: [strip][lane].
    float *y(const Launch &L) const { return params + L.half.y; }
    // Sample numbers of the next batch: [strip][lane].
    uint32_t *rows(const Launch &L) const { return reinterpret_cast<uint32_t *>(params + L.half.rows); }
    // Outputs and their gradients, where there are several, a normaliser or scoring: [strip][c][lane].
    float *out(const Launch &L) const { return params + L.half.out; }
    float *g_out(const Launch &L) const { return params + L.half.g_out; }
    // States on their way: [2][BACK][lane][k].
    float *coming(const Launch &L) const { return params + L.half.coming; }
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
#pragma unroll
    for (int j = 0; j < UNITS; j++) {
        float unit[UNIT];
        read_unit(units + j * UNIT, unit);
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

// The gradient of the batch whose samples are there.
__device__ __forceinline__ void gradient_of(const Launch &L, const Fit &fit, const Own &own, int lane) {
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
    if (L.blocks == 1) finish(sums, own.grad(L) + L.input_len, lane);
    input_products(L, own, lane);
}

#if SCORING
// Lines of a block to where the information is made of them.
__device__ __forceinline__ void put_lines(const Sums &sums, float *lines) {
#pragma unroll
    for (int i = 0; i < NUMBERS; i++) lines[place_of(i) * 16] = number_of(sums, i);
}

// Lines of the factor of the information, [strip][padded word][lane], of the batch whose states are there.
__device__ __forceinline__ void information_lines(const Launch &L, const Fit &fit, const Own &own, int update, float *rows,
                                                  int lane) {
    uint64_t signs = nth(fit.signs, (uint64_t)update);
    const float *last = own.z + L.iterations * L.all_strips * LINE + lane * WIDE;
#pragma unroll 1
    for (int strip = 0; strip < L.strips; strip++, rows += (L.padded + 1) * 16) {
        int i = strip * 16 + lane, at = strip * L.outputs * 16 + lane;
        double weight = sqrt((double)(i < L.batch ? fit.weight : 0.0f));
        information_seed(L, fit, signs, i, weight, own.out(L) + at, own.g_out(L) + at);
        const float *g_out[1] = {own.g_out(L) + at};
        float g[1][Q], z[1][Q], coming[Q];
        output_backward<1>(L, own.params, g_out, g);
        read_state(last + strip * LINE, coming);
        for (int c = 0; c < L.outputs; c++) {
            float left = own.g_out(L)[at + c * 16], *to = rows + (output_at(L) + c * (Q + 1)) * 16;
#pragma unroll
            for (int k = 0; k < Q; k++) to[k * 16] = fmaf(left, coming[k], 0.0f);
            to[Q * 16] = 0.0f + left;
        }
        Sums sums;
        clear(sums);
        read_state(last + (strip - L.all_strips) * LINE, coming);
#pragma unroll 1
        for (int t = L.iterations - 1; t >= 0; t--) {
#pragma unroll
            for (int k = 0; k < Q; k++) z[0][k] = coming[k];
            read_state(own.z + ((t > 0 ? t - 1 : 0) * L.all_strips + strip) * LINE + lane * WIDE, coming);
            int block = block_at(L, t);
            back<1>(units_of(L, own.params, block), z, g, sums);
            if (L.blocks > 1) {
                put_lines(sums, rows + (L.input_len + block * L.block_len) * 16);
                clear(sums);
            }
        }
        if (L.blocks == 1) put_lines(sums, rows + L.input_len * 16);
#pragma unroll 1
        for (int c = 0; c <= L.d; c++) {
            float right = c < L.d ? own.x(L)[(strip * L.d + c) * 16 + lane] : 1.0f;
#pragma unroll
            for (int k = 0; k < Q; k++) rows[(k * (L.d + 1) + c) * 16] = fmaf(g[0][k], right, 0.0f);
        }
    }
}

// Columns of the factor, sixteen at a time, and groups of eight of them that are on their way while the panel before is solved:
// as many as the registers hold.
#define AHEAD (FUSED_BLOCKS > 8 ? 2 : 4)
#define GROUPS_AHEAD (FUSED_BLOCKS > 8 ? 4 : 7)

// The factor that is solved with, of n rows.
struct Factor {
    const double *u, *inverses;
    int n, stride;
};

// What a panel of eight rows needs on the way down: a number a lane.
struct Down {
    double inverse, row[PANEL], next[AHEAD][PANEL];
};

__device__ __forceinline__ void fetch_down(const Factor &f, int first, int lane, Down &d) {
    const double *rows = f.u + first * f.stride + lane;
    bool own = first + lane < f.n && lane < PANEL;
    d.inverse = own ? f.inverses[first + lane] : 0.0;
#pragma unroll
    for (int k = 0; k < PANEL; k++) d.row[k] = own && k < lane ? rows[k * f.stride + first] : 0.0;
#pragma unroll
    for (int c = 0; c < AHEAD; c++) {
        int j = first + PANEL + c * 16;
#pragma unroll
        for (int k = 0; k < PANEL; k++) d.next[c][k] = j + lane < f.n ? rows[k * f.stride + j] : 0.0;
    }
}

__device__ __forceinline__ void solve_down(const Factor &f, int first, int lane, const Down &d, double *x) {
    bool own = first + lane < f.n && lane < PANEL;
    double value = own ? x[first + lane] : 0.0, solved[PANEL];
#pragma unroll
    for (int k = 0; k < PANEL; k++) {
        solved[k] = from_lane(value * d.inverse, k);
        value = lane == k ? solved[k] : lane > k ? fma(-solved[k], d.row[k], value) : value;
    }
    if (own) x[first + lane] = value;
#pragma unroll
    for (int c = 0; c < AHEAD; c++) {
        int j = first + PANEL + c * 16 + lane;
        if (j < f.n) {
            double sum = x[j];
#pragma unroll
            for (int k = 0; k < PANEL; k++) sum = fma(-solved[k], d.next[c][k], sum);
            x[j] = sum;
        }
    }
    const double *rows = f.u + first * f.stride;
#pragma unroll 2
    for (int j = first + PANEL + AHEAD * 16 + lane; j < f.n; j += 16) {
        double sum = x[j];
#pragma unroll
        for (int k = 0; k < PANEL; k++) sum = fma(-solved[k], rows[k * f.stride + j], sum);
        x[j] = sum;
    }
    sync_warp();
}

// The same on the way up. Row k of a panel belongs to lane k of the first eight, or k + 4 from the fifth on; eight lanes have
// partial sums of four rows.
struct Up {
    double inverse, column[PANEL], coming[GROUPS_AHEAD][4];
};

__device__ __forceinline__ int row_of(int lane) { return (lane & 7) < 4 ? (lane >> 3) * 4 + (lane & 7) : -1; }

__device__ __forceinline__ void fetch_up(const Factor &f, int first, int lane, Up &u) {
    int row = row_of(lane), end = first + PANEL;
    bool own = first >= 0 && row >= 0 && first + row < f.n;
    u.inverse = own ? f.inverses[first + row] : 0.0;
#pragma unroll
    for (int k = 0; k < PANEL; k++)
        u.column[k] = own && k > row && first + k < f.n ? f.u[(first + row) * f.stride + first + k] : 0.0;
    const double *rows = f.u + (first + (lane >> 3) * 4) * f.stride + (lane & 7);
#pragma unroll
    for (int c = 0; c < GROUPS_AHEAD; c++)
#pragma unroll
        for (int i = 0; i < 4; i++) u.coming[c][i] = first >= 0 && end < f.n && end + 8 * c < f.stride ? rows[i * f.stride + end + 8 * c] : 0.0;
}

__device__ __forceinline__ void solve_up(const Factor &f, int first, int lane, const Up &u, double *x) {
    int row = row_of(lane), residue = lane & 7, end = first + PANEL;
    bool own = row >= 0 && first + row < f.n;
    double value = own ? x[first + row] : 0.0;
    if (end < f.n) {
        double sums[4] = {0.0, 0.0, 0.0, 0.0};
#pragma unroll
        for (int c = 0; c < GROUPS_AHEAD; c++) {
            int at = end + 8 * c + residue;
            if (end + 8 * c >= f.stride) break;
            double known = at < f.n ? x[at] : 0.0;
#pragma unroll
            for (int i = 0; i < 4; i++) sums[i] = fma(u.coming[c][i], known, sums[i]);
        }
        const double *rows = f.u + (first + (lane >> 3) * 4) * f.stride;
#pragma unroll 4
        for (int at = end + 8 * GROUPS_AHEAD + residue; at < f.stride; at += 8) {
            double known = at < f.n ? x[at] : 0.0;
#pragma unroll
            for (int i = 0; i < 4; i++) sums[i] = fma(rows[i * f.stride + at], known, sums[i]);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            double sum = sum_eight(sums[i]);
            if (residue == i) value -= sum;
        }
    }
#pragma unroll
    for (int k = PANEL - 1; k >= 0; k--) {
        if (first + k >= f.n) continue;
        double done = from_lane(value * u.inverse, k < 4 ? k : k + 4);
        value = row == k ? done : row < k ? fma(-done, u.column[k], value) : value;
    }
    if (own) x[first + row] = value;
    sync_warp();
}

// Replaces x by the solution of U^T U x = b: what a panel needs is on its way while the one before is solved.
__device__ __forceinline__ void solve_lanes(const Factor &f, double *x, int lane) {
    Down down, next_down;
    fetch_down(f, 0, lane, down);
#pragma unroll 1
    for (int first = 0; first < f.n; first += PANEL) {
        fetch_down(f, first + PANEL, lane, next_down);
        solve_down(f, first, lane, down, x);
        down = next_down;
    }
    Up up, next_up;
    int last = (f.n - 1) / PANEL * PANEL;
    fetch_up(f, last, lane, up);
#pragma unroll 1
    for (int first = last; first >= 0; first -= PANEL) {
        fetch_up(f, first - PANEL, lane, next_up);
        solve_up(f, first, lane, up, x);
        up = next_up;
    }
}
#endif

KERNEL_AT(fused, 32, FUSED_BLOCKS) {
    int lane = threadIdx.x & 15, half = threadIdx.x >> 4, number = blockIdx.x * 2 + half;
    Fit &fit = global_memory(L.fits)[number];
    // Updates made; below zero for a fit that has ended, which goes along with its neighbour's samples.
    int made = fit.status == RUNNING ? 0 : -1;
    if (!either(made == 0)) return;
    const Fit &from = global_memory(L.fits)[made == 0 ? number : number ^ 1];
    Own own;
    int32_t *place = reinterpret_cast<int32_t *>(shared_memory), *outgoing = place + L.packed;
    own.params = reinterpret_cast<float *>(shared_memory) + L.half.at + half * L.half.words;
#if SHARED_STATES
    own.z = own.coming(L);
#else
    own.z = global_memory(fit.scratch);
#endif
    for (int i = lane; i < L.padded; i += 16) own.params[i] = L.fixed[i];
    if (half == 0)
        for (int i = lane; i < L.packed; i += 16) {
            place[i] = L.place[i];
            outgoing[i] = L.outgoing[i];
        }
    for (int strip = L.strips; strip < L.all_strips; strip++)
        for (int i = 0; i < L.d; i++) {
            int first = (strip - L.strips) * 16, node = first + lane;
            own.x(L)[(strip * L.d + i) * 16 + lane] = L.node_x[(size_t)(node < L.nodes ? node : first) * row_len(L) + i];
        }
    for (int i = 0; i < WIDE; i++) own.g(L)[L.all_strips * LINE + lane * WIDE + i] = 0.0f;
    int last = L.update + L.updates, update = L.update;
#if SCORING
    int end = last + L.lined, first = update + L.resumed;
    double power = L.stage_start ? 1.0 : from.power;
#else
    int end = last, first = update;
#endif
    if (first < end) fetch_rows(L, from, own, first, lane);
    sync_warp();
    for (int i = lane; i < L.packed; i += 16) {
        own.params[place[i]] = L.stage_start ? from.best[i] : from.theta[i];
#if SCORING
        own.momentum(L)[i] = L.stage_start ? 0.0 : from.momentum[i];
#else
        own.m(L)[i] = L.stage_start ? 0.0f : from.m[i];
        own.v(L)[i] = L.stage_start ? 0.0f : from.v[i];
#endif
    }
    if (first < end) {
        async_wait<0>();
        fetch_samples(L, from, own, lane);
    }
#if SCORING
    if (L.resumed)
        for (int i = lane; i < L.padded; i += 16) own.grad(L)[i] = from.gradient[i];
#endif
    sync_warp();
    for (; update < end; update++) {
        if (update >= first) {
            async_wait<0>();
            bool more = update + 1 < end;
            if (more) fetch_rows(L, from, own, update + 1, lane);
            gradient_of(L, from, own, lane);
            if (more) {
                async_wait<0>();
                fetch_samples(L, from, own, lane);
            }
            sync_warp();
        }
#if SCORING
        if (update == last) {
            if (made == L.updates) {
                for (int i = lane; i < L.padded; i += 16) fit.gradient[i] = own.grad(L)[i];
                information_lines(L, from, own, update, global_memory(fit.rows) + lane, lane);
            }
            break;
        }
        double rate = from.rates[update];
        power *= 0.9;
        for (int i = lane; i < L.packed; i += 16) {
            int at = place[i];
            double unit = outgoing[i] ? from.outgoing_unit : 1.0;
            own.direction(L)[i] = momentum_step(from, own.grad(L)[at], own.params[at], 1.0 - power, unit, own.momentum(L) + i);
        }
        sync_warp();
        Factor factor = {global_memory(from.factor), global_memory(from.inverse), L.packed, stride_of(L.packed)};
        solve_lanes(factor, own.direction(L), lane);
        double length = step_length(from, own.direction(L), L.packed, rate);
        bool goes_on = made == update - L.update && length >= 0.0;
        if (!either(goes_on)) break;
        if (goes_on) {
            for (int i = lane; i < L.packed; i += 16) {
                float &old = own.params[place[i]];
                double unit = outgoing[i] ? from.outgoing_unit : 1.0;
                old = moved(from, old, rate, length, unit * own.direction(L)[i]);
            }
            made++;
        }
#else
        float scale = gradient_scale(L, from, own.grad(L), place, lane);
        bool goes_on = made == update - L.update && scale != INFINITY;
        if (!either(goes_on)) break;
        if (goes_on) {
            const float *schedule = from.schedule + 3 * (size_t)update;
#pragma unroll 2
            for (int i = lane; i < L.packed; i += 16) {
                int at = place[i];
                float rate = outgoing[i] ? from.outgoing_rate : 1.0f;
                own.params[at] = adam_step(from, own.grad(L)[at], scale, rate, schedule, own.params[at], own.m(L) + i, own.v(L) + i);
            }
            made++;
        }
#endif
        sync_warp();
    }
    if (made < 0) return;
    for (int i = lane; i < L.packed; i += 16) {
        fit.theta[i] = own.params[place[i]];
#if SCORING
        fit.momentum[i] = own.momentum(L)[i];
#else
        fit.m[i] = own.m(L)[i];
        fit.v[i] = own.v(L)[i];
#endif
    }
    if (lane == 0) {
        fit.made = L.update - L.ordered + made;
        if (made < L.updates) fit.status = DIVERGED;
#if SCORING
        fit.power = power;
#endif
    }
}
#endif

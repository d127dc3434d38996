// The residual FFN, one sample a thread (paper Sections 3.2 and F.4.2). Every sum starts at its bias or residual and
// adds terms in ascending index, as on the processor.

// Hidden units that a thread has under way at once: few where many fits hide the waiting, all where their number is known.
#if PART_FUSED
// A longer loop does not stay where instructions are read from, of which scoring has more (of two states and 23 units: 3% slower).
constexpr int UNDER_WAY = UNITS > (SCORING ? 8 : 16) ? 4 : UNITS;
#elif PART_SCORING || PART_VALIDATE || STRIPS > 2
constexpr int UNDER_WAY = 2;
#else
constexpr int UNDER_WAY = 4;
#endif

// z_0 of M samples. Inputs are also left where `keep` says, every sixteenth number this lane's.
template <int M, bool KEEP>
__device__ __forceinline__ void input_rows(const Launch &L, const float *params, const float *const *x, float *const *keep,
                                           float (*z)[Q]) {
    int d = L.d;
#pragma unroll
    for (int k = 0; k < Q; k++)
#pragma unroll
        for (int m = 0; m < M; m++) z[m][k] = params[k * (d + 1) + d];
#pragma unroll 1
    for (int first = 0; first < d; first += 4) {
        float four[M][4];
#pragma unroll
        for (int m = 0; m < M; m++) read_vector<4>(x[m] + first, four[m]);
#pragma unroll
        for (int c = 0; c < 4; c++) {
            int i = first + c;
            if (i >= d) break;
#pragma unroll
            for (int m = 0; m < M; m++)
                if (KEEP) keep[m][i * 16] = four[m][c];
#pragma unroll
            for (int k = 0; k < Q; k++) {
                float w = params[k * (d + 1) + i];
#pragma unroll
                for (int m = 0; m < M; m++) z[m][k] = fmaf(w, four[m][c], z[m][k]);
            }
        }
    }
}

// z + W2 s(W1 z + b1) + b2 of M samples. A hidden unit is read before the one before it is used, here and on the way back; after the
// last one come numbers that nobody uses.
template <int M>
__device__ __forceinline__ void block_forward(const float *units, const float *b2, int r, float (*z)[Q]) {
    float next[M][Q];
#pragma unroll
    for (int k = 0; k < Q; k++)
#pragma unroll
        for (int m = 0; m < M; m++) next[m][k] = z[m][k] + b2[k];
    float coming[UNIT];
    read_unit(units, coming);
#pragma unroll UNDER_WAY
    for (int j = 0; j < r; j++) {
        float unit[UNIT];
#pragma unroll
        for (int k = 0; k < UNIT; k++) unit[k] = coming[k];
        read_unit(units + (j + 1) * UNIT, coming);
#pragma unroll
        for (int m = 0; m < M; m++) {
            float u = unit[Q], slope;
#pragma unroll
            for (int k = 0; k < Q; k++) u = fmaf(unit[k], z[m][k], u);
            float h = activate(u, &slope);
#pragma unroll
            for (int k = 0; k < Q; k++) next[m][k] = fmaf(unit[Q + 1 + k], h, next[m][k]);
        }
    }
#pragma unroll
    for (int k = 0; k < Q; k++)
#pragma unroll
        for (int m = 0; m < M; m++) z[m][k] = next[m][k];
}

// From the gradient of z_{t+1} to that of z_t, in place.
template <int M>
__device__ __forceinline__ void block_backward(const float *units, int r, const float (*z)[Q], float (*g)[Q]) {
    float next[M][Q];
#pragma unroll
    for (int k = 0; k < Q; k++)
#pragma unroll
        for (int m = 0; m < M; m++) next[m][k] = g[m][k];
    float coming[UNIT];
    read_unit(units, coming);
#pragma unroll UNDER_WAY
    for (int j = 0; j < r; j++) {
        float unit[UNIT];
#pragma unroll
        for (int k = 0; k < UNIT; k++) unit[k] = coming[k];
        read_unit(units + (j + 1) * UNIT, coming);
#pragma unroll
        for (int m = 0; m < M; m++) {
            float u = unit[Q], h;
#pragma unroll
            for (int k = 0; k < Q; k++) u = fmaf(unit[k], z[m][k], u);
            float a = unit[Q + 1] * g[m][0];
#pragma unroll
            for (int k = 1; k < Q; k++) a = fmaf(unit[Q + 1 + k], g[m][k], a);
            a = activate_back(u, a, &h);
#pragma unroll
            for (int k = 0; k < Q; k++) next[m][k] = fmaf(unit[k], a, next[m][k]);
        }
    }
#pragma unroll
    for (int k = 0; k < Q; k++)
#pragma unroll
        for (int m = 0; m < M; m++) g[m][k] = next[m][k];
}

// Output c of a state.
__device__ __forceinline__ float output_row(const Launch &L, const float *params, int c, const float *z) {
    const float *row = params + output_at(L) + c * (Q + 1);
    float sum = row[Q];
#pragma unroll
    for (int k = 0; k < Q; k++) sum = fmaf(row[k], z[k], sum);
    return sum;
}

// Pi_H(f); NaN stays NaN.
__device__ __forceinline__ float clip(float f, float bound) { return lesser(bound, greater(-bound, f)); }

// The gradient g seen through the clipping: zero where |f| > H.
__device__ __forceinline__ float through_clip(float f, float bound, float g) {
    g = f > bound ? 0.0f : g;
    return -bound > f ? 0.0f : g;
}

// The derivative of a likelihood of one output at the clipped output.
__device__ __forceinline__ float derivative(int kind, float constant, float y, float f) {
    if (kind == GAUSSIAN) return (f - y) * constant;
    if (kind == LAPLACE) {
        float gap = f - y;
        float not_below = gap > 0.0f ? constant : gap;
        return 0.0f > gap ? -constant : not_below;
    }
    if (kind == POISSON) return exp_lane(f) - y;
    float sign = fmaf(y, -2.0f, 1.0f);
    float e = exp_lane(sign * f);
    return sign * (e / (1.0f + e));
}

// From outputs in `out` (every sixteenth number is this lane's) to their gradients in `g_out`, of one sample.
__device__ void derivative_row(const Launch &L, const Fit &fit, float y, float weight, const float *out, float *g_out) {
    float bound = fit.output_bound;
    if (L.kind != MULTICLASS) {
        float f = out[0];
        float g = derivative(L.kind, fit.likelihood, y, clip(f, bound));
        g_out[0] = weight * through_clip(f, bound, g);
        return;
    }
    int classes = L.outputs;
    float top = -INFINITY;
#pragma unroll 2
    for (int c = 0; c < classes; c++) top = greater(clip(out[16 * c], bound), top);
    float total = 0.0f;
#pragma unroll 2
    for (int c = 0; c < classes; c++) {
        float e = exp_lane(clip(out[16 * c], bound) - top);
        total = total + e;
        g_out[16 * c] = e;
    }
    float scale = 1.0f / total;
#pragma unroll 2
    for (int c = 0; c < classes; c++) {
        float away = y - (float)c;
        float minus_hit = 0.25f > away * away ? -1.0f : 0.0f;
        float g = fmaf(g_out[16 * c], scale, minus_hit);
        g_out[16 * c] = weight * through_clip(out[16 * c], bound, g);
    }
}

// W^T g_out of M samples.
template <int M>
__device__ __forceinline__ void output_backward(const Launch &L, const float *params, const float *const *g_out, float (*g)[Q]) {
    const float *rows = params + output_at(L);
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < Q; k++) g[m][k] = 0.0f;
#pragma unroll 1
    for (int c = 0; c < L.outputs; c++)
#pragma unroll
        for (int m = 0; m < M; m++) {
            float own = g_out[m][16 * c];
#pragma unroll
            for (int k = 0; k < Q; k++) g[m][k] = fmaf(rows[c * (Q + 1) + k], own, g[m][k]);
        }
}

// Columns of the input function whose products are sixteen numbers.
#define COLUMNS (16 / Q)

// The sums over lanes of a row of the output function and its bias.
__device__ __forceinline__ void finish_row(const float *row, float bias, float *grad, int lane) {
    float sixteen[16];
#pragma unroll
    for (int k = 0; k < 16; k++) sixteen[k] = k < Q ? row[k < Q ? k : 0] : k == Q ? bias : 0.0f;
    float sum = sum_sixteen(sixteen);
    if (lane <= Q) grad[lane] = sum;
    if (Q == 16) {
        sum = sum_lanes(bias);
        if (lane == 0) grad[Q] = sum;
    }
}

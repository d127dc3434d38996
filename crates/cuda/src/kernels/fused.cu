// Adam with half a warp a fit: a thread is a lane and takes its strips in turn. Weight gradients stay in registers over
// all iterations, and the products use what the backward pass has at hand; nothing passes between threads until the
// last sum over lanes. For many fits at once of networks whose hidden units fit the registers.
#if PART_FUSED

// Numbers of one block's gradient.
#define NUMBERS (UNITS * (2 * Q + 1) + Q)

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

// Sums over lanes to the gradient of a block.
__device__ __forceinline__ void finish(const Sums &sums, float *grad, int lane) {
#pragma unroll
    for (int first = 0; first < NUMBERS; first += 16) {
        float sixteen[16];
#pragma unroll
        for (int i = 0; i < 16; i++) sixteen[i] = number_of(sums, first + i);
        float sum = sum_sixteen(sixteen);
        int i = first + lane, unit = i / (2 * Q + 1);
        int at = unit < UNITS ? unit * UNIT + i % (2 * Q + 1) : UNITS * UNIT + i - UNITS * (2 * Q + 1);
        if (i < NUMBERS) grad[at] = sum;
    }
}

// One iteration back for M strips, and its products. `g` is this lane's gradient of the states, replaced.
template <int M>
__device__ __forceinline__ void back(const float *units, const float *z_at, float *g_at, Sums &sums) {
    float z[M][Q], g[M][Q], next[M][Q];
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int k = 0; k < Q; k++) {
            z[m][k] = z_at[m * STATE + k * 16];
            next[m][k] = g[m][k] = g_at[m * STATE + k * 16];
            sums.b2[k] = sums.b2[k] + g[m][k];
        }
#pragma unroll
    for (int j = 0; j < UNITS; j++) {
        float unit[UNIT];
        read_unit(units + j * UNIT, unit);
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
        for (int k = 0; k < Q; k++) g_at[m * STATE + k * 16] = next[m][k];
}

// Rows of the output function, then those of the input function.
__device__ __forceinline__ void affine_products(const Launch &L, const Work &w, int lane) {
    for (int c = 0; c < L.outputs; c++) {
        float sums[Q], bias = 0.0f;
#pragma unroll
        for (int k = 0; k < Q; k++) sums[k] = 0.0f;
        for (int strip = 0; strip < w.strips; strip++) {
            float left = w.g_out[((size_t)strip * L.outputs + c) * 16 + lane];
            const float *z = w.z + state_at(w, L.iterations, strip) + lane;
            bias = bias + left;
#pragma unroll
            for (int k = 0; k < Q; k++) sums[k] = fmaf(left, z[k * 16], sums[k]);
        }
        float *to = w.grad + output_at(L) + c * (Q + 1);
        bias = sum_lanes(bias);
        if (lane == 0) to[Q] = bias;
#pragma unroll
        for (int k = 0; k < Q; k++) {
            float sum = sum_lanes(sums[k]);
            if (lane == 0) to[k] = sum;
        }
    }
    for (int i = 0; i <= L.d; i++) {
        float sums[Q];
#pragma unroll
        for (int k = 0; k < Q; k++) sums[k] = 0.0f;
#pragma unroll 2
        for (int strip = 0; strip < w.strips; strip++) {
            float right = i < L.d ? w.x[((size_t)strip * L.d + i) * 16 + lane] : 1.0f;
            const float *g = w.g + strip * STATE + lane;
#pragma unroll
            for (int k = 0; k < Q; k++) sums[k] = i < L.d ? fmaf(g[k * 16], right, sums[k]) : sums[k] + g[k * 16];
        }
#pragma unroll
        for (int k = 0; k < Q; k++) {
            float sum = sum_lanes(sums[k]);
            if (lane == 0) w.grad[k * (L.d + 1) + i] = sum;
        }
    }
}

KERNEL_AT(fused, 32, FUSED_BLOCKS) {
    int lane = threadIdx.x & 15, half = threadIdx.x >> 4, number = blockIdx.x * 2 + half;
    if (number >= L.fits_count) return;
    Fit &fit = L.fits[number];
    if (fit.status != RUNNING) return;
    Work w;
    lay_out(L, fit.scratch, w);
    size_t words = 2 * (size_t)L.padded + (size_t)w.strips * (STATE + 32 * L.outputs);
    float *params = reinterpret_cast<float *>(shared_memory) + half * words;
    w.params = params;
    w.grad = params + L.padded;
    w.g = w.grad + L.padded;
    w.out = w.g + w.strips * STATE;
    w.g_out = w.out + w.strips * L.outputs * 16;
    for (int i = lane; i < L.padded; i += 16) params[i] = L.fixed[i];
    sync_lanes();
    for (int i = lane; i < L.packed; i += 16) {
        params[L.place[i]] = L.stage_start ? fit.best[i] : fit.theta[i];
        if (L.stage_start) fit.m[i] = fit.v[i] = 0.0f;
    }
    sync_lanes();
    int made = 0;
    for (int update = L.update; update < L.update + L.updates; update++) {
        w.rows = batch_rows(L, fit, update);
        int strip = 0;
        for (; strip + FORWARD <= w.strips; strip += FORWARD) forward_strips<FORWARD>(L, fit, w, strip, 1, lane);
        for (; strip < w.strips; strip++) forward_strips<1>(L, fit, w, strip, 1, lane);
        if (L.kind == ENERGY) {
            energy_derivative(L, fit, w, lane);
        } else {
            for (strip = 0; strip < w.strips; strip++) {
                int i = strip * 16 + lane;
                bool own = i < L.batch;
                size_t at = (size_t)strip * L.outputs * 16 + lane;
                derivative_row(L, fit, fit.y[w.rows[own ? i : strip * 16]], own ? fit.weight : 0.0f, w.out + at, w.g_out + at);
            }
        }
        for (strip = 0; strip < w.strips; strip++) {
            float g[Q];
            output_backward(L, params, w.g_out + (size_t)strip * L.outputs * 16 + lane, g);
#pragma unroll
            for (int k = 0; k < Q; k++) w.g[strip * STATE + k * 16 + lane] = g[k];
        }
        Sums sums;
        clear(sums);
        for (int start = 0; start < w.strips; start += L.at_once) {
            int end = start + L.at_once < w.strips ? start + L.at_once : w.strips;
            for (int t = L.iterations - 1; t >= 0; t--) {
                int block = block_at(L, t);
                const float *units = units_of(L, params, block);
                const float *z = w.z + state_at(w, t, 0) + lane;
                float *g = w.g + lane;
                strip = start;
                for (; strip + 2 <= end; strip += 2) back<2>(units, z + strip * STATE, g + strip * STATE, sums);
                for (; strip < end; strip++) back<1>(units, z + strip * STATE, g + strip * STATE, sums);
                if (L.blocks > 1) {
                    finish(sums, w.grad + L.input_len + block * L.block_len, lane);
                    clear(sums);
                }
            }
        }
        if (L.blocks == 1) finish(sums, w.grad + L.input_len, lane);
        affine_products(L, w, lane);
        sync_lanes();
        float scale = gradient_scale(L, fit, w.grad, lane);
        if (scale == INFINITY) {
            if (lane == 0) fit.status = DIVERGED;
            break;
        }
        const float *schedule = fit.schedule + 3 * (size_t)update;
#pragma unroll 2
        for (int i = lane; i < L.packed; i += 16) {
            int at = L.place[i];
            float rate = L.outgoing[i] ? fit.outgoing_rate : 1.0f;
            params[at] = adam_step(fit, w.grad[at], scale, rate, schedule, params[at], fit.m + i, fit.v + i);
        }
        made++;
        sync_lanes();
    }
    for (int i = lane; i < L.packed; i += 16) fit.theta[i] = params[L.place[i]];
    if (lane == 0) fit.made = made;
}
#endif

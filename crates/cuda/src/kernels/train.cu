// Kernels of training: a block is a fit and makes all updates of a launch.

// Padded coefficients from packed ones.
__device__ __forceinline__ void spread(const Launch &L, const float *packed, float *params) {
#pragma unroll 2
    for (int i = threadIdx.x; i < L.padded; i += blockDim.x) params[i] = L.fixed[i];
    __syncthreads();
#pragma unroll 2
    for (int i = threadIdx.x; i < L.packed; i += blockDim.x) params[L.place[i]] = packed[i];
    __syncthreads();
}

// Where many fits share a processor, its memory has no room for states.
__device__ __forceinline__ bool states_near(const Launch &L) { return STRIPS == 1 && L.near; }

// Shared memory: coefficients and their gradient, one number for all, states and their gradients if there is room.
__device__ __forceinline__ float *lay_out_shared(const Launch &L, const Fit &fit, Work &w) {
    float *params = reinterpret_cast<float *>(shared_memory);
    w.params = params;
    w.grad = params + L.padded;
    float *common = w.grad + L.padded;
    lay_out(L, states_near(L) ? common + 4 : fit.scratch, w);
    w.coming = common + 4 + (threadIdx.x >> 4) * COMING;
    return common;
}

// A fresh stage starts at the best checkpoint.
__device__ __forceinline__ void begin_stage(const Launch &L, Fit &fit) {
    if (!L.stage_start) return;
#pragma unroll 1
    for (int i = threadIdx.x; i < L.packed; i += blockDim.x) {
        fit.theta[i] = fit.best[i];
        fit.m[i] = 0.0f;
        fit.v[i] = 0.0f;
    }
    __syncthreads();
}

// One coefficient's step of Adam (paper F.4.3).
__device__ __forceinline__ float adam_step(const Fit &fit, float g, float scale, float rate, const float *schedule, float old,
                                           float *m, float *v) {
    g = fmaf((float)fit.coupled_double, old, scale * g);
    *m = fmaf(0.9f, *m, (float)(1.0 - 0.9) * g);
    *v = fmaf(0.999f, *v, (float)(1.0 - 0.999) * (g * g));
    float direction = *m / (sqrtf(*v * schedule[2]) + 1e-8f);
    float kept = fmaf(schedule[1] * rate, old, old);
    float moved = fmaf(schedule[0] * rate, direction, kept);
    return lesser(fit.parameter_bound, greater(-fit.parameter_bound, moved));
}

// The factor that caps the gradient's norm; not a finite number if there is no step.
__device__ __forceinline__ float gradient_scale(const Launch &L, const Fit &fit, const float *grad, const int32_t *place,
                                                int lane) {
    float sum = 0.0f;
#pragma unroll 4
    for (int i = lane; i < L.packed; i += 16) {
        float g = grad[place[i]];
        sum = fmaf(g, g, sum);
    }
    float norm = sqrtf(sum_lanes(sum));
    if (!(norm <= 3.402823466e38f)) return INFINITY;
    return norm > fit.gradient_cap ? fit.gradient_cap / norm : 1.0f;
}

#if PART_ADAM
KERNEL_AT(adam, GRADIENT_THREADS, GRADIENT_BLOCKS) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    begin_stage(L, fit);
    Work w;
    float *common = lay_out_shared(L, fit, w);
    float *params = const_cast<float *>(w.params);
    spread(L, fit.theta, params);
    int made = 0;
    for (int update = L.update; update < L.update + L.updates; update++) {
        w.rows = batch_rows(L, fit, update);
        forward_pass(L, fit, w);
        back_pass(L, fit, w, false);
        if (threadIdx.x < 16) {
            float scale = gradient_scale(L, fit, w.grad, L.place, threadIdx.x);
            if (threadIdx.x == 0) common[0] = scale;
        }
        __syncthreads();
        float scale = common[0];
        if (scale == INFINITY) {
            if (threadIdx.x == 0) fit.status = DIVERGED;
            break;
        }
        const float *schedule = fit.schedule + 3 * (size_t)update;
#pragma unroll 2
        for (int i = threadIdx.x; i < L.packed; i += blockDim.x) {
            int at = L.place[i];
            float rate = L.outgoing[i] ? fit.outgoing_rate : 1.0f;
            params[at] = adam_step(fit, w.grad[at], scale, rate, schedule, params[at], fit.m + i, fit.v + i);
        }
        made++;
        __syncthreads();
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < L.packed; i += blockDim.x) fit.theta[i] = params[L.place[i]];
    if (threadIdx.x == 0) fit.made = L.update - L.ordered + made;
}
#endif

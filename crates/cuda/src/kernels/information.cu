// What the kernels of Fisher scoring have in common.
#if PART_SCORING || PART_REFRESH || SCORING

// Rows of the factor that are solved for together.
#define PANEL 8

__device__ __forceinline__ double unit_of(const Launch &L, const Fit &fit, int i) {
    return L.outgoing[i] ? fit.outgoing_unit : 1.0;
}

__device__ __forceinline__ int stride_of(int n) { return ((n + 7) / 8 | 1) * 8; }

// What a coefficient's average gradient becomes, and the right-hand side of its step.
__device__ __forceinline__ double momentum_step(const Fit &fit, float grad, float old, double share, double unit, double *momentum) {
    double g = (double)grad + fit.coupled_double * (double)old;
    double m = 0.9 * *momentum + (1.0 - 0.9) * g;
    *momentum = m;
    return unit * (m / share);
}

// How far a step goes along a direction; below zero if there is none.
__device__ __forceinline__ double step_length(const Fit &fit, const double *direction, int p, double rate) {
    double sum = 0.0;
#pragma unroll 8
    for (int i = 0; i < p; i++) sum += direction[i] * direction[i];
    double norm = sqrt(sum);
    return norm <= 1.7976931348623157e308 ? fmin(rate, fit.step_cap / norm) : -1.0;
}

// A coefficient after a step.
__device__ __forceinline__ float moved(const Fit &fit, float from, double rate, double length, double way) {
    double old = from, bound = fit.parameter_bound;
    double to = old - rate * fit.decoupled_double * old - length * way;
    if (to < -bound) to = -bound;
    if (to > bound) to = bound;
    return (float)to;
}
#endif

#if PART_SCORING || SCORING
// R e of one sample, where R R^T is the likelihood's information at its outputs; `f` are clipped outputs.
__device__ void information_seed(const Launch &L, const Fit &fit, uint64_t signs, int sample, double weight, const float *out,
                                 float *seed) {
    float bound = fit.output_bound;
    if (SINGLE || (L.outputs == 1 && L.kind != MULTICLASS)) {
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
#endif

// The validation loss, in 64 bits, and the best checkpoint.
#if PART_VALIDATE || PART_SCORING

// The pairwise sum of the processor: halves down to 32 terms. Every node of the tree has a slot.
__device__ __noinline__ double pairwise_sum(const double *terms, int n, double *slots) {
    int depth = 0;
    while (((n - 1) >> depth) + 1 > 32) depth++;
    for (int level = depth; level >= 0; level--) {
        for (int path = threadIdx.x; path < (1 << level); path += blockDim.x) {
            int first = 0, len = n;
            bool exists = true;
            for (int bit = level - 1; bit >= 0; bit--) {
                if (len <= 32) exists = false;
                int half = len / 2;
                if (path >> bit & 1) {
                    first += half;
                    len -= half;
                } else {
                    len = half;
                }
            }
            if (!exists) continue;
            int slot = path << (depth - level);
            if (len <= 32) {
                double sum = 0.0;
                for (int i = 0; i < len; i++) sum = sum + terms[first + i];
                slots[slot] = sum;
            } else {
                slots[slot] = slots[slot] + slots[(path * 2 + 1) << (depth - level - 1)];
            }
        }
        __syncthreads();
    }
    double sum = slots[0];
    __syncthreads();
    return sum;
}

// The largest number among values; `room` is as long.
__device__ __noinline__ double largest(const double *values, int n, double *room) {
    double top = -INFINITY;
    for (int i = threadIdx.x; i < n; i += blockDim.x) top = values[i] > top ? values[i] : top;
    if (threadIdx.x < n) room[threadIdx.x] = top;
    __syncthreads();
    int parts = n < (int)blockDim.x ? n : (int)blockDim.x;
    top = -INFINITY;
    for (int i = 0; i < parts; i++) top = room[i] > top ? room[i] : top;
    __syncthreads();
    return top;
}

// log sum_i e^{v_i}; `terms` is as long as `values`.
__device__ double log_sum_exp(const double *values, int n, double *terms, double *slots) {
    double top = largest(values, n, terms);
    if (top == INFINITY || top == -INFINITY) {
        bool not_a_number = false;
        for (int i = 0; i < n; i++) not_a_number = not_a_number || values[i] != values[i];
        __syncthreads();
        return not_a_number ? NAN : top;
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) terms[i] = exp_double(values[i] - top);
    __syncthreads();
    return top + log_double(pairwise_sum(terms, n, slots));
}
#endif

#if PART_VALIDATE
// The negative log density of one target.
__device__ double nll_row(const Launch &L, const Fit &fit, int row, const float *out) {
    float bound = fit.output_bound;
    double f = clip(out[0], bound);
    if (L.kind == ENERGY) return f;
    double y = fit.valid_y[row];
    if (L.kind == GAUSSIAN) {
        double residual = y - f;
        return fit.nll[0] * residual * residual + fit.nll[1] + fit.nll[2];
    }
    if (L.kind == LAPLACE) return fit.nll[0] * fabs(y - f) + fit.nll[1];
    if (L.kind == POISSON) return exp_double(f) - y * f + fit.valid_constant[row];
    if (L.kind == BERNOULLI) return softplus((1.0 - 2.0 * y) * f);
    double top = -INFINITY, total = 0.0;
    for (int c = 0; c < L.outputs; c++) top = fmax(top, (double)clip(out[c], bound));
    for (int c = 0; c < L.outputs; c++) total = total + exp_double((double)clip(out[c], bound) - top);
    return (top - (double)clip(out[(int)y], bound)) + log_double(total);
}

// Rows of a thread at once: a hidden unit is read once for all of them.
#define ROWS (Q <= 4 ? 4 : 2)

// Terms of rows, or clipped outputs of nodes.
__device__ __noinline__ void terms_of(const Launch &L, const Fit &fit, const float *params, const float *x, int n, bool nodes, double *terms,
                         float *room) {
    for (int first = threadIdx.x; first < n; first += ROWS * blockDim.x) {
        const float *inputs[ROWS];
        float z[ROWS][Q];
#pragma unroll
        for (int m = 0; m < ROWS; m++) {
            int row = first + m * blockDim.x;
            inputs[m] = x + (size_t)(row < n ? row : first) * row_len(L);
        }
        input_rows<ROWS, false>(L, params, inputs, nullptr, z);
        for (int t = 0; t < L.iterations; t++) {
            int block = block_at(L, t);
            block_forward<ROWS>(units_of(L, params, block), b2_of(L, params, block), L.r, z);
        }
#pragma unroll 1
        for (int m = 0; m < ROWS; m++) {
            int row = first + m * blockDim.x;
            if (row >= n) break;
            if (L.outputs == 1) {
                float out = output_row(L, params, 0, z[0]);
                terms[row] = nodes ? (double)clip(out, fit.output_bound) : nll_row(L, fit, row, &out);
            } else {
                float *out = room + (size_t)threadIdx.x * L.outputs;
                for (int c = 0; c < L.outputs; c++) out[c] = output_row(L, params, c, z[0]);
                terms[row] = nll_row(L, fit, row, out);
            }
            // Registers have no numbers: the next row's state becomes the first.
#pragma unroll
            for (int next = 1; next < ROWS; next++)
#pragma unroll
                for (int k = 0; k < Q; k++) z[next - 1][k] = z[next][k];
        }
    }
    __syncthreads();
}

// Terms, one for each validation sample and node, are followed by slots of sums and by room for outputs.
KERNEL(validate, 256) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    float *params = reinterpret_cast<float *>(shared_memory);
    // Before the first stage nothing but the best checkpoint is there.
    spread(L, L.stage_start ? fit.best : fit.theta, params);
    int n = fit.valid_n, nodes = L.valid_nodes;
    double *terms = fit.terms, *slots = terms + n + 2 * (size_t)nodes;
    float *room = reinterpret_cast<float *>(slots + (n + nodes) / 8 + 64);
    terms_of(L, fit, params, fit.valid_x, n, false, terms, room);
    double loss = pairwise_sum(terms, n, slots) / (double)n;
    if (nodes > 0) {
        terms_of(L, fit, params, L.valid_node_x, nodes, true, terms + n, room);
        double log_normaliser = log_sum_exp(terms + n, nodes, terms + n + nodes, slots) - fit.nll[0];
        loss = log_normaliser - loss;
    }
    bool better = loss < fit.best_loss && loss > -INFINITY;
    __syncthreads();
    if (threadIdx.x == 0) {
        fit.loss = loss;
        if (better) fit.best_loss = loss;
        if (!(loss - loss == 0.0)) fit.status = DIVERGED;
    }
    if (better && !L.stage_start)
        for (int i = threadIdx.x; i < L.packed; i += blockDim.x) fit.best[i] = fit.theta[i];
}
#endif

// The average information and its Cholesky factor, a block of threads a fit, from the lines that an update left behind. The same
// for all networks.
#if PART_REFRESH

// Rows and columns of a tile of the information.
#define TILE 8

// Products of lines over strips and lanes, blended into the average in 64 bits: a tile of the matrix is sixteen lanes'.
__device__ void blend_information(const Launch &L, const Fit &fit, double keep, double share, float *means) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4;
    bool energy = L.kind == ENERGY;
    int strips = energy ? L.node_strips : L.strips, p = L.packed, lines = (L.padded + 1) * 16;
    const float *rows = global_memory(fit.rows) + lane;
    if (energy) {
        for (int i = group; i < p; i += groups) {
            const float *left = rows + L.place[i] * 16, *right = rows + L.padded * 16;
            float sum = 0.0f;
            for (int s = 0; s < strips; s++) sum = fmaf(left[(size_t)s * lines], right[(size_t)s * lines], sum);
            sum = sum_lanes(sum);
            if (lane == 0) means[i] = sum;
        }
        __syncthreads();
    }
    double *average = global_memory(fit.average);
    int side = (p + TILE - 1) / TILE;
    // Tiles on the diagonal and right of it, row by row.
    for (int above = 0, across = group; above < side; across += groups) {
        while (above < side && across >= side - above) across -= side - above++;
        if (above >= side) break;
        int i = above * TILE, j = (above + across) * TILE, left[TILE], right[TILE];
        float sums[TILE * TILE];
#pragma unroll
        for (int a = 0; a < TILE; a++) {
            left[a] = L.place[i + a < p ? i + a : i] * 16;
            right[a] = L.place[j + a < p ? j + a : j] * 16;
#pragma unroll
            for (int b = 0; b < TILE; b++) sums[a * TILE + b] = 0.0f;
        }
        const float *strip = rows;
#pragma unroll 2
        for (int s = 0; s < strips; s++, strip += lines) {
            float l[TILE], r[TILE];
#pragma unroll
            for (int a = 0; a < TILE; a++) {
                l[a] = strip[left[a]];
                r[a] = strip[right[a]];
            }
#pragma unroll
            for (int a = 0; a < TILE; a++)
#pragma unroll
                for (int b = 0; b < TILE; b++) sums[a * TILE + b] = fmaf(l[a], r[b], sums[a * TILE + b]);
        }
        // A lane has the sum of an entry and writes it.
#pragma unroll
        for (int first = 0; first < TILE * TILE; first += 16) {
            float sum = sum_sixteen(sums + first);
            int row = i + (first + lane) / TILE, column = j + lane % TILE;
            if (row < p && column < p && column >= row) {
                double product = sum;
                if (energy) product = product - (double)means[row] * (double)means[column];
                double *to = average + (size_t)row * p + column;
                // The first of a stage has all the weight.
                *to = keep * (L.stage_start ? 0.0 : *to) + share * product;
            }
        }
    }
    __syncthreads();
}

// What the threads of a block share.
struct Shared {
    double triangle[PANEL * PANEL], inverse[PANEL];
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

// U with U^T U = C A C + damping I, C the units, a panel of rows at a time; every entry takes off the rows above in ascending
// order. False if that is not positive definite.
__device__ bool factor(const Launch &L, const Fit &fit, double damping, Shared &shared) {
    int n = L.packed, stride = stride_of(n);
    const double *a = global_memory(fit.average);
    double *u = global_memory(fit.factor);
    bool units = fit.outgoing_unit != 1.0;
    for (int first = 0; first < n; first += PANEL) {
        int rows = n - first < PANEL ? n - first : PANEL;
        for (int base = first; base < stride; base += blockDim.x) {
            int j = base + threadIdx.x;
            double s[PANEL];
#pragma unroll
            for (int k = 0; k < PANEL; k++) {
                s[k] = k < rows && j < n && j >= first + k ? a[(size_t)(first + k) * n + j] : 0.0;
                if (units && k < rows && j < n) s[k] = s[k] * (unit_of(L, fit, first + k) * unit_of(L, fit, j));
                if (j == first + k) s[k] += damping;
            }
            if (j < n) {
                const double *row = u;
#pragma unroll 4
                for (int i = 0; i < first; i++, row += stride) {
                    double own = row[j], above[PANEL];
                    read_eight(row + first, above);
#pragma unroll
                    for (int k = 0; k < PANEL; k++) s[k] = fma(-above[k], own, s[k]);
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

// Takes a batch into the average information and factors it.
KERNEL(refresh, GRADIENT_THREADS) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    Shared &shared = *reinterpret_cast<Shared *>(shared_memory);
    double past = (L.stage_start ? 1.0 : fit.past) * fit.memory, share = (1.0 - fit.memory) / (1.0 - past);
    __syncthreads();
    if (threadIdx.x == 0) fit.past = past;
    // Means go behind the lines.
    float *means = fit.rows + (size_t)(L.kind == ENERGY ? L.node_strips : L.strips) * (L.padded + 1) * 16;
    blend_information(L, fit, 1.0 - share, share, means);
    double damping = fit.damping;
    bool good = false;
    for (int attempt = 0; attempt < 8 && !good; attempt++) {
        good = factor(L, fit, damping, shared);
        __syncthreads();
        damping *= 10.0;
    }
    if (!good && threadIdx.x == 0) fit.status = DIVERGED;
}
#endif

// The average information and its Cholesky factor, a block of threads a fit, from the lines that an update left behind. The same
// for all networks.
#if PART_REFRESH

// Rows and columns of a tile of the information.
#define TILE 8

// Lines of coefficients: in shared memory, where they have room, [strip][coefficient][lane] in whole tiles, else where the update
// left them.
template <bool NEAR>
struct Lines {
    const float *rows;
    const int32_t *place;
    int count, step;  // coefficients, and words from a strip to the next

    int at(int i) const { return (NEAR ? i : place[i < count ? i : count - 1]) * 16; }
};

// Brings the lines to shared memory; beyond the last one it is repeated.
__device__ __forceinline__ void fetch_lines(const Launch &L, const float *rows, int strips, int wide, float *to) {
    int from = (L.padded + 1) * 16, part = threadIdx.x % 4 * 4;
    for (int line = threadIdx.x / 4; line < wide; line += blockDim.x / 4) {
        const float *own = rows + L.place[line < L.packed ? line : L.packed - 1] * 16 + part;
#pragma unroll 4
        for (int s = 0; s < strips; s++) async_copy<4>(to + (s * wide + line) * 16 + part, own + s * from);
    }
    async_group();
    async_wait<0>();
    __syncthreads();
}

// Products of lines over strips and lanes, blended into the average in 64 bits: a tile of the matrix is sixteen lanes'.
template <bool NEAR>
__device__ __forceinline__ void blend_information(const Launch &L, const Fit &fit, Lines<NEAR> lines, int strips, const float *means,
                                                  double keep, double share) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4, p = L.packed;
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
            left[a] = lines.at(i + a);
            right[a] = lines.at(j + a);
#pragma unroll
            for (int b = 0; b < TILE; b++) sums[a * TILE + b] = 0.0f;
        }
        // A lane has the sum of an entry of every other row, and blends it into what is on its way meanwhile; the first of a stage has
        // all the weight.
        int column = j + lane % TILE;
        double *to = average + (size_t)(i + lane / TILE) * p + column, old[TILE / 2];
#pragma unroll
        for (int a = 0; a < TILE / 2; a++) {
            int row = i + 2 * a + lane / TILE;
            bool own = row < p && column < p && column >= row;
            old[a] = NEAR && own && !L.stage_start ? to[(size_t)2 * a * p] : 0.0;
        }
        const float *strip = lines.rows + lane;
#pragma unroll 1
        for (int s = 0; s < strips; s++, strip += lines.step) {
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
#pragma unroll
        for (int a = 0; a < TILE / 2; a++) {
            double product = sum_sixteen(sums + 16 * a);
            int row = i + 2 * a + lane / TILE;
            if (row < p && column < p && column >= row) {
                if (L.kind == ENERGY) product = product - (double)means[row] * (double)means[column];
                double before = NEAR || L.stage_start ? old[a] : to[(size_t)2 * a * p];
                to[(size_t)2 * a * p] = keep * before + share * product;
            }
        }
    }
    __syncthreads();
}

// The means of lines of an energy model, weighted by the roots of masses.
__device__ __forceinline__ void line_means(const Launch &L, const float *rows, int strips, float *means) {
    int lane = threadIdx.x & 15, group = threadIdx.x >> 4, groups = blockDim.x >> 4, step = (L.padded + 1) * 16;
    for (int i = group; i < L.packed; i += groups) {
        const float *left = rows + L.place[i] * 16 + lane, *right = rows + L.padded * 16 + lane;
        float sum = 0.0f;
        for (int s = 0; s < strips; s++) sum = fmaf(left[(size_t)s * step], right[(size_t)s * step], sum);
        sum = sum_lanes(sum);
        if (lane == 0) means[i] = sum;
    }
    __syncthreads();
}

// What the threads of a block share.
struct Shared {
    double triangle[PANEL * PANEL], inverse[PANEL];
    int good, unused[3];
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

// Rows of the factor above a panel: in shared memory a panel's begin at its own first column.
template <bool NEAR>
struct Above {
    double *u;
    int width;

    // Where column 0 of a row would be.
    double *row(int i) const {
        if (!NEAR) return u + (size_t)i * width;
        int panel = i / PANEL, first = panel * PANEL;
        return u + first * width - first * (first - PANEL) / 2 + (i - first) * (width - first) - first;
    }
};

// Entries of a panel in column j on the diagonal and right of it.
__device__ __forceinline__ void entries(const double *a, int n, int first, int j, double *to) {
#pragma unroll
    for (int k = 0; k < PANEL; k++) to[k] = first + k < n && j < n && j >= first + k ? a[(size_t)(first + k) * n + j] : 0.0;
}

// U with U^T U = C A C + damping I, C the units, a panel of rows at a time; every entry takes off the rows above in ascending
// order. False if that is not positive definite.
template <bool NEAR>
__device__ __forceinline__ bool factor(const Launch &L, const Fit &fit, Above<NEAR> above, double damping, Shared &shared) {
    int n = L.packed, stride = stride_of(n);
    const double *a = global_memory(fit.average);
    double *u = global_memory(fit.factor);
    bool units = fit.outgoing_unit != 1.0;
    // The first entries of a panel are on their way while the one before is factored.
    double coming[PANEL];
    entries(a, n, 0, threadIdx.x, coming);
    for (int first = 0; first < n; first += PANEL) {
        int rows = n - first < PANEL ? n - first : PANEL;
        for (int base = first; base < stride; base += blockDim.x) {
            int j = base + threadIdx.x;
            double s[PANEL];
            if (base == first) {
#pragma unroll
                for (int k = 0; k < PANEL; k++) s[k] = coming[k];
                entries(a, n, first + PANEL, first + PANEL + threadIdx.x, coming);
            } else {
                entries(a, n, first, j, s);
            }
#pragma unroll
            for (int k = 0; k < PANEL; k++) {
                if (units && k < rows && j < n) s[k] = s[k] * (unit_of(L, fit, first + k) * unit_of(L, fit, j));
                if (j == first + k) s[k] += damping;
            }
            if (j < n) {
                for (int panel = 0; panel < first; panel += PANEL) {
                    const double *row = above.row(panel);
                    int step = NEAR ? above.width - panel : above.width;
#pragma unroll 4
                    for (int i = 0; i < PANEL; i++, row += step) {
                        double own = row[j], eight[PANEL];
                        read_eight(row + first, eight);
#pragma unroll
                        for (int k = 0; k < PANEL; k++) s[k] = fma(-eight[k], own, s[k]);
                    }
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
                if (j >= first + k && j < stride) {
                    u[(size_t)(first + k) * stride + j] = j < n ? s[k] : 0.0;
                    if (NEAR && j < n) above.row(first)[k * (above.width - first) + j] = s[k];
                }
#pragma unroll
                for (int r = k + 1; r < PANEL; r++) s[r] = fma(-shared.triangle[k * PANEL + r], s[k], s[r]);
            }
        }
        __syncthreads();
    }
    return true;
}

template <bool NEAR>
__device__ __forceinline__ bool take_in(const Launch &L, const Fit &fit, double keep, double share, Shared &shared) {
    bool energy = L.kind == ENERGY;
    int strips = energy ? L.node_strips : L.strips, step = (L.padded + 1) * 16;
    float *rows = global_memory(fit.rows), *means = rows + (size_t)strips * step;
    // Room for lines, then for the factor.
    double *near = reinterpret_cast<double *>(&shared) + sizeof(Shared) / 8;
    if (energy) line_means(L, rows, strips, means);
    Lines<NEAR> lines = {rows, L.place, L.packed, step};
    int wide = (L.packed + TILE - 1) / TILE * TILE;
    if (NEAR) {
        fetch_lines(L, rows, strips, wide, reinterpret_cast<float *>(near));
        lines = {reinterpret_cast<float *>(near), L.place, L.packed, wide * 16};
    }
    blend_information<NEAR>(L, fit, lines, strips, means, keep, share);
    Above<NEAR> above = {fit.factor, stride_of(L.packed)};
    if (NEAR) above = {near, wide};
    double damping = fit.damping;
    for (int attempt = 0; attempt < 8; attempt++) {
        if (factor<NEAR>(L, fit, above, damping, shared)) return true;
        __syncthreads();
        damping *= 10.0;
    }
    return false;
}

// Takes a batch into the average information and factors it.
KERNEL(refresh, GRADIENT_THREADS) {
    Fit &fit = L.fits[blockIdx.x];
    if (fit.status != RUNNING) return;
    Shared &shared = *reinterpret_cast<Shared *>(shared_memory);
    double past = (L.stage_start ? 1.0 : fit.past) * fit.memory, share = (1.0 - fit.memory) / (1.0 - past);
    __syncthreads();
    if (threadIdx.x == 0) fit.past = past;
    bool good = take_in<SHARED_STATES>(L, fit, 1.0 - share, share, shared);
    if (!good && threadIdx.x == 0) fit.status = DIVERGED;
}
#endif

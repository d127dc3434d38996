// Fisher scoring with half a warp a fit: what the next information needs, and solves with the factor of the last one.
#if PART_FUSED && SCORING

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

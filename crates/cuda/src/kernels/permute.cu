// Batch order: a Fisher-Yates permutation for each epoch.
#if PART_COMMON

// What entry i is swapped with, from the draw that it shares with a neighbour: the odd one has the lower half of its bits.
__device__ __forceinline__ uint32_t target_of(uint64_t half, int i) {
    return (uint32_t)((half & 0xffffffffull) * (uint64_t)(i + 1) >> 32);
}

// Swaps entries from `from` down to `to`.
template <typename Word>
__device__ __forceinline__ void swap_down(uint64_t key, int from, int to, Word *order, int step) {
    uint64_t bits = bits_of(key, (uint64_t)(from + 1));
    for (int i = from; i >= to; i--) {
        bits = i % 2 == 0 ? bits >> 32 : bits_of(key, (uint64_t)i);
        size_t below = target_of(bits, i);
        Word own = order[(size_t)i * step];
        order[(size_t)i * step] = order[below * step];
        order[below * step] = own;
    }
}

// Part `blockIdx.x % parts` of the epochs of a launch that no launch before it has had: the first of them; none beyond the last.
struct Epochs {
    int first, last;
};
__device__ __forceinline__ Epochs epochs_of(const Launch &L, const Fit &fit) {
    int in_epoch = fit.n / L.batch, known = L.ordered > 0 ? (L.ordered - 1) / in_epoch + 1 : 0;
    return {known + (int)(blockIdx.x % L.parts) * L.epochs, (L.ordered + L.updates - 1) / in_epoch};
}

// In shared memory, 16 bits an entry, a thread an epoch.
KERNEL(permute_shared, 32) {
    const Fit &fit = L.fits[blockIdx.x / L.parts];
    if (fit.status != RUNNING) return;
    Epochs own = epochs_of(L, fit);
    uint16_t *orders = reinterpret_cast<uint16_t *>(shared_memory);
    if (threadIdx.x < L.epochs && own.first + (int)threadIdx.x <= own.last) {
        uint64_t key = nth(fit.batches, (uint64_t)(own.first + threadIdx.x));
        for (int i = 0; i < fit.n; i++) orders[(size_t)i * L.epochs + threadIdx.x] = (uint16_t)i;
        swap_down<uint16_t>(key, fit.n - 1, 1, orders + threadIdx.x, L.epochs);
    }
    __syncthreads();
    for (int e = 0; e < L.epochs && own.first + e <= own.last; e++) {
        uint32_t *order = order_of(L, fit, own.first + e);
        for (int i = threadIdx.x; i < fit.n; i += blockDim.x) order[i] = orders[(size_t)i * L.epochs + e];
    }
}

// Where that has no room, a warp an epoch: 32 swaps at once, one after the other where two of them touch the same entry.
KERNEL(permute_global, 32) {
    const Fit &fit = L.fits[blockIdx.x / L.parts];
    if (fit.status != RUNNING) return;
    Epochs own = epochs_of(L, fit);
    if (own.first > own.last) return;
    uint64_t key = nth(fit.batches, (uint64_t)own.first);
    uint32_t *order = order_of(L, fit, own.first);
    for (int i = threadIdx.x; i < fit.n; i += 32) order[i] = (uint32_t)i;
    sync_warp();
    for (int top = fit.n - 1; top >= 1; top -= 32) {
        int i = top - (int)threadIdx.x;
        uint64_t bits = bits_of(key, (uint64_t)(i | 1));
        int below = i >= 1 ? (int)target_of(i % 2 == 0 ? bits >> 32 : bits, i) : i - 1;
        bool apart = only_mine(below) && (below <= top - 32 || below == i || i < 1);
        if (either(!apart)) {
            if (threadIdx.x == 0) swap_down<uint32_t>(key, top, top > 32 ? top - 31 : 1, order, 1);
        } else if (i >= 1) {
            uint32_t high = order[i];
            order[i] = order[below];
            order[below] = high;
        }
        sync_warp();
    }
}
#endif

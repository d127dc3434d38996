// Batch order: a Fisher-Yates permutation for each epoch.
#if PART_PERMUTE

// What entry i is swapped with, from the draw that it shares with a neighbour: the odd one has the lower half of its bits.
__device__ __forceinline__ uint32_t target_of(uint64_t half, int i) {
    return (uint32_t)((half & 0xffffffffull) * (uint64_t)(i + 1) >> 32);
}

// The permutation of an epoch. A warp makes swaps at once, from the last entry down, as many as touch nothing that one before them
// touches.
template <typename Word>
__device__ __forceinline__ void permute(uint64_t key, int n, Word *order) {
    int lane = threadIdx.x;
    for (int i = lane; i < n; i += 32) order[i] = (Word)i;
    sync_warp();
    for (int top = n - 1; top >= 1;) {
        int i = top - lane;
        uint64_t bits = bits_of(key, (uint64_t)(i | 1));
        int below = i >= 1 ? (int)target_of(i % 2 == 0 ? bits >> 32 : bits, i) : i;
        // The first that shares its target, and the first whose target is the entry of one after it.
        int shared = first_vote(earlier_has(below)), within = first_vote(below > top - 32 && below < i) + 1;
        int together = shared < within ? shared : within < 32 ? within : 32;
        if (i >= 1 && lane < together) {
            Word high = order[i];
            order[i] = order[below];
            order[below] = high;
        }
        sync_warp();
        top -= together;
    }
}

// The epoch of a block, the first of a launch that no launch before it has had; none beyond the last.
__device__ __forceinline__ bool epoch_of(const Launch &L, const Fit &fit, int *epoch) {
    int in_epoch = fit.n / L.batch, known = L.ordered > 0 ? (L.ordered - 1) / in_epoch + 1 : 0;
    *epoch = known + (int)(blockIdx.x % L.parts);
    return fit.status == RUNNING && *epoch <= (L.ordered + L.updates - 1) / in_epoch;
}

// In shared memory, 16 bits an entry.
KERNEL(permute_shared, 32) {
    const Fit &fit = L.fits[blockIdx.x / L.parts];
    int epoch;
    if (!epoch_of(L, fit, &epoch)) return;
    uint16_t *near = reinterpret_cast<uint16_t *>(shared_memory);
    permute<uint16_t>(nth(fit.batches, (uint64_t)epoch), fit.n, near);
    uint32_t *order = order_of(L, fit, epoch);
    for (int i = threadIdx.x; i < fit.n; i += 32) order[i] = near[i];
}

// Where that has no room.
KERNEL(permute_global, 32) {
    const Fit &fit = L.fits[blockIdx.x / L.parts];
    int epoch;
    if (!epoch_of(L, fit, &epoch)) return;
    permute<uint32_t>(nth(fit.batches, (uint64_t)epoch), fit.n, order_of(L, fit, epoch));
}
#endif

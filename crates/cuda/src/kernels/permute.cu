// Batch order: a Fisher-Yates permutation for each epoch.
#if PART_PERMUTE

// What entry i is swapped with, from the draw that it shares with a neighbour: the odd one has the lower half of its bits.
__device__ __forceinline__ uint32_t target_of(uint64_t half, int i) {
    return (uint32_t)((half & 0xffffffffull) * (uint64_t)(i + 1) >> 32);
}

// Where the threads of a warp say what they swap with: words of shared memory, a power of two.
#define CLAIMS 1024

// The permutation of a long epoch. A warp makes swaps at once, from the last entry down, as many as touch nothing that one before
// them touches; entries that share a word of the claims count as one.
template <typename Word>
__device__ __forceinline__ void permute(uint64_t key, int n, Word *order) {
    uint32_t *claims = reinterpret_cast<uint32_t *>(shared_memory);
    int lane = threadIdx.x;
    for (int i = lane; i < CLAIMS; i += 32) claims[i] = 32;
    for (int i = lane; i < n; i += 32) order[i] = (Word)i;
    sync_warp();
    for (int top = n - 1; top >= 1;) {
        int i = top - lane;
        uint64_t bits = bits_of(key, (uint64_t)(i | 1));
        int below = i >= 1 ? (int)target_of(i % 2 == 0 ? bits >> 32 : bits, i) : 0;
        uint32_t *claim = claims + below % CLAIMS;
        if (i >= 1) lower(claim, lane);
        sync_warp();
        // The first whose target one before it has, and the first whose target is the entry of one after it.
        int shared = first_vote(i >= 1 && *claim < lane), within = first_vote(below > top - 32 && below < i) + 1;
        int together = shared < within ? shared : within < 32 ? within : 32;
        *claim = 32;
        if (i >= 1 && lane < together) {
            Word high = order[i];
            order[i] = order[below];
            order[below] = high;
        }
        sync_warp();
        top -= together;
    }
}

// An epoch by number, counted over the fits of a launch and those of their epochs that no launch before it has had; none beyond the
// last.
__device__ __forceinline__ bool epoch_of(const Launch &L, int number, const Fit **fit, int *epoch) {
    if (number >= L.epochs) return false;
    *fit = &L.fits[number / L.parts];
    int in_epoch = (*fit)->n / L.batch, known = L.ordered > 0 ? (L.ordered - 1) / in_epoch + 1 : 0;
    *epoch = known + number % L.parts;
    return (*fit)->status == RUNNING && *epoch <= (L.ordered + L.updates - 1) / in_epoch;
}

// Many short epochs, each a thread's, in shared memory with 16 bits an entry: an odd number of words from one to the next.
KERNEL(permute_short, 32) {
    uint16_t *all = reinterpret_cast<uint16_t *>(shared_memory);
    const Fit *fit;
    int epoch, step = L.order_step, first = blockIdx.x * 32;
    if (epoch_of(L, first + threadIdx.x, &fit, &epoch)) {
        uint64_t key = nth(fit->batches, (uint64_t)epoch), bits = 0;
        uint16_t *near = all + threadIdx.x * step;
        for (int i = 0; i < fit->n; i++) near[i] = (uint16_t)i;
        for (int i = fit->n - 1; i >= 1; i--) {
            // Neighbours share a draw.
            if (i % 2 == 1 || i == fit->n - 1) bits = bits_of(key, (uint64_t)(i | 1));
            uint32_t below = target_of(i % 2 == 0 ? bits >> 32 : bits, i);
            uint16_t high = near[i];
            near[i] = near[below];
            near[below] = high;
        }
    }
    sync_warp();
    for (int which = 0; which < 32; which++) {
        if (!epoch_of(L, first + which, &fit, &epoch)) continue;
        uint32_t *order = order_of(L, *fit, epoch);
        for (int i = threadIdx.x; i < fit->n; i += 32) order[i] = all[which * step + i];
    }
}

// Others, in shared memory behind the claims.
KERNEL(permute_shared, 32) {
    const Fit *fit;
    int epoch;
    if (!epoch_of(L, blockIdx.x, &fit, &epoch)) return;
    uint16_t *near = reinterpret_cast<uint16_t *>(reinterpret_cast<uint32_t *>(shared_memory) + CLAIMS);
    permute<uint16_t>(nth(fit->batches, (uint64_t)epoch), fit->n, near);
    uint32_t *order = order_of(L, *fit, epoch);
    for (int i = threadIdx.x; i < fit->n; i += 32) order[i] = near[i];
}

// Where that has no room.
KERNEL(permute_global, 32) {
    const Fit *fit;
    int epoch;
    if (!epoch_of(L, blockIdx.x, &fit, &epoch)) return;
    permute<uint32_t>(nth(fit->batches, (uint64_t)epoch), fit->n, order_of(L, *fit, epoch));
}
#endif

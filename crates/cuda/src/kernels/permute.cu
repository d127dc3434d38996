// Batch order: a Fisher-Yates permutation for each epoch of a launch, a thread each.
#if PART_COMMON

// Entry i of this thread's permutation, 16 or 32 bits wide.
template <typename Word>
__device__ void permutation(uint64_t key, int n, Word *order, int step) {
    for (int i = 0; i < n; i++) order[(size_t)i * step] = (Word)i;
    uint64_t bits = bits_of(key, (uint64_t)n);
    for (int i = n - 1; i >= 1; i--) {
        bits = i % 2 == 0 ? bits >> 32 : bits_of(key, (uint64_t)i);
        size_t below = (size_t)((bits & 0xffffffffull) * (uint64_t)(i + 1) >> 32);
        Word own = order[(size_t)i * step];
        order[(size_t)i * step] = order[below * step];
        order[below * step] = own;
    }
}

// Epochs `blockIdx.x % parts * epochs...` of fit `blockIdx.x / parts`. In shared memory where the orders of some fit.
__device__ __forceinline__ void permute_epochs(const Launch &L, bool shared) {
    int parts = L.parts, fit_number = blockIdx.x / parts, epochs = L.epochs;
    const Fit &fit = L.fits[fit_number];
    if (fit.status != RUNNING) return;
    int in_epoch = fit.n / L.batch, first = L.ordered / in_epoch;
    int last = (L.ordered + L.updates - 1) / in_epoch, begin = blockIdx.x % parts * epochs;
    int own = begin + threadIdx.x;
    uint16_t *orders = reinterpret_cast<uint16_t *>(shared_memory);
    if (threadIdx.x < epochs && first + own <= last) {
        uint64_t key = nth(fit.batches, (uint64_t)(first + own));
        if (shared) {
            permutation<uint16_t>(key, fit.n, orders + threadIdx.x, epochs);
        } else {
            permutation<uint32_t>(key, fit.n, fit.order + (size_t)own * fit.n, 1);
        }
    }
    if (!shared) return;
    __syncthreads();
    for (int e = 0; e < epochs && first + begin + e <= last; e++)
        for (int i = threadIdx.x; i < fit.n; i += blockDim.x)
            fit.order[(size_t)(begin + e) * fit.n + i] = orders[(size_t)i * epochs + e];
}

KERNEL(permute_shared, 32) { permute_epochs(L, true); }

KERNEL(permute_global, 32) { permute_epochs(L, false); }
#endif

// What the kernels need beside CUDA's own words.
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef unsigned long long uint64_t;
typedef int int32_t;

#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)

extern __shared__ float4 shared_memory[];

// The threads that go along with a lane: where half a warp is a fit, those of both fits.
#if PART_FUSED
__device__ __forceinline__ unsigned lanes_mask() { return 0xffffffffu; }
#else
__device__ __forceinline__ unsigned lanes_mask() { return 0xffffu << (threadIdx.x & 16); }
#endif

// The sum over sixteen lanes, the same in all of them: i with i + 8, then + 4, + 2, + 1.
__device__ __forceinline__ float sum_lanes(float v) {
    unsigned mask = lanes_mask();
#pragma unroll
    for (int step = 8; step > 0; step /= 2) v += __shfl_xor_sync(mask, v, step, 16);
    return v;
}

// Of sixteen numbers in each of sixteen lanes, the sum of the number of this lane: at every step a lane gives half of its
// numbers away. A sum has the bits of `sum_lanes`, since a + b = b + a.
__device__ __forceinline__ float sum_sixteen(const float *v) {
    unsigned mask = lanes_mask(), lane = threadIdx.x & 15;
    float rest[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float sent = lane & 8 ? v[i] : v[i + 8], kept = lane & 8 ? v[i + 8] : v[i];
        rest[i] = kept + __shfl_xor_sync(mask, sent, 8, 16);
    }
#pragma unroll
    for (int step = 4; step > 0; step /= 2)
#pragma unroll
        for (int i = 0; i < step; i++) {
            float sent = lane & step ? rest[i] : rest[i + step], kept = lane & step ? rest[i + step] : rest[i];
            rest[i] = kept + __shfl_xor_sync(mask, sent, step, 16);
        }
    return rest[0];
}

// The sum over eight lanes, the same in all of them: i with i + 4, then + 2, + 1.
__device__ __forceinline__ double sum_eight(double v) {
    unsigned mask = lanes_mask();
#pragma unroll
    for (int step = 4; step > 0; step /= 2) v += __shfl_xor_sync(mask, v, step, 16);
    return v;
}

// A lane's number in all of them.
__device__ __forceinline__ double from_lane(double v, int lane) { return __shfl_sync(lanes_mask(), v, lane, 16); }

// Eight numbers that lie together.
__device__ __forceinline__ void read_eight(const double *from, double *to) {
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        double2 two = *reinterpret_cast<const double2 *>(from + i);
        to[i] = two.x;
        to[i + 1] = two.y;
    }
}

// The largest of sixteen lanes that is a number.
__device__ __forceinline__ float top_lanes(float v) {
    unsigned mask = lanes_mask();
#pragma unroll
    for (int step = 8; step > 0; step /= 2) {
        float other = __shfl_xor_sync(mask, v, step, 16);
        v = other > v ? other : v;
    }
    return v;
}

// The threads of a warp wait for one another.
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

// What lies in shared memory becomes no larger than v.
__device__ __forceinline__ void lower(uint32_t *at, uint32_t v) { atomicMin(at, v); }

// The first thread of the warp for which it holds; 32 if there is none.
__device__ __forceinline__ int first_vote(bool own) {
    unsigned votes = __ballot_sync(0xffffffffu, own);
    return votes == 0 ? 32 : __ffs((int)votes) - 1;
}

// Whether it holds for one of the two fits of a warp.
__device__ __forceinline__ bool either(bool own) { return __any_sync(0xffffffffu, own); }

// Memory outside of the processors, which a pointer does not say by itself.
template <typename T>
__device__ __forceinline__ T *global_memory(T *at) {
    __builtin_assume(__isGlobal(at));
    return at;
}

// Copies to shared memory that go on beside the work: N words each, in groups. A thread waits for its own, all but the
// last PENDING groups.
template <int N>
__device__ __forceinline__ void async_copy(void *to, const void *from) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(4 * N) : "memory");
}
__device__ __forceinline__ void async_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Launch L)
#define KERNEL_AT(name, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Launch L)

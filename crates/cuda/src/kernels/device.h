// What the kernels need beside CUDA's own words.
typedef unsigned int uint32_t;
typedef unsigned short uint16_t;
typedef unsigned long long uint64_t;
typedef int int32_t;

extern __shared__ float4 shared_memory[];

// The lanes of a fit among the threads of a warp.
__device__ __forceinline__ unsigned lanes_mask() { return 0xffffu << (threadIdx.x & 16); }

// The sum over sixteen lanes, the same in all of them: i with i + 8, then + 4, + 2, + 1.
__device__ __forceinline__ float sum_lanes(float v) {
    unsigned mask = lanes_mask();
#pragma unroll
    for (int step = 8; step > 0; step /= 2) v += __shfl_xor_sync(mask, v, step, 16);
    return v;
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

// The threads of a fit wait for one another where a fit is half a warp.
__device__ __forceinline__ void sync_lanes() { __syncwarp(lanes_mask()); }

#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name(const __grid_constant__ Launch L)
#define KERNEL_AT(name, threads, blocks) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Launch L)

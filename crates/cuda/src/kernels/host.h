// The grid of threads on the processor: every thread of a block is a fiber, and a barrier is where fibers take turns.
// The kernels are the same text for both, so that their bits are checked where there is no GPU.
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__ static inline
#define __forceinline__
#define __noinline__
#define __restrict__ __restrict
#define __launch_bounds__(...)

struct float4 {
    float x, y, z, w;
};
struct float2 {
    float x, y;
};
struct Index {
    unsigned x;
};

struct Barrier {
    unsigned arrived = 0, generation = 0;
};
struct Fiber {
    ucontext_t first;
    jmp_buf at;
    bool begun = false, ended = false;
};
enum { MAX_THREADS = 1024, STACK = 64 * 1024 };

struct Block {
    Fiber fibers[MAX_THREADS];
    Barrier all, halves[MAX_THREADS / 16], warps[MAX_THREADS / 32];
    bool votes[MAX_THREADS];
    float slots[MAX_THREADS], sixteens[MAX_THREADS][16];
    double doubles[MAX_THREADS];
    unsigned threads, current;
    jmp_buf scheduler;
    char *stacks;
};

static thread_local Block *block = nullptr;
static thread_local Index blockIdx, blockDim;
static thread_local float4 *shared_memory;

#define threadIdx (Index{block->current})

static void yield() {
    if (_setjmp(block->fibers[block->current].at) == 0) _longjmp(block->scheduler, 1);
}

static void wait(Barrier &barrier, unsigned size) {
    unsigned generation = barrier.generation;
    if (++barrier.arrived == size) {
        barrier.arrived = 0;
        barrier.generation++;
        return;
    }
    while (barrier.generation == generation) yield();
}

static inline void __syncthreads() { wait(block->all, block->threads); }

// The sum over sixteen lanes: i with i + 8, then + 4, + 2, + 1.
static inline float sum_lanes(float v) {
    unsigned half = block->current / 16, first = half * 16;
    block->slots[block->current] = v;
    wait(block->halves[half], 16);
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = block->slots[first + i];
    for (int step = 8; step > 0; step /= 2)
        for (int i = 0; i < step; i++) sums[i] += sums[i + step];
    wait(block->halves[half], 16);
    return sums[0];
}

// Of sixteen numbers in each of sixteen lanes, the sum of the number of this lane.
static inline float sum_sixteen(const float *v) {
    unsigned half = block->current / 16, first = half * 16, lane = block->current % 16;
    for (int i = 0; i < 16; i++) block->sixteens[block->current][i] = v[i];
    wait(block->halves[half], 16);
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = block->sixteens[first + i][lane];
    for (int step = 8; step > 0; step /= 2)
        for (int i = 0; i < step; i++) sums[i] += sums[i + step];
    wait(block->halves[half], 16);
    return sums[0];
}

// A lane's number in all of them.
static inline double from_lane(double v, int lane) {
    unsigned half = block->current / 16;
    block->doubles[block->current] = v;
    wait(block->halves[half], 16);
    double found = block->doubles[half * 16 + lane];
    wait(block->halves[half], 16);
    return found;
}

// The sum over eight lanes: i with i + 4, then + 2, + 1.
static inline double sum_eight(double v) {
    unsigned half = block->current / 16, first = block->current / 8 * 8;
    block->doubles[block->current] = v;
    wait(block->halves[half], 16);
    double sums[8];
    for (int i = 0; i < 8; i++) sums[i] = block->doubles[first + i];
    for (int step = 4; step > 0; step /= 2)
        for (int i = 0; i < step; i++) sums[i] += sums[i + step];
    wait(block->halves[half], 16);
    return sums[0];
}

// The largest of sixteen lanes that is a number.
static inline float top_lanes(float v) {
    unsigned half = block->current / 16, first = half * 16;
    block->slots[block->current] = v;
    wait(block->halves[half], 16);
    float top = v;
    for (int i = 0; i < 16; i++) top = block->slots[first + i] > top ? block->slots[first + i] : top;
    wait(block->halves[half], 16);
    return top;
}

static inline void read_eight(const double *from, double *to) { memcpy(to, from, 64); }

static inline void sync_warp() { wait(block->warps[block->current / 32], 32); }

// Whether it holds for one of the two fits of a warp.
static inline bool either(bool own) {
    unsigned first = block->current / 32 * 32;
    block->votes[block->current] = own;
    sync_warp();
    bool any = false;
    for (int i = 0; i < 32; i++) any = any || block->votes[first + i];
    sync_warp();
    return any;
}

// What lies in shared memory becomes no larger than v.
static inline void lower(uint32_t *at, uint32_t v) { *at = v < *at ? v : *at; }

// The first thread of the warp for which it holds; 32 if there is none.
static inline int first_vote(bool own) {
    unsigned first = block->current / 32 * 32;
    block->votes[block->current] = own;
    sync_warp();
    int vote = 0;
    while (vote < 32 && !block->votes[first + vote]) vote++;
    sync_warp();
    return vote;
}

template <typename T>
static inline T *global_memory(T *at) {
    return at;
}

// Copies that elsewhere go on beside the work.
template <int N>
static inline void async_copy(void *to, const void *from) {
    memcpy(to, from, 4 * N);
}
static inline void async_group() {}
template <int PENDING>
static inline void async_wait() {}

static inline unsigned __float_as_uint(float v) {
    unsigned bits;
    memcpy(&bits, &v, 4);
    return bits;
}
static inline float __uint_as_float(unsigned bits) {
    float v;
    memcpy(&v, &bits, 4);
    return v;
}
static inline long long __double_as_longlong(double v) {
    long long bits;
    memcpy(&bits, &v, 8);
    return bits;
}
static inline double __longlong_as_double(long long bits) {
    double v;
    memcpy(&v, &bits, 8);
    return v;
}

struct Launch;
#define KERNEL(name, threads) static void name(const Launch &L)
#define KERNEL_AT(name, threads, blocks) static void name(const Launch &L)

typedef void (*Kernel)(const Launch &);
static thread_local Kernel now;
static thread_local const Launch *launched;

static void body() {
    now(*launched);
    Fiber &own = block->fibers[block->current];
    own.ended = true;
    _longjmp(block->scheduler, 1);
}

static void run_block() {
    for (unsigned i = 0; i < block->threads; i++) {
        Fiber &fiber = block->fibers[i];
        fiber.begun = fiber.ended = false;
        getcontext(&fiber.first);
        fiber.first.uc_stack.ss_sp = block->stacks + (size_t)i * STACK;
        fiber.first.uc_stack.ss_size = STACK;
        fiber.first.uc_link = nullptr;
        makecontext(&fiber.first, body, 0);
    }
    volatile unsigned left = block->threads;
    while (left > 0) {
        left = 0;
        for (volatile unsigned i = 0; i < block->threads; i++) {
            Fiber &fiber = block->fibers[i];
            if (fiber.ended) continue;
            left++;
            block->current = i;
            if (_setjmp(block->scheduler) == 0) {
                if (fiber.begun) _longjmp(fiber.at, 1);
                fiber.begun = true;
                setcontext(&fiber.first);
            }
        }
    }
}

static int run_grid(Kernel kernel, unsigned grid, unsigned threads, unsigned bytes, const Launch *launch) {
    if (threads > MAX_THREADS || threads % 16 != 0) return 1;
    block = new Block;
    block->threads = threads;
    block->stacks = (char *)malloc((size_t)threads * STACK);
    shared_memory = (float4 *)aligned_alloc(64, (bytes + 127) / 64 * 64);
    now = kernel;
    launched = launch;
    blockDim.x = threads;
    for (unsigned i = 0; i < grid; i++) {
        blockIdx.x = i;
        // What a kernel reads before it writes it must not look like a number.
        memset(shared_memory, 0xff, bytes);
        run_block();
    }
    free(shared_memory);
    free(block->stacks);
    delete block;
    return 0;
}

// What a launch is told. `layout.rs` has the same structures; a test compares their sizes.

enum { GAUSSIAN, LAPLACE, POISSON, BERNOULLI, MULTICLASS, ENERGY };
enum { RUNNING, DIVERGED };

// One fit: its samples, its state, its settings.
struct Fit {
    const float *x, *y;              // training samples, row by row, inputs filled up to vectors of four
    const float *valid_x, *valid_y;  // validation samples
    const double *valid_constant;    // log y! of counts
    float *theta, *best, *m, *v;     // packed coefficients and Adam's moments
    const float *schedule;           // Adam, three for each update: step, keep, correction2
    const double *rates;             // scoring: the learning rate of each update
    uint32_t *order;                 // permutations of epochs, each in its place
    float *scratch;                  // states and their gradients; null: in shared memory
    double *terms;                   // of the validation loss
    double *average, *factor, *inverse, *momentum;  // scoring
    float *gradient, *rows;          // scoring: of a batch, and a line for each coefficient and strip
    uint64_t batches, signs;         // streams
    double nll[3], fisher;           // constants of the likelihood
    double damping, step_cap, memory, outgoing_unit, coupled_double, decoupled_double;
    double past, power;              // scoring: weights of the past
    double loss, best_loss;
    float likelihood;                // precision or rate
    float weight;                    // of a sample in a batch
    float parameter_bound, output_bound;
    float gradient_cap, outgoing_rate;
    int32_t n, valid_n;
    int32_t status;
    int32_t made;                    // updates that were made since the order's first
};

// Where the numbers of a fit that is half a warp lie in shared memory, in words: those of the first fit begin at `at`,
// the others are counted from its coefficients.
struct Half {
    int32_t at, words;
    int32_t grad, momentum, g, y, out, g_out;  // momentum for scoring, in 64 bits
    int32_t odd;                     // whether some strip goes back alone, beside one of zeros
    int32_t coming;                  // states on their way, or all of them, and what comes after them
    int32_t x;                       // inputs; counted from the states where they lie with them
};

// What the fits of a launch have in common.
struct Launch {
    Fit *fits;
    const int32_t *place;            // packed coefficient -> place among the padded ones
    const int32_t *outgoing;         // whether it decides how far an update is from the identity
    const float *fixed;              // padded coefficients that the form fixes
    const float *node_x, *valid_node_x;
    int32_t most;                    // updates of a launch of this stage: as many epochs have their place
    int32_t d, r, outputs, iterations, blocks;
    int32_t kind;                    // likelihood
    int32_t batch, strips, nodes, node_strips, valid_nodes;
    int32_t at_once;                 // strips of a group
    int32_t packed, padded;          // coefficients, and words with padding
    int32_t input_len, block_len;    // words
    int32_t update, updates;         // first of this launch, and how many
    int32_t ordered;                 // the first update of the batch order
    int32_t resumed;                 // scoring: whether the gradient of the first is there
    int32_t lined;                   // scoring: whether the gradient and the lines of one more are left behind
    int32_t stage_start;             // whether the optimiser is fresh
    int32_t parts;                   // epochs of a fit whose order is made
    int32_t epochs;                  // of all fits
    int32_t order_step;              // numbers of 16 bits from one short epoch to the next
    int32_t all_strips;              // of a batch and of the nodes
    int32_t units;                   // a block a fit: hidden units of a tile, at most UNITS
    int32_t near;                    // whether states lie in shared memory, where a kernel can have them in both places
    Half half;
};

// Where the permutation of an epoch is: epochs take turns in as many places as a launch can touch.
__device__ __forceinline__ uint32_t *order_of(const Launch &L, const Fit &fit, int epoch) {
    return fit.order + (size_t)(epoch % (L.most / (fit.n / L.batch) + 2)) * fit.n;
}

// Numbers from one sample's inputs to the next one's: whole vectors of four.
__device__ __forceinline__ int row_len(const Launch &L) { return (L.d + 3) / 4 * 4; }

// A hidden unit's row of W1, its bias and its column of W2, filled up to whole vectors of four.
#define UNIT ((2 * Q + 1 + 3) / 4 * 4)

// Numbers of a lane's state, filled up to vectors, and of a strip's.
#define WIDE (Q <= 2 ? Q : Q == 3 || Q == 7 ? Q + 1 : (Q + 1) / 2 * 2)
#define LINE (WIDE * 16)
#define VECTOR (WIDE % 4 == 0 ? 4 : WIDE % 2 == 0 ? 2 : 1)

// With a block a fit, strips of a group whose products are added together, and words of their states and gradients on their way.
#define PRODUCTS (STRIPS > 1 ? 2 : 1)
#define COMING (STRIPS > 1 ? 4 * PRODUCTS * LINE : 0)

__device__ __forceinline__ const float *units_of(const Launch &L, const float *params, int block) {
    return params + L.input_len + block * L.block_len;
}
__device__ __forceinline__ const float *b2_of(const Launch &L, const float *params, int block) {
    return units_of(L, params, block) + L.r * UNIT;
}
__device__ __forceinline__ int output_at(const Launch &L) { return L.input_len + L.blocks * L.block_len; }
__device__ __forceinline__ int block_at(const Launch &L, int t) { return L.blocks == 1 ? 0 : t; }

// N numbers that lie together, from or to registers.
template <int N>
__device__ __forceinline__ void read_vector(const float *from, float *to) {
    if (N == 4) {
        float4 four = *reinterpret_cast<const float4 *>(from);
        to[0] = four.x;
        to[N > 1 ? 1 : 0] = four.y;
        to[N > 2 ? 2 : 0] = four.z;
        to[N > 3 ? 3 : 0] = four.w;
    } else if (N == 2) {
        float2 two = *reinterpret_cast<const float2 *>(from);
        to[0] = two.x;
        to[N > 1 ? 1 : 0] = two.y;
    } else {
        to[0] = from[0];
    }
}
template <int N>
__device__ __forceinline__ void write_vector(float *to, const float *from) {
    if (N == 4) {
        *reinterpret_cast<float4 *>(to) = {from[0], from[N > 1 ? 1 : 0], from[N > 2 ? 2 : 0], from[N > 3 ? 3 : 0]};
    } else if (N == 2) {
        *reinterpret_cast<float2 *>(to) = {from[0], from[N > 1 ? 1 : 0]};
    } else {
        to[0] = from[0];
    }
}

// A unit's numbers into registers.
__device__ __forceinline__ void read_unit(const float *from, float *to) {
#pragma unroll
    for (int i = 0; i < UNIT; i += 4) read_vector<4>(from + i, to + i);
}

__device__ __forceinline__ void read_state(const float *from, float *to) {
    float wide[WIDE];
#pragma unroll
    for (int i = 0; i < WIDE; i += VECTOR) read_vector<VECTOR>(from + i, wide + i);
#pragma unroll
    for (int k = 0; k < Q; k++) to[k] = wide[k];
}

__device__ __forceinline__ void write_state(float *to, const float *from) {
    float wide[WIDE];
#pragma unroll
    for (int k = 0; k < WIDE; k++) wide[k] = k < Q ? from[k < Q ? k : 0] : 0.0f;
#pragma unroll
    for (int i = 0; i < WIDE; i += VECTOR) write_vector<VECTOR>(to + i, wide + i);
}

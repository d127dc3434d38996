// What a launch is told. `layout.rs` has the same structures; a test compares their sizes.

enum { GAUSSIAN, LAPLACE, POISSON, BERNOULLI, MULTICLASS, ENERGY };
enum { RUNNING, DIVERGED };

// One fit: its samples, its state, its settings.
struct Fit {
    const float *x, *y;              // training samples, row by row
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
    int32_t grad, m, v, g, y, rows, out, g_out;  // m and v in 64 bits for scoring: momentum and direction
    int32_t coming;                  // states on their way, or all of them
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
    int32_t parts, epochs;           // blocks of a fit's epochs, and epochs of a block
    int32_t all_strips;              // of a batch and of the nodes
    Half half;
};

// Where the permutation of an epoch is: epochs take turns in as many places as a launch can touch.
__device__ __forceinline__ uint32_t *order_of(const Launch &L, const Fit &fit, int epoch) {
    return fit.order + (size_t)(epoch % (L.most / (fit.n / L.batch) + 2)) * fit.n;
}

// A hidden unit's row of W1, its bias and its column of W2, filled up to whole vectors of four.
#define UNIT ((2 * Q + 1 + 3) / 4 * 4)

// Numbers of a strip's state.
#define STATE (Q * 16)

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

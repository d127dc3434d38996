
typedef union { float value; uint32_t bits; } model_bits;

/* 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum. */
#define MODEL_MAGIC 12582912.0f


/* Not a number, and infinity. */
static const union { uint64_t bits; double value; } model_special[2] = {{(uint64_t)0x7ff8 << 48}, {(uint64_t)0x7ff0 << 48}};
#define MODEL_NO_NUMBER (model_special[0].value)
#define MODEL_INFINITY (model_special[1].value)

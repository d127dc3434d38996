/*
 * Made by loopfit 0.1.0.
 *
 * Untied (q = 3, r = 6, T = 2, SiLU), 58 numbers, cap 64
 * likelihood gaussian
 * from wet-bulb-wet_bulb.csv
 * 2025 rows, estimated MSE 9.8460e-4
 * 460 bytes of tables, 81 multiply-adds for a prediction
 *
 * The values are those of loopfit, bit for bit, unless the compiler contracts or reorders operations: compile with -std=c99,
 * or with -ffp-contract=off in another mode or as C++, and not with -ffast-math. Otherwise the last digits differ. Of the library,
 * nothing is needed but sqrtf, by Transformers alone. Where the processor has fused multiply-adds (ARM with a floating point unit, x86-64
 * with -mfma), the file is several times faster. Where loopfit refuses a row, because a number is too extreme, the answer is a NaN or class -1.
 *
 * To see how large it is: cc -std=c99 -Os -c FILE.c && size FILE.o
 */
#ifndef WET_BULB_WET_BULB_H
#define WET_BULB_WET_BULB_H

#ifdef __cplusplus
extern "C" {
#endif

#define WET_BULB_WET_BULB_COLUMNS 2
#define WET_BULB_WET_BULB_ITERATIONS 2

/* A row, by the names of its columns as far as they are names of C. A missing number is NAN. */
typedef struct {
    double temperature; /* "temperature" */
    double humidity; /* "humidity" */
} wet_bulb_wet_bulb_input;

/* The names as tables have them. */
extern const char *const wet_bulb_wet_bulb_columns[WET_BULB_WET_BULB_COLUMNS];

/* Predicts "wet_bulb" of a row. */
double wet_bulb_wet_bulb_evaluate(const wet_bulb_wet_bulb_input *input);
/* The same of numbers in the order of the columns. */
float wet_bulb_wet_bulb_predict(const float *x);

#ifdef __cplusplus
}
#endif

#endif

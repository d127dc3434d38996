/*
 * Made by loopfit 0.1.0.
 *
 * Loop (q = 3, r = 10, T = 8, sine), 64 numbers, cap 64
 * likelihood gaussian
 * from thermistor-celsius.csv
 * 1001 rows, estimated MSE 1.4588e-6
 * 356 bytes of tables, 486 multiply-adds for a prediction
 *
 * The values are those of loopfit, bit for bit, unless the compiler contracts or reorders operations: compile with -std=c99,
 * or with -ffp-contract=off in another mode or as C++, and not with -ffast-math. Otherwise the last digits differ. Of the library,
 * nothing is needed but sqrtf, by Transformers alone. Where the processor has fused multiply-adds (ARM with a floating point unit, x86-64
 * with -mfma), the file is several times faster. Where loopfit refuses a row, because a number is too extreme, the answer is a NaN or class -1.
 *
 * To see how large it is: cc -std=c99 -Os -c FILE.c && size FILE.o
 */
#ifndef THERMISTOR_CELSIUS_H
#define THERMISTOR_CELSIUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define THERMISTOR_CELSIUS_COLUMNS 1
#define THERMISTOR_CELSIUS_ITERATIONS 8

/* A row, by the names of its columns as far as they are names of C. A missing number is NAN. */
typedef struct {
    double ratio; /* "ratio" */
} thermistor_celsius_input;

/* The names as tables have them. */
extern const char *const thermistor_celsius_columns[THERMISTOR_CELSIUS_COLUMNS];

/* Predicts "celsius" of a row. */
double thermistor_celsius_evaluate(const thermistor_celsius_input *input);
/* The same of numbers in the order of the columns. */
float thermistor_celsius_predict(const float *x);

#ifdef __cplusplus
}
#endif

#endif

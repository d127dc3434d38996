/*
 * Made by loopfit 0.1.0.
 *
 * Loop (q = 3, r = 24, T = 8, sine), 124 numbers, cap 128
 * likelihood gaussian
 * from arm-shoulder.csv
 * 2025 rows, estimated MSE 3.3777e-9
 * 784 bytes of tables, 1161 multiply-adds for a prediction
 *
 * The values are those of loopfit, bit for bit, unless the compiler contracts or reorders operations: compile with -std=c99,
 * or with -ffp-contract=off in another mode or as C++, and not with -ffast-math. Otherwise the last digits differ. Of the library,
 * nothing is needed but sqrtf, by Transformers alone. Where the processor has fused multiply-adds (ARM with a floating point unit, x86-64
 * with -mfma), the file is several times faster. Where loopfit refuses a row, because a number is too extreme, the answer is a NaN or class -1.
 *
 * To see how large it is: cc -std=c99 -Os -c FILE.c && size FILE.o
 */
#ifndef ARM_SHOULDER_H
#define ARM_SHOULDER_H

#ifdef __cplusplus
extern "C" {
#endif

#define ARM_SHOULDER_COLUMNS 2
#define ARM_SHOULDER_ITERATIONS 8

/* A row, by the names of its columns as far as they are names of C. A missing number is NAN. */
typedef struct {
    double x; /* "x" */
    double y; /* "y" */
} arm_shoulder_input;

/* The names as tables have them. */
extern const char *const arm_shoulder_columns[ARM_SHOULDER_COLUMNS];

/* Predicts "shoulder" of a row. */
double arm_shoulder_evaluate(const arm_shoulder_input *input);
/* The same of numbers in the order of the columns. */
float arm_shoulder_predict(const float *x);

#ifdef __cplusplus
}
#endif

#endif

/*
 * Made by loopfit 0.1.0.
 *
 * Loop (q = 4, r = 20, T = 8, tanh), 125 numbers, cap 128
 * likelihood gaussian
 * from lab-a.csv
 * 2197 rows, estimated MSE 3.8807e-2
 * 892 bytes of tables, 1296 multiply-adds for a prediction
 *
 * The values are those of loopfit, bit for bit, unless the compiler contracts or reorders operations: compile with -std=c99,
 * or with -ffp-contract=off in another mode or as C++, and not with -ffast-math. Otherwise the last digits differ. Of the library,
 * nothing is needed but sqrtf, by Transformers alone. Where the processor has fused multiply-adds (ARM with a floating point unit, x86-64
 * with -mfma), the file is several times faster. Where loopfit refuses a row, because a number is too extreme, the answer is a NaN or class -1.
 *
 * To see how large it is: cc -std=c99 -Os -c FILE.c && size FILE.o
 */
#ifndef LAB_A_H
#define LAB_A_H

#ifdef __cplusplus
extern "C" {
#endif

#define LAB_A_COLUMNS 3
#define LAB_A_ITERATIONS 8

/* A row, by the names of its columns as far as they are names of C. A missing number is NAN. */
typedef struct {
    double r; /* "r" */
    double g; /* "g" */
    double b; /* "b" */
} lab_a_input;

/* The names as tables have them. */
extern const char *const lab_a_columns[LAB_A_COLUMNS];

/* Predicts "a" of a row. */
double lab_a_evaluate(const lab_a_input *input);
/* The same of numbers in the order of the columns. */
float lab_a_predict(const float *x);

#ifdef __cplusplus
}
#endif

#endif

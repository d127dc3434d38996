/*
 * Made by loopfit 0.1.0.
 *
 * Untied (q = 3, r = 8, T = 3, sine), 117 numbers, cap 128
 * likelihood gaussian
 * from pendulum-angle_after.csv
 * 2025 rows, estimated MSE 8.0634e-9
 * 808 bytes of tables, 153 multiply-adds for a prediction
 *
 * The values are those of loopfit, bit for bit, unless the compiler contracts or reorders operations: compile with -std=c99,
 * or with -ffp-contract=off in another mode or as C++, and not with -ffast-math. Otherwise the last digits differ. Of the library,
 * nothing is needed but sqrtf, by Transformers alone. Where the processor has fused multiply-adds (ARM with a floating point unit, x86-64
 * with -mfma), the file is several times faster. Where loopfit refuses a row, because a number is too extreme, the answer is a NaN or class -1.
 *
 * To see how large it is: cc -std=c99 -Os -c FILE.c && size FILE.o
 */
#ifndef PENDULUM_ANGLE_AFTER_H
#define PENDULUM_ANGLE_AFTER_H

#ifdef __cplusplus
extern "C" {
#endif

#define PENDULUM_ANGLE_AFTER_COLUMNS 2
#define PENDULUM_ANGLE_AFTER_ITERATIONS 3

/* A row, by the names of its columns as far as they are names of C. A missing number is NAN. */
typedef struct {
    double angle; /* "angle" */
    double speed; /* "speed" */
} pendulum_angle_after_input;

/* The names as tables have them. */
extern const char *const pendulum_angle_after_columns[PENDULUM_ANGLE_AFTER_COLUMNS];

/* Predicts "angle_after" of a row. */
double pendulum_angle_after_evaluate(const pendulum_angle_after_input *input);
/* The same of numbers in the order of the columns. */
float pendulum_angle_after_predict(const float *x);

#ifdef __cplusplus
}
#endif

#endif


/* Model inputs to outputs. */
static void model_network(const float *x, int iterations, float *f) {
    float z[MODEL_Q];
    int k;
    (void)iterations;
    for (k = 0; k < MODEL_Q; k++) z[k] = model_affine(model_input_weights + k * (MODEL_D + 1), x, MODEL_D);
    for (k = 0; k < MODEL_OUTPUTS; k++) {
        f[k] = model_clip(model_affine(model_output_weights + k * (MODEL_Q + 1), z, MODEL_Q));
    }
}

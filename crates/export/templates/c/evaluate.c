double model_evaluate(const model_input *input) { return model_after(input, MODEL_ITERATIONS); }

float model_predict(const float *x) {
    model_input input;
    FIELDS
    return (float)model_evaluate(&input);
}

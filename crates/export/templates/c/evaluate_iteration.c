double model_evaluate_iteration(const model_input *input, int t) {
    return t < 1 || t > MODEL_ITERATIONS ? MODEL_NO_NUMBER : model_after(input, t);
}

float model_predict_iteration(const float *x, int t) {
    model_input input;
    FIELDS
    return (float)model_evaluate_iteration(&input, t);
}

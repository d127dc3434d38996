
static float model_activation(float u) {
    const float sigmoid = 1.0f / (1.0f + model_exp(0.0f - u));
    return (-88.0f > u ? -88.0f : u) * sigmoid;
}

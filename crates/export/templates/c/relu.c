
static float model_activation(float u) { return 0.0f > u ? 0.0f : u; }

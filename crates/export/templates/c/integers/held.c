
static model_q model_held(int32_t v) {
    return (model_q)(v > MODEL_LIMIT ? MODEL_LIMIT : v < -MODEL_LIMIT ? -MODEL_LIMIT : v);
}

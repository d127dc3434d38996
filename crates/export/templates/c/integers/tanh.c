
/* With 15 bits behind the point. */
static model_q model_activation(int32_t u) {
    const int32_t held = model_held(u), size = held < 0 ? -held : held;
    const int32_t h = size >> MODEL_REACH ? 32767 : model_interpolated(MODEL_MOVED(size));
    return (model_q)(u < 0 ? -h : h);
}

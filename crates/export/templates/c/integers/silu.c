
/* ReLU less what the table says. */
static model_q model_activation(int32_t u) {
    const int32_t held = model_held(u), size = held < 0 ? -held : held;
    const int32_t less = size >> MODEL_REACH ? 0 : model_interpolated(MODEL_MOVED(size));
    return (model_q)((held < 0 ? 0 : held) - MODEL_LESS(less));
}

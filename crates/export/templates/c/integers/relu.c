
static model_q model_activation(int32_t u) { return model_held(u < 0 ? 0 : u); }

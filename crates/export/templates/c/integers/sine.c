
/* Of turns; with 15 bits behind the point. A quarter of a turn has 2^16 places. */
static model_q model_activation(int32_t u) {
    const int32_t part = u & MODEL_TURN, phase = MODEL_MOVED(part), place = phase & 65535;
    const int32_t h = model_interpolated(phase & 65536 ? 65536 - place : place);
    return (model_q)(phase & 131072 ? -h : h);
}

// Adam and Fisher scoring with half a warp a fit. Both halves of a warp go the same way at the same time: one whose fit has
// ended goes along and leaves no trace.
#if PART_FUSED

KERNEL_AT(fused, 32, FUSED_BLOCKS) {
    int lane = threadIdx.x & 15, half = threadIdx.x >> 4, number = blockIdx.x * 2 + half;
    Fit &fit = global_memory(L.fits)[number];
    // Updates made; below zero for a fit that has ended, which goes along with its neighbour's samples.
    int made = fit.status == RUNNING ? 0 : -1;
    if (!either(made == 0)) return;
    const Fit &from = global_memory(L.fits)[made == 0 ? number : number ^ 1];
    Own own;
    int32_t *place = reinterpret_cast<int32_t *>(shared_memory), *outgoing = place + L.packed;
    own.params = reinterpret_cast<float *>(shared_memory) + L.half.at + half * L.half.words;
#if SHARED_STATES
    own.z = own.coming(L);
#else
    own.z = global_memory(fit.scratch);
#endif
    for (int i = lane; i < L.padded; i += 16) own.params[i] = L.fixed[i];
    if (half == 0)
        for (int i = lane; i < L.packed; i += 16) {
            place[i] = L.place[i];
            outgoing[i] = L.outgoing[i];
        }
    for (int strip = L.strips; strip < L.all_strips; strip++)
        for (int i = 0; i < L.d; i++) {
            int first = (strip - L.strips) * 16, node = first + lane;
            own.x(L)[(strip * L.d + i) * 16 + lane] = L.node_x[(size_t)(node < L.nodes ? node : first) * row_len(L) + i];
        }
    if (L.half.odd)
        for (int i = 0; i < WIDE; i++) own.g(L)[L.all_strips * LINE + lane * WIDE + i] = 0.0f;
    int last = L.update + L.updates, update = L.update;
#if SCORING
    int end = last + L.lined, first = update + L.resumed;
    double power = L.stage_start ? 1.0 : from.power;
#else
    int end = last, first = update;
#endif
    if (first < end) fetch_rows(L, from, own, first, lane);
    async_group();
    sync_warp();
    for (int i = lane; i < L.packed; i += 16) {
        own.params[place[i]] = L.stage_start ? from.best[i] : from.theta[i];
#if SCORING
        own.momentum(L)[i] = L.stage_start ? 0.0 : from.momentum[i];
#else
        // One that has ended may share them with its neighbour.
        if (L.stage_start && made == 0) fit.m[i] = fit.v[i] = 0.0f;
#endif
    }
    if (first < end) {
        async_wait<0>();
        fetch_samples(L, from, own, lane);
    }
#if SCORING
    if (L.resumed)
        for (int i = lane; i < L.padded; i += 16) own.grad(L)[i] = from.gradient[i];
#endif
    sync_warp();
    for (; update < end; update++) {
        if (update >= first) {
            async_wait<0>();
            bool more = update + 1 < end;
            gradient_of(L, from, own, update, more, lane);
            async_wait<0>();
            if (more) fetch_samples(L, from, own, lane);
            sync_warp();
        }
#if SCORING
        if (update == last) {
            if (made == L.updates) {
                for (int i = lane; i < L.padded; i += 16) fit.gradient[i] = own.grad(L)[i];
                information_lines(L, from, own, update, global_memory(fit.rows) + lane, lane);
            }
            break;
        }
        double rate = from.rates[update];
        power *= 0.9;
        for (int i = lane; i < L.packed; i += 16) {
            int at = place[i];
            double unit = outgoing[i] ? from.outgoing_unit : 1.0;
            own.direction(L)[i] = momentum_step(from, own.grad(L)[at], own.params[at], 1.0 - power, unit, own.momentum(L) + i);
        }
        sync_warp();
        Factor factor = {global_memory(from.factor), global_memory(from.inverse), L.packed, stride_of(L.packed)};
        solve_lanes(factor, own.direction(L), lane);
        double length = step_length(from, own.direction(L), L.packed, rate);
        bool goes_on = made == update - L.update && length >= 0.0;
        if (!either(goes_on)) break;
        if (goes_on) {
            for (int i = lane; i < L.packed; i += 16) {
                float &old = own.params[place[i]];
                double unit = outgoing[i] ? from.outgoing_unit : 1.0;
                old = moved(from, old, rate, length, unit * own.direction(L)[i]);
            }
            made++;
        }
#else
        float scale = gradient_scale(L, from, own.grad(L), place, lane);
        bool goes_on = made == update - L.update && scale != INFINITY;
        if (!either(goes_on)) break;
        if (goes_on) {
            const float *schedule = from.schedule + 3 * (size_t)update;
#pragma unroll 2
            for (int i = lane; i < L.packed; i += 16) {
                int at = place[i];
                float rate = outgoing[i] ? from.outgoing_rate : 1.0f;
                float m = own.m(L)[i], v = own.v(L)[i];
                own.params[at] = adam_step(from, own.grad(L)[at], scale, rate, schedule, own.params[at], &m, &v);
                from.m[i] = m;
                from.v[i] = v;
            }
            made++;
        }
#endif
        sync_warp();
    }
    if (made < 0) return;
    for (int i = lane; i < L.packed; i += 16) {
        fit.theta[i] = own.params[place[i]];
#if SCORING
        fit.momentum[i] = own.momentum(L)[i];
#endif
    }
    if (lane == 0) {
        fit.made = L.update - L.ordered + made;
        if (made < L.updates) fit.status = DIVERGED;
#if SCORING
        fit.power = power;
#endif
    }
}
#endif

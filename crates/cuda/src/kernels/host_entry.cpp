// What the tests call: kernels by name, sizes of structures, functions of numbers.

struct Named {
    const char *name;
    Kernel kernel;
};

extern "C" int loopfit_launch(const char *name, unsigned grid, unsigned threads, unsigned bytes, const Launch *launch) {
    const Named kernels[] = {
#if PART_ADAM
        {"adam", adam},
#elif PART_FUSED
        {"fused", fused},
#elif PART_SCORING
        {"scoring", scoring},
#elif PART_REFRESH
        {"refresh", refresh},
#elif PART_VALIDATE
        {"validate", validate},
#else
        {"permute_short", permute_short},
        {"permute_shared", permute_shared},
        {"permute_global", permute_global},
#endif
    };
    for (const Named &named : kernels)
        if (strcmp(named.name, name) == 0) return run_grid(named.kernel, grid, threads, bytes, launch);
    return 2;
}

extern "C" unsigned loopfit_sizes(int which) { return which == 0 ? sizeof(Fit) : sizeof(Launch); }

extern "C" double loopfit_double(int which, double x) {
    return which == 0 ? exp_double(x) : which == 1 ? log_double(x) : log1p_double(x);
}

extern "C" float loopfit_single(int which, float x) {
    float sine, cosine;
    sin_cos_lane(x, &sine, &cosine);
    return which == 0 ? exp_lane(x) : which == 1 ? tanh_lane(x) : which == 2 ? sigmoid_lane(x) : which == 3 ? sine : cosine;
}

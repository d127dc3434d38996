//! What is fitted: architectures, tying, counts, budgets, parameters, growth, files.

//! Where samples come from: simulations, tables, splits and preprocessing.

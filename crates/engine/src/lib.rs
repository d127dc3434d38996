//! Running many fits at once, each a pure function of its specification.

//! Which shapes, starts and settings to try under a cap, and which one to keep.

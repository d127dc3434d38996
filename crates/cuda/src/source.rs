//! The text of the kernels.

/// What the kernels need of CUDA, or of the processor that stands in for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Side {
    Device,
    #[cfg(test)]
    Host,
}

/// The text that a compiler gets.
pub(crate) fn source(side: Side) -> String {
    let preamble = match side {
        Side::Device => include_str!("kernels/device.h"),
        #[cfg(test)]
        Side::Host => include_str!("kernels/host.h"),
    };
    let mut text = preamble.to_string();
    for part in [
        include_str!("kernels/numbers.cu"),
        include_str!("kernels/launch.cu"),
        include_str!("kernels/network.cu"),
        include_str!("kernels/gradient.cu"),
        include_str!("kernels/train.cu"),
        include_str!("kernels/information.cu"),
        include_str!("kernels/lanes.cu"),
        include_str!("kernels/solve.cu"),
        include_str!("kernels/fused.cu"),
        include_str!("kernels/validate.cu"),
        include_str!("kernels/scoring.cu"),
        include_str!("kernels/refresh.cu"),
        include_str!("kernels/permute.cu"),
    ] {
        text.push('\n');
        text.push_str(part);
    }
    text
}

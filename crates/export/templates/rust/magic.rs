
/// `1.5 * 2^23`: adding it rounds to an integer, which stands in the low bits of the sum.
const MAGIC: f32 = 12_582_912.0;

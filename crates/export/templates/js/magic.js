
const narrow = new Float32Array(1);
const bits = new Uint32Array(narrow.buffer);
// 1.5 * 2^23: adding it rounds to an integer, which stands in the low bits of the sum.
const MAGIC = 12582912;

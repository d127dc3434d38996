
// The cell of a column; null if it is missing.
function cell(row, name) {
  if (!Object.prototype.hasOwnProperty.call(row, name)) throw new Error(`the row has no column ${JSON.stringify(name)}`);
  const value = row[name];
  const blank = typeof value === "string" && value.trim() === "";
  return value === undefined || blank || Number.isNaN(value) ? null : value;
}

// A number of a column, or of a text that is one; null if it is missing.
function number(row, name) {
  const value = cell(row, name);
  const digits = typeof value === "string" && !/^\s*0[box]/i.test(value);
  const found = digits ? Number(value) : value;
  if (value !== null && (typeof found !== "number" || Number.isNaN(found))) {
    throw new TypeError(`the column ${JSON.stringify(name)} holds numbers, not ${JSON.stringify(value)}`);
  }
  return found;
}

// Model inputs of a row, whether one of them is too extreme, and whether one lies outside the box of a density.
function read(row) {
  const x = new Float32Array(D);
  let refused = false;
  let outside = false;
  for (const { name, first, missing, scale, bounded, categories, values } of readings) {
    const value = categories ? cell(row, name) : number(row, name);
    if (value === null && missing !== null) x[missing] = 1;
    if (categories) {
      const k = value === null ? -1 : categories.indexOf(String(value));
      if (k >= 0) x[values ? first : first + k] = values ? values[k] : 1;
      continue;
    }
    let scaled = ((value === null ? scale[2] : value) - scale[0]) / scale[1];
    if (bounded) {
      outside ||= !(scaled >= 0 && scaled <= 1);
      scaled = Math.min(Math.max(scaled, 0), 1);
    }
    x[first] = scaled;
    refused ||= !Number.isFinite(x[first]);
  }
  return { x, refused, outside };
}

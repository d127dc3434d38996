
// What the model says of a row after iteration t.
function after(row, t) {
  const inputs = read(row);
  return answer(inputs, network(inputs.x, t), t, row);
}

import { readFileSync } from "node:fs";

const view = new DataView(new ArrayBuffer(8));
const number = (cell) => {
  view.setBigUint64(0, BigInt(`0x${cell}`));
  return view.getFloat64(0);
};
const show = (value) => {
  view.setFloat64(0, value);
  return view.getBigUint64(0).toString(16).padStart(16, "0");
};
const value = (cell) =>
  cell === "-" ? null : cell[0] === "t" ? Buffer.from(cell.slice(1), "hex").toString() : number(cell);

const lines = [];
for (const line of readFileSync(0, "utf8").trim().split("\n")) {
  const [model, t, ...cells] = line.split(" ");
  const own = models[model];
  const row = Object.fromEntries(own.columns.map((name, k) => [name, value(cells[k])]));
  const answer = t === "0" ? own.predict(row) : own.predictIteration(row, Number(t));
  if (own.classes) {
    lines.push([own.classes.indexOf(answer.label), ...answer.probabilities.map(show)].join(" "));
  } else {
    lines.push(show(answer));
  }
}
console.log(lines.join("\n"));

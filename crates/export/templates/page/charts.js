// Elements and charts. Texts are always text, never markup.

const $ = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function drawn(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// The name of a column as an element: whatever signs it has, they act within it alone.
function named(name) {
  const text = shown(name);
  const made = element("bdi", {}, text);
  if (text !== name) made.className = "nameless";
  return made;
}

function shown(name) {
  return name.trim() === "" ? "(no name)" : name;
}

// A name that fits below a chart.
function cut(name) {
  return name.length > 40 ? `${name.slice(0, 39)}…` : name;
}

// A number with so many digits as people write it.
function text(value, digits = 4) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  const plain = size === 0 || (size >= 1e-4 && size < 1e7);
  const rounded = plain ? String(Number(value.toPrecision(digits))) : shorter(value.toExponential(digits - 1));
  return rounded.replaceAll("-", "−");
}

function shorter(exponential) {
  const [digits, exponent] = exponential.split("e");
  return `${Number(digits)}e${Number(exponent)}`;
}

// Round numbers within an interval.
function ticks([low, high], most) {
  const width = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(width));
  const step = [1, 2, 5, 10].find((m) => m * power >= width * 0.999) * power;
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k === 0 ? 0 : k * step);
  return found;
}

// An interval around finite numbers with some room.
function around(values, room = 0.06) {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const width = high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high), 1e-30) ? high - low : Math.abs(low) * 0.1 || 1;
  const middle = (low + high) / 2;
  return [middle - width * (0.5 + room), middle + width * (0.5 + room)];
}

// Whether charts are drawn for paper.
let onPaper = false;

// An empty chart with axes in an element of the page: where numbers are, and what draws there.
function chart(host, { x, y, label, height = 170, xTicks, xName = "", yName = "" }) {
  const width = onPaper ? (host.closest(".effect") && !host.closest(".few") ? 220 : 320) : Math.max(host.clientWidth, 160);
  const yTicks = ticks(y, Math.max(3, Math.round(height / 40)));
  const yTexts = yTicks.map((v) => text(v));
  const left = 10 + 6.3 * Math.max(...yTexts.map((t) => t.length), 2);
  const [right, top, bottom] = [width - 8, yName ? 22 : 8, height - (xName ? 34 : 20)];
  const px = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (right - left);
  const py = (v) => bottom - ((Math.min(Math.max(v, y[0]), y[1]) - y[0]) / (y[1] - y[0])) * (bottom - top);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  const add = (name, attributes, ...children) => picture.appendChild(drawn(name, attributes, ...children));
  yTicks.forEach((v, i) => {
    add("line", { class: "grid", x1: left, x2: right, y1: py(v), y2: py(v) });
    add("text", { x: left - 6, y: py(v) + 4, "text-anchor": "end" }, yTexts[i]);
  });
  add("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom });
  for (const v of xTicks ?? ticks(x, Math.max(3, Math.round(width / 50)))) {
    add("line", { class: "axis", x1: px(v), x2: px(v), y1: bottom, y2: bottom + 4 });
    add("text", { x: px(v), y: bottom + 16, "text-anchor": "middle" }, text(v));
  }
  if (xName) add("text", { x: (left + right) / 2, y: height - 3, "text-anchor": "middle" }, cut(xName));
  if (yName) add("text", { x: 2, y: 12 }, cut(yName));
  host.replaceChildren(picture);
  const line = (name, points) => {
    const finite = points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
    const d = finite.map(([a, b], i) => `${i ? "L" : "M"}${px(a).toFixed(1)} ${py(b).toFixed(1)}`).join("");
    if (d) add("path", { class: name, d });
  };
  const dot = (name, a, b, r = 4.5) => {
    if (Number.isFinite(a) && Number.isFinite(b)) add("circle", { class: name, cx: px(a), cy: py(b), r });
  };
  return { add, line, dot, px, py, left, right, top, bottom, picture, width, total: height };
}

// The two directions in which points spread most, by power iteration; signs as close to those before as can be.
function principal(points, before) {
  const n = points[0].length;
  const centre = points[0].map((_, k) => points.reduce((sum, p) => sum + p[k], 0) / points.length);
  const rest = points.map((p) => p.map((v, k) => v - centre[k]));
  const along = (p, axis) => p.reduce((sum, v, k) => sum + v * axis[k], 0);
  const axes = [0, 1].map((which) => {
    // A direction that points did not move along was zero.
    const known = before?.[which]?.some((v) => v !== 0) ? before[which] : null;
    let axis = known ?? centre.map((_, k) => 1 / (1 + ((k + which) % n)));
    for (let round = 0; round < 60; round++) {
      const next = axis.map(() => 0);
      for (const p of rest) {
        const a = along(p, axis);
        p.forEach((v, k) => (next[k] += a * v));
      }
      const size = Math.hypot(...next);
      if (!(size > 1e-30)) {
        axis = next.map(() => 0);
        break;
      }
      axis = next.map((v) => v / size);
    }
    for (const p of rest) {
      const a = along(p, axis);
      p.forEach((v, k) => (p[k] = v - a * axis[k]));
    }
    return axis;
  });
  const coordinates = points.map((p) => axes.map((axis) => along(p.map((v, k) => v - centre[k]), axis)));
  return { axes, coordinates };
}

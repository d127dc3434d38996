// What the model says over two inputs, the others as they are.

const numeric = fields.flatMap((field, k) => (field.categories ? [] : [k]));
const pair = numeric.slice(0, 2);

function mapControls() {
  if (pair.length < 2) return;
  $("map").hidden = false;
  if (numeric.length === 2) return;
  const selects = pair.map((_, place) => {
    const options = numeric.map((k) => element("option", { value: k }, shown(fields[k].name)));
    const select = element("select", { "aria-label": place ? "Upwards" : "To the right" }, ...options);
    select.value = pair[place];
    select.addEventListener("change", () => {
      // The same input twice is no plane: then the two change places.
      if (Number(select.value) === pair[1 - place]) pair[1 - place] = pair[place];
      pair[place] = Number(select.value);
      selects.forEach((other, i) => (other.value = pair[i]));
      schedule();
    });
    return select;
  });
  $("map-choice").replaceChildren("→ ", selects[0], " ↑ ", selects[1]);
}

// The colours of low and high numbers, which depend on the scheme.
function shades() {
  const style = getComputedStyle(document.documentElement);
  return ["--low", "--soft", "--accent"].map((name) => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  });
}

function showMap(k, what) {
  if (pair.length < 2) return;
  const [a, b] = pair.map((i) => fields[i]);
  const side = Math.round(Math.min(44, Math.max(14, Math.sqrt(2e6 / about.multiplyAdds))));
  const place = (field, i) => field.low + ((field.high - field.low) * (i + 0.5)) / side;
  // Not the entries of the row: names that look like integers come first there.
  const cells = fields.map((field) => [field.name, field.value]);
  const values = [];
  for (let j = side - 1; j >= 0; j--) {
    for (let i = 0; i < side; i++) {
      cells[pair[0]][1] = place(a, i);
      cells[pair[1]][1] = place(b, j);
      const said = journey(Object.fromEntries(cells), (t) => t === shownAt || t === iterations);
      values.push({ now: height(said[0], k), last: height(said[said.length - 1], k) });
    }
  }
  // The scale is that of the last iteration, so that it stays when another is shown.
  const finite = values.map((v) => v.last).filter(Number.isFinite);
  const [low, high] = about.kind === "classes" ? [0, 1] : finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 1];
  const stops = shades();
  const canvas = element("canvas", { width: side, height: side, "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  const image = context.createImageData(side, side);
  values.forEach(({ now }, at) => {
    if (Number.isNaN(now)) return;
    const share = 2 * Math.min(1, Math.max(0, (now - low) / (high - low || 1)));
    const [from, to] = share < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const part = share < 1 ? share : share - 1;
    from.forEach((v, c) => (image.data[4 * at + c] = v + (to[c] - v) * part));
    image.data[4 * at + 3] = 255;
  });
  context.putImageData(image, 0, 0);
  const host = $("map-chart");
  const picture = chart(host, {
    x: [a.low, a.high], y: [b.low, b.high], height: Math.min(340, 0.85 * Math.max(host.clientWidth, 160)), xName: shown(a.name), yName: shown(b.name),
    label: `${what} over ${shown(a.name)} and ${shown(b.name)}: from ${text(low)} to ${text(high)}`,
  });
  const percent = (v, of) => `${(100 * v) / of}%`;
  const { width, total } = picture;
  canvas.style.left = percent(picture.left, width);
  canvas.style.top = percent(picture.top, total);
  canvas.style.width = percent(picture.right - picture.left, width);
  canvas.style.height = percent(picture.bottom - picture.top, total);
  host.prepend(canvas);
  const here = [a, b].map((field) => field.value ?? field.start);
  if (here[0] >= a.low && here[0] <= a.high && here[1] >= b.low && here[1] <= b.high) {
    picture.dot("halo", ...here, 7);
    picture.dot("dot", ...here, 5);
  }
  clicked(picture, (x, y) => {
    [[a, x], [b, y]].forEach(([field, share]) => {
      field.set(round(field.low + (field.high - field.low) * Math.min(1, Math.max(0, share)), field.low, field.high));
    });
  });
  $("map-scale").replaceChildren(text(low), element("i"), text(high));
}

// The inputs of a row, with what a person moves.

// Steps of a slider: an arrow key is half a percent of the range.
const STEPS = 200;

const fields = columns.map((name, k) => {
  const reading = readings[k];
  if (reading?.categories) return { name, categories: reading.categories, value: reading.categories[0] };
  // What is not read as an input is the exposure, which must be positive.
  const [low, high] = reading ? about.ranges[k] : [0, 4 * about.exposure];
  const start = reading ? Math.min(Math.max(reading.scale[2], low), high) : about.exposure;
  return { name, low, high, start, value: round(start, low, high) };
});

// A number of a range, within it, without digits that mean nothing there.
function round(value, low, high) {
  return Math.min(Math.max(short(value, low, high), low), high);
}

function short(value, low, high) {
  const decimals = Math.max(0, Math.min(100, 3 - Math.floor(Math.log10(high - low))));
  return Number(value.toFixed(decimals));
}

// The row as the model reads it, one cell replaced if that is asked for.
function row(replaced, value) {
  return Object.fromEntries(fields.map((field, k) => [field.name, k === replaced ? value : field.value]));
}

// Builds what is moved; `changed` is called after each change.
function controls(form, changed) {
  form.addEventListener("submit", (event) => event.preventDefault());
  fields.forEach((field, k) => {
    const id = `input-${k}`;
    const label = element("label", { for: id, id: `${id}-label` }, named(field.name));
    const set = (value) => {
      field.value = value;
      field.sync();
      changed();
    };
    field.set = set;
    if (field.categories) {
      const options = field.categories.map((c, i) => element("option", { value: i }, shown(c)));
      const select = element("select", { id }, ...options, element("option", { value: -1 }, "(missing)"));
      select.addEventListener("change", () => set(field.categories[select.value] ?? null));
      field.sync = () => (select.value = field.value === null ? -1 : field.categories.indexOf(field.value));
      form.append(element("div", { class: "input" }, element("div", { class: "line" }, label, select)));
      return;
    }
    const number = element("input", { type: "number", step: "any", "aria-labelledby": `${id}-label` });
    const range = element("input", { type: "range", id, min: 0, max: STEPS, step: 1 });
    const note = element("span");
    const ends = [field.low, field.high].map((v) => element("span", {}, text(short(v, field.low, field.high), 6)));
    range.addEventListener("input", () => {
      set(round(field.low + ((field.high - field.low) * range.value) / STEPS, field.low, field.high));
    });
    number.addEventListener("input", () => {
      // What is half written is not yet a number; an empty field is a missing cell.
      if (number.validity.badInput) return;
      field.value = number.value === "" ? null : Number(number.value);
      field.sync(true);
      changed();
    });
    field.sync = (typing) => {
      const value = field.value ?? field.start;
      range.value = Math.round(((value - field.low) / (field.high - field.low)) * STEPS);
      range.setAttribute("aria-valuetext", field.value === null ? "missing" : text(field.value));
      if (!typing) number.value = field.value ?? "";
      const outside = field.value !== null && (field.value < field.low || field.value > field.high);
      note.className = outside ? "warn" : "";
      note.textContent = outside ? "outside the training rows" : field.value === null ? `missing: counts as ${text(field.start)}` : "";
    };
    const line = element("div", { class: "line" }, label, number);
    form.append(element("div", { class: "input" }, line, range, element("small", {}, ends[0], note, ends[1])));
  });
  fields.forEach((field) => field.sync());
}

function choose(pick) {
  for (const field of fields) {
    field.value = field.categories ? pick.category(field) : round(pick.number(field), field.low, field.high);
    field.sync();
  }
}

const typical = { category: (field) => field.categories[0], number: (field) => field.start };
const random = {
  category: (field) => field.categories[Math.floor(Math.random() * field.categories.length)],
  number: (field) => field.low + (field.high - field.low) * Math.random(),
};

// What is shown, and when.

const isLoop = iterations > 1;
// The iteration that charts show, and the class that they follow if one was chosen.
let shownAt = iterations;
let followed = null;
let axes = null;

// What the model says of a row after some of its iterations, in their order, and all states if asked for.
function journey(cells, wanted, states) {
  const inputs = read(cells);
  const z = lift(inputs.x);
  const answers = [];
  states?.push(Array.from(z));
  for (let t = 1; t <= iterations; t++) {
    update(z, t - 1);
    states?.push(Array.from(z));
    if (wanted(t)) answers.push(answer(inputs, outputs(z), t, cells));
  }
  return answers;
}

// The number of an answer that charts show.
function height(said, k) {
  return about.kind === "classes" ? said.probabilities[k] : said;
}

// What the model says now, and what it said at the iteration that is shown.
function showPrediction(said, early) {
  const host = $("prediction");
  if (about.kind === "classes") {
    const best = said.label === null ? -1 : classes.indexOf(said.label);
    if (host.childElementCount === 0) {
      const bars = classes.map((name, k) => {
        const button = element("button", { type: "button", "aria-pressed": "false" }, named(name), element("data"), element("i"));
        button.addEventListener("click", () => {
          followed = followed === k ? null : k;
          schedule();
        });
        return element("li", {}, button);
      });
      host.append(
        element("p", { class: "of" }, "Probabilities of ", named(about.target)),
        element("p", { class: "big" }, element("output", { "aria-live": "polite" })),
        element("p", { class: "of early" }),
        element("ul", { class: "bars", "aria-label": "Probabilities; press one for charts of it" }, ...bars),
      );
    }
    const big = host.querySelector("output");
    big.replaceChildren(best < 0 ? "no answer: a number is too extreme" : named(classes[best]));
    big.parentElement.classList.toggle("refused", best < 0);
    const other = shownAt < iterations && early.label !== null;
    host.children[2].replaceChildren(...(other ? [named(early.label), ` after ${shownAt} of ${iterations} iterations`] : []));
    host.querySelectorAll("button").forEach((button, k) => {
      const p = said.probabilities[k];
      const [data, bar] = [button.children[1], button.children[2]];
      data.value = String(p);
      data.textContent = Number.isNaN(p) ? "–" : `${(100 * p).toFixed(p < 0.1 || p > 0.9 ? 2 : 1)}%`;
      bar.style.setProperty("--share", `${100 * p || 0}%`);
      button.setAttribute("aria-pressed", String(followed === k));
      button.parentElement.className = k === best ? "likely" : "";
    });
    return;
  }
  const words = { response: "", count: "Mean of ", density: "" }[about.kind];
  const value = element("data", { value: String(said) }, Number.isNaN(said) ? "no answer" : text(said, 7));
  const big = element("output", { class: Number.isNaN(said) ? "big refused" : "big", "aria-live": "polite" }, value);
  const lines = [element("p", { class: "of" }, words, named(about.target)), big];
  const line = (words) => lines.push(element("p", { class: "of" }, words));
  if (Number.isNaN(said)) {
    line("A number is too extreme, or an exposure is missing or not positive.");
  } else if (about.interval !== null) {
    line(`± ${text(about.interval, 2)} for ${Math.round(100 * about.level)}% of new rows`);
  } else if (about.kind === "density") {
    line(`density ${text(Math.exp(said))}`);
  }
  if (shownAt < iterations) {
    const then = element("data", { value: String(early) }, text(early));
    lines.push(element("p", { class: "of early" }, then, ` after ${shownAt} of ${iterations} iterations`));
  }
  host.replaceChildren(...lines);
}

// The path of the prediction and of the state.
function showLoop(answers, states, k) {
  const numbers = answers.map((said) => height(said, k));
  const steps = numbers.map((v, i) => [i + 1, v]);
  const x = [isLoop ? 1 : 0, iterations];
  const xTicks = ticks(x, 6).filter(Number.isInteger);
  const base = { x, xTicks, xName: "iteration t" };
  const what = about.kind === "classes" ? `probability of ${shown(classes[k])}` : shown(about.target);
  const last = numbers[iterations - 1];

  const y = about.kind === "classes" ? [0, 1] : around(numbers);
  const path = chart($("path"), { ...base, y, label: `${what} after each iteration: ${text(numbers[0])} at first, ${text(last)} at last` });
  if (about.kind === "classes") {
    classes.forEach((_, c) => c !== k && path.line("other", answers.map((said, i) => [i + 1, said.probabilities[c]])));
  }
  path.line("other", steps);
  path.line("line", steps.slice(0, shownAt));
  if (iterations <= 40) steps.forEach(([t, v]) => path.dot(t <= shownAt ? "small" : "ahead", t, v, 2.2));
  path.dot("dot", shownAt, numbers[shownAt - 1]);

  const flat = states[0].length > 1;
  const seen = flat ? principal(states, axes) : null;
  axes = seen?.axes;
  const points = flat ? seen.coordinates : states.map(([z], t) => [t, z]);
  const of = (i) => points.map((p) => p[i]);
  const plane = chart($("plane"), {
    x: around(of(0)), y: around(of(1)), xName: flat ? "first principal direction" : "iteration t", yName: flat ? "second" : "",
    label: flat ? "The state in the two directions in which it moves most, from the input function to the last iteration" : "The state after each iteration",
  });
  plane.line("other", points);
  plane.line("line", points.slice(0, shownAt + 1));
  if (iterations <= 80) points.forEach(([a, b], t) => plane.dot(t <= shownAt ? "small" : "ahead", a, b, 2.2));
  plane.dot("dot", ...points[shownAt]);
  const [sx, sy] = [plane.px(points[0][0]), plane.py(points[0][1])];
  const side = sx > plane.right - 40 ? { x: sx - 6, "text-anchor": "end" } : { x: sx + 6 };
  plane.add("text", { class: "here", y: sy > plane.bottom - 12 ? sy - 8 : sy + 14, ...side }, "start");

  const channels = states[0].map((_, c) => states.map((z, t) => [t, z[c]]));
  const from = [0, iterations];
  const each = chart($("channels"), {
    x: from, y: around(channels.flat().map((p) => p[1])), xTicks: ticks(from, 6).filter(Number.isInteger), xName: "iteration t",
    label: `The ${channels.length} channels of the state after each iteration`,
  });
  channels.forEach((channel) => {
    each.line("other", channel);
    each.line("line", channel.slice(0, shownAt + 1));
  });
  each.add("line", { class: "now", x1: each.px(shownAt), x2: each.px(shownAt), y1: each.top, y2: each.bottom });

  // As `loopfit predict --every-iteration` has it.
  const moved = states.slice(1).map((z, t) => Math.hypot(...z.map((v, c) => v - states[t][c])) / Math.hypot(...z));
  const most = Math.max(...moved.filter(Number.isFinite), 1e-12);
  const change = chart($("change"), {
    x: [0.5, iterations + 0.5], y: [0, most * 1.05], xTicks, xName: "iteration t",
    label: `Change of the state divided by its size: ${text(moved[0])} in the first iteration, ${text(moved[iterations - 1])} in the last`,
  });
  const width = Math.max(1, Math.min(26, ((change.right - change.left) / iterations) * 0.72));
  moved.forEach((v, i) => {
    if (!Number.isFinite(v)) return;
    const top = change.py(v);
    change.add("rect", { class: i < shownAt ? "bar past" : "bar", x: change.px(i + 1) - width / 2, y: top, width, height: Math.max(change.bottom - top, 0), rx: 1 });
  });
}

// One chart for each input: what the model would say if that one alone were different.
function showEffects(now, k, what) {
  const points = Math.round(Math.min(61, Math.max(13, 2e7 / (about.multiplyAdds * fields.length * 10))));
  const wanted = (t) => t === shownAt || t === iterations;
  const curves = fields.map((field, i) => {
    const span = points - 1;
    const at = field.categories ?? Array.from({ length: points }, (_, p) => field.low + ((field.high - field.low) * p) / span);
    return at.map((value) => {
      const said = journey(row(i, value), wanted).map((said) => height(said, k));
      return { value, now: said[0], last: said[said.length - 1] };
    });
  });
  const y = about.kind === "classes" ? [0, 1] : around([...curves.flat().map((p) => p.last), now.last]);
  fields.forEach((field, i) => {
    const host = $("effects").children[i].lastChild;
    if (field.categories) {
      const n = field.categories.length;
      const picture = chart(host, { x: [-0.5, n - 0.5], y, xTicks: [], height: 150, label: `${what} for each category of ${shown(field.name)}` });
      const room = (picture.right - picture.left) / n;
      curves[i].forEach((p, c) => {
        const here = p.value === field.value;
        picture.add("line", { class: "stem", x1: picture.px(c), x2: picture.px(c), y1: picture.bottom, y2: picture.py(p.now) });
        if (p.now !== p.last) picture.dot("ahead", c, p.last, 3);
        picture.dot(here ? "dot" : "small", c, p.now, here ? 5 : 3);
        const letters = Math.floor(room / 6.5);
        const name = shown(p.value);
        const label = name.length > letters ? `${name.slice(0, Math.max(1, letters - 1))}…` : name;
        if (room > 14) picture.add("text", { class: here ? "here" : "", x: picture.px(c), y: picture.bottom + 16, "text-anchor": "middle" }, label);
      });
      clicked(picture, (x) => field.set(field.categories[Math.min(n - 1, Math.max(0, Math.floor(x * n)))]));
      return;
    }
    const x = [field.low, field.high];
    const ends = [curves[i][0], curves[i][points - 1]].map((p) => text(p.last));
    const label = `${what} as ${shown(field.name)} goes from ${text(field.low)} to ${text(field.high)}: from ${ends[0]} to ${ends[1]}`;
    const picture = chart(host, { x, y, height: 150, label });
    picture.line("other", curves[i].map((p) => [p.value, p.last]));
    picture.line("line", curves[i].map((p) => [p.value, p.now]));
    const value = field.value ?? field.start;
    if (value >= field.low && value <= field.high) {
      picture.add("line", { class: "now", x1: picture.px(value), x2: picture.px(value), y1: picture.top, y2: picture.bottom });
      picture.dot("dot", value, now.shown);
    }
    clicked(picture, (x) => field.set(round(field.low + (field.high - field.low) * Math.min(1, Math.max(0, x)), field.low, field.high)));
  });
}

// Calls with the place of a click along the axes, from 0 to 1.
function clicked(picture, then) {
  picture.picture.addEventListener("click", (event) => {
    const box = picture.picture.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * picture.width;
    const y = ((event.clientY - box.top) / box.height) * picture.total;
    then((x - picture.left) / (picture.right - picture.left), (picture.bottom - y) / (picture.bottom - picture.top));
  });
}

function draw() {
  const states = [];
  const answers = journey(row(), () => true, states);
  const said = answers[iterations - 1];
  showPrediction(said, answers[shownAt - 1]);
  const best = said.label === null ? 0 : about.kind === "classes" ? classes.indexOf(said.label) : 0;
  const k = followed ?? best;
  if (isLoop) showLoop(answers, states, k);
  const name = about.kind === "classes" ? `Probability of ${shown(classes[k])}` : shown(about.target);
  showEffects({ shown: height(answers[shownAt - 1], k), last: height(said, k) }, k, name);
  showMap(k, name);
  const after = shownAt < iterations ? ` after ${shownAt} of ${iterations} iterations, in grey after all` : "";
  const what = about.kind === "classes" ? ["The probability of ", named(classes[k])] : [named(about.target)];
  $("effects-note").replaceChildren(...what, ` if one input alone were different${after}.`, element("span", { class: "click" }, " Click a chart to go there."));
  $("iteration").value = shownAt;
  $("iteration-text").textContent = `${shownAt} of ${iterations}`;
  document.querySelectorAll(".passes i").forEach((pass, t) => pass.classList.toggle("done", t < shownAt));
}

function printed(on) {
  onPaper = on;
  draw();
}

let waiting = false;
function schedule() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

// The parts of the model and the way through them.
function showMachine() {
  const numbers = (n) => (about.numbers === null ? "" : `${n} ${n === 1 ? "number" : "numbers"}`);
  const part = (title, lines, name) => {
    const small = lines.filter((line) => line).map((line) => element("small", {}, line));
    return element("div", { class: name ?? "" }, element("b", {}, title), ...small);
  };
  const arrow = () => element("span", { "aria-hidden": "true" }, "→");
  const { input, update, output } = about.numbers ?? {};
  const parts = [part("Read the inputs into a state", [numbers(input)]), arrow()];
  if (typeof STEP !== "undefined") {
    const once = { Loop: `${numbers(update)}, the same each time`, Untied: "each time numbers of its own", Single: numbers(update) };
    const box = part(isLoop ? "Update the state" : "Update the state once", [once[about.method].replace(/^, /, "")], "update");
    if (isLoop) {
      const passes = Array.from({ length: Math.min(iterations, 64) }, () => element("i"));
      const times = element("span", { class: "times", "aria-label": `${iterations} times` }, `${about.method === "Loop" ? "↻ " : ""}×${iterations}`);
      box.append(times, element("div", { class: "passes", "aria-hidden": "true" }, ...(iterations <= 64 ? passes : [])));
    }
    parts.push(box, arrow());
  }
  parts.push(part("Read the prediction out of it", [numbers(output)]));
  $("machine").replaceChildren(...parts);
}

function showLoopControls() {
  $("loop").hidden = false;
  const shared = { Loop: "Each iteration applies the same update to the state", Untied: "Each iteration applies an update of its own to the state" };
  $("loop-note").textContent = `${shared[about.method]}. Read out early, the model would say this; move the iteration, or play, and the charts below follow.`;
  const slider = $("iteration");
  slider.max = iterations;
  slider.addEventListener("input", () => {
    stop();
    shownAt = Number(slider.value);
    schedule();
  });
  const play = $("play");
  let timer = null;
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    shownAt = shownAt === iterations ? 1 : shownAt;
    play.textContent = "Pause";
    schedule();
    timer = setInterval(() => {
      shownAt += 1;
      if (shownAt >= iterations) stop();
      shownAt = Math.min(shownAt, iterations);
      schedule();
    }, Math.min(450, Math.max(60, 5000 / iterations)));
  });
}

showMachine();
if (isLoop) showLoopControls();
$("effects").replaceChildren(
  ...fields.map((field) => element("figure", { class: "effect" }, element("figcaption", {}, named(field.name)), element("div"))),
);
$("effects").classList.toggle("few", fields.length <= 2);
controls($("inputs"), schedule);
mapControls();
$("typical").addEventListener("click", () => (choose(typical), schedule()));
$("random").addEventListener("click", () => (choose(random), schedule()));
// Paper has another width than the screen, which nobody measures.
addEventListener("beforeprint", () => printed(true));
addEventListener("afterprint", () => printed(false));
let width = 0;
new ResizeObserver(() => {
  if (document.body.clientWidth === width) return;
  width = document.body.clientWidth;
  schedule();
}).observe(document.body);
draw();

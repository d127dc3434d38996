// At the end of a page: sets its inputs to rows as a person would, and tells what it shows.
const find = (selector) => document.querySelector(selector);
const frame = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

function set(input, value, kind) {
  input.value = value;
  input.dispatchEvent(new Event(kind));
}

// The number of a text as people read it.
function number(text) {
  const plain = text.replaceAll("−", "-").replace("∞", "Infinity");
  return plain.endsWith("%") ? Number(plain.slice(0, -1)) / 100 : plain === "no answer" || plain === "–" ? NaN : Number(plain);
}

async function shown({ cells, t, label }) {
  const inputs = document.querySelectorAll("#inputs .input");
  cells.forEach((cell, k) => {
    const select = inputs[k].querySelector("select");
    if (select) set(select, cell ?? -1, "change");
    else set(inputs[k].querySelector("[type=number]"), cell ?? "", "input");
  });
  if (find("#iteration").max !== "1" && !find("#loop").hidden) set(find("#iteration"), t || find("#iteration").max, "input");
  await frame();
  const early = t > 0 && String(t) !== find("#iteration").max && !find("#loop").hidden;
  const told = early ? find("#prediction .early") : find("#prediction output");
  if (label !== undefined) {
    const name = told.querySelector("bdi")?.textContent ?? null;
    if (name !== label) problems.push(`the class ${name} is shown, not ${label}`);
    if (early) return [];
  }
  const values = label === undefined ? [told.querySelector("data")] : [...document.querySelectorAll("#prediction data")];
  for (const data of values) {
    const [exact, read] = [Number(data.value), number(data.textContent)];
    const most = label === undefined ? (early ? 1e-3 : 1e-6) * Math.abs(exact) : 1e-3;
    if (!(Math.abs(exact - read) <= most || Object.is(exact, read))) problems.push(`${data.textContent} stands for ${data.value}`);
  }
  return values.map((data) => data.value);
}

addEventListener("load", async () => {
  const lines = [];
  try {
    await frame();
    for (const row of rows) lines.push((await shown(row)).join(" "));
    for (const selector of ["#random", "#typical", "#play", "#play"]) find(selector).click();
    document.querySelectorAll(".bars button, #effects svg, #map svg").forEach((part) => {
      part.dispatchEvent(new MouseEvent("click", { clientX: 90, clientY: 90 }));
    });
    await frame();
    if (document.title.trim() === "" || document.querySelectorAll("dl div").length < 4) problems.push("the page says little");
    document.querySelectorAll("input, select, svg").forEach((part) => {
      const name = part.getAttribute("aria-label") || part.getAttribute("aria-labelledby") || document.querySelector(`label[for="${part.id}"]`);
      if (!name && part.checkVisibility()) problems.push(`${part.outerHTML.slice(0, 60)} has no name`);
    });
  } catch (error) {
    problems.push(String(error));
  }
  parent.postMessage({ lines, problems }, "*");
});

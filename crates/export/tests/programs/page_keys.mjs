// Drives a page by its keyboard alone, prints it, and looks at its colours, through the pipe for tools of Chromium.
// node page_keys.mjs BROWSER PROFILE PAGE: prints what it found as JSON.
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

const [browser, profile, page] = process.argv.slice(2);
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"];
const child = spawn(browser, [...flags, `--user-data-dir=${profile}`, "about:blank"], {
  stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
});
const [to, from] = [child.stdio[3], child.stdio[4]];
const waiting = new Map();
const heard = [];
let rest = "";
from.on("data", (data) => {
  const parts = (rest + data).split("\0");
  rest = parts.pop();
  for (const message of parts.map((part) => JSON.parse(part))) {
    if (message.id) waiting.get(message.id)(message);
    else heard.push(message);
  }
});
let count = 0;
let session;
function send(method, params = {}) {
  const id = ++count;
  to.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  return new Promise((resolve, reject) => {
    waiting.set(id, (message) => (message.error ? reject(new Error(`${method}: ${message.error.message}`)) : resolve(message.result)));
  });
}
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function evaluate(expression) {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
  return result.value;
}
// What is drawn after the next frame.
const frame = () => evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
const KEYS = { Tab: 9, Space: 32, End: 35, Home: 36, ArrowRight: 39, ArrowDown: 40 };
async function press(key) {
  const common = { key: key === "Space" ? " " : key, code: key, windowsVirtualKeyCode: KEYS[key] };
  await send("Input.dispatchKeyEvent", { type: key === "Space" ? "keyDown" : "rawKeyDown", ...common, text: key === "Space" ? " " : undefined });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
}

const { targetId } = await send("Target.createTarget", { url: "about:blank" });
session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
await send("Page.enable");
await send("Runtime.enable");
await send("Log.enable");
await send("Page.navigate", { url: pathToFileURL(page).href });
for (let tries = 0; tries < 600 && !(await evaluate("document.querySelector('#prediction output') !== null")); tries++) await pause(50);

// Names of what can be operated, each once, in the order of the page.
await evaluate(`globalThis.all = [...document.querySelectorAll("button, input, select")].filter((e) => e.checkVisibility());
  all.forEach((e, i) => (e.dataset.place = i))`);
const operated = await evaluate("all.length");
const reached = [];
const marked = [];
for (let step = 0; step < operated; step++) {
  await press("Tab");
  const place = await evaluate("Number(document.activeElement.dataset.place ?? -1)");
  reached.push(place);
  marked.push(await evaluate("getComputedStyle(document.activeElement).outlineStyle !== 'none'"));
}

const prediction = () => evaluate("document.querySelector('#prediction output').parentElement.parentElement.textContent");
const focus = (selector) => evaluate(`document.querySelector(${JSON.stringify(selector)}).focus()`);
async function by(selector, key, what) {
  await focus(selector);
  const before = await evaluate(what);
  await press(key);
  await frame();
  return [before, await evaluate(what)];
}
const found = { operated, reached, marked: marked.every(Boolean), before: await prediction() };
const number = "Number(document.querySelector('#inputs input[type=number]').value)";
found.slider = await by("#inputs input[type=range]", "End", number);
found.step = await by("#inputs input[type=range]", "Home", number);
found.after = await prediction();
found.select = await by("#inputs select", "ArrowDown", "document.querySelector('#inputs select').selectedIndex");
found.typical = await by("#typical", "Space", number);
found.iteration = await by("#iteration", "Home", "document.querySelector('#iteration-text').textContent");
found.early = await evaluate("document.querySelector('#prediction .early').textContent");
found.play = await by("#play", "Space", "document.querySelector('#play').textContent");
for (let tries = 0; tries < 600 && (await evaluate("document.querySelector('#play').textContent")) !== "Play"; tries++) await pause(50);
found.played = await evaluate("document.querySelector('#iteration-text').textContent");

// Colours by the formula of WCAG 2, in both schemes and on paper.
const contrasts = `(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const against = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const texts = ["h1", ".eyebrow", ".lede", ".facts dt", ".facts dd", "footer", "label", "#prediction"];
  return Object.fromEntries(texts.map((s) => [s, against(light(getComputedStyle(document.querySelector(s)).color), paper)]));
})()`;
const scheme = (media, value) => send("Emulation.setEmulatedMedia", { media, features: [{ name: "prefers-color-scheme", value }] });
const paper = "getComputedStyle(document.body).backgroundColor";
found.schemes = {};
for (const [name, media, value] of [["light", "", "light"], ["dark", "", "dark"], ["print", "print", "dark"]]) {
  await scheme(media, value);
  found.schemes[name] = { paper: await evaluate(paper), contrasts: await evaluate(contrasts) };
}
const controls = "[...document.querySelectorAll('input[type=range], #play, #typical, .click')]";
found.printed = { controls: await evaluate(`${controls}.filter((e) => e.checkVisibility()).length`) };
found.printed.wide = await evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
await scheme("", "light");
const { data } = await send("Page.printToPDF", { preferCSSPageSize: false });
const pdf = Buffer.from(data, "base64").toString("latin1");
found.printed.pages = pdf.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
// Afterwards charts are those of the screen again.
await frame();
found.width = await evaluate("Math.abs(document.querySelector('#path svg').viewBox.baseVal.width - document.querySelector('#path').clientWidth)");
const told = heard.filter((m) => m.method === "Runtime.exceptionThrown" || m.method === "Log.entryAdded" || m.method === "Runtime.consoleAPICalled");
found.problems = told.map((m) => JSON.stringify(m.params));
console.log(JSON.stringify(found));
child.kill();

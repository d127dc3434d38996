// Before all else on a page: whatever goes wrong there is kept, and whatever a name of a table could do is noticed.
window.problems = [];
addEventListener("error", (event) => problems.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => problems.push(`rejected: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => problems.push(`asked for ${event.blockedURI}`));
for (const name of ["error", "warn"]) console[name] = (...told) => problems.push(`console: ${told.join(" ")}`);
window.alert = () => problems.push("a name of the table was run");
// A browser without a screen draws no frames.
window.requestAnimationFrame = (draw) => setTimeout(draw, 1);

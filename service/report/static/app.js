"use strict";
// Theme, live progress, upload and forms. Everything goes through the public API.

const root = document.documentElement;
try { root.dataset.theme = localStorage.getItem("theme") || ""; } catch { /* storage may be forbidden */ }

document.addEventListener("DOMContentLoaded", () => {
  themeButton();
  for (const live of document.querySelectorAll(".live")) follow(live);
  for (const button of document.querySelectorAll("[data-cancel]")) cancelButton(button);
  if (document.querySelector("#drop")) home();
});

function themeButton() {
  const button = document.querySelector("#theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* kept for this page only */ }
    name();
  });
  name();
}

const finished = (job) => ["succeeded", "failed", "cancelled"].includes(job.status);

// A finished job has another page: load it again.
function follow(live) {
  if (finished(live.dataset)) return;
  const events = new EventSource(`/jobs/${live.dataset.job}/events`);
  events.addEventListener("job", (event) => {
    const job = JSON.parse(event.data);
    show(live, job);
    if (finished(job)) { events.close(); location.reload(); return; }
    soFar(live.dataset.job, job.progress.done);
  });
}

function show(live, job) {
  live.querySelector("progress").value = job.progress.fraction;
  live.querySelector("[data-field=status]").textContent = job.status;
  live.querySelector("[data-field=percent]").textContent = `${Math.round(100 * job.progress.fraction)} %`;
  live.querySelector("[data-field=left]").textContent = left(job);
}

function left(job) {
  if (job.status === "queued") return job.place ? `, number ${job.place} in line` : "";
  if (job.seconds_left === null) return "";
  const seconds = Math.ceil(job.seconds_left);
  return seconds < 90 ? `, about ${seconds} s left` : `, about ${Math.round(seconds / 60)} min left`;
}

// The table of a running job, made anew when another part of it is done.
async function soFar(id, done) {
  const place = document.querySelector("#partial");
  if (!place || !done || place.dataset.done === String(done)) return;
  place.dataset.done = done;
  const [partial] = await call(`/jobs/${id}/partial`);
  if (!partial || !partial.methods.length) return;
  const truth = partial.methods[0].sizes.some((cell) => cell.new_items) ? "new_items" : "same_items";
  const sizes = [...new Set(partial.methods.flatMap((method) => method.sizes.map((cell) => cell.size)))];
  place.querySelector("[data-field=trials]").textContent =
    `${partial.trials_done} of ${partial.trials} trials: MDAD in points on ${truth.replace("_", " ")}, by size; `
    + "intervals and the advice come with the result.";
  place.querySelector("thead").replaceChildren(row("th", "Method", sizes.sort((a, b) => a - b)));
  place.querySelector("tbody").replaceChildren(...partial.methods.map((method) => {
    const of = new Map(method.sizes.map((cell) => [cell.size, cell[truth]]));
    const known = sizes.map((size) => of.get(size));
    return row("td", method.label, known.map((cell) => cell?.mdad == null ? "–" : (100 * cell.mdad).toFixed(1)));
  }));
  place.hidden = false;
}

function row(kind, name, values) {
  const cells = [name, ...values].map((value, at) => {
    const cell = document.createElement(at ? kind : "th");
    if (at) cell.className = "num"; else cell.scope = kind === "th" ? "col" : "row";
    cell.textContent = value;
    return cell;
  });
  const made = document.createElement("tr");
  made.append(...cells);
  return made;
}

function cancelButton(button) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    await fetch(`/jobs/${button.dataset.cancel}/cancel`, { method: "POST" });
  });
}

// ---- home page

function home() {
  uploads();
  jobForm("#mdad", "/mdad", (data) => ({
    methods: data.getAll("methods"),
    target_mdad: Number(data.get("target")) / 100,
    truth: data.get("truth") || undefined,
    trials: Number(data.get("trials")),
    missing: data.get("missing"),
    seed: Number(data.get("seed")),
  }));
  jobForm("#select", "/select", (data) => ({
    method: data.get("method"),
    size: Number(data.get("size")),
    missing: data.get("missing"),
    seed: Number(data.get("seed")),
  }));
  comparison(document.querySelector("#compare"));
  refreshJobs();
}

function uploads() {
  const drop = document.querySelector("#drop");
  const picker = document.querySelector("#file");
  for (const type of ["dragenter", "dragover"]) {
    drop.addEventListener(type, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  for (const type of ["dragleave", "drop"]) drop.addEventListener(type, () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); upload(event.dataTransfer.files[0]); });
  picker.addEventListener("change", () => upload(picker.files[0]));
}

async function upload(file) {
  if (!file) return;
  const answer = document.querySelector("#uploaded");
  say(answer, "answer", [`Reading ${file.name} …`]);
  const form = new FormData();
  form.append("name", file.name.replace(/\.[^.]*$/, "").slice(0, 200));
  form.append("file", file);
  const [matrix, problem] = await call("/matrices", { method: "POST", body: form });
  if (problem) return refuse(answer, problem);
  say(answer, "answer pass", [
    `Read ${file.name} as ${matrix.format}: ${matrix.models} models × ${matrix.examples} examples.`,
    ...matrix.warnings,
  ]);
  const link = document.createElement("a");
  link.href = `/matrices/${matrix.id}/page`;
  link.textContent = "Look at it";
  answer.append(link);
  for (const choice of document.querySelectorAll("select[name=matrix_id]")) {
    choice.prepend(new Option(matrix.name, matrix.id, true, true));
    choice.dispatchEvent(new Event("change"));
  }
}

function jobForm(selector, path, body) {
  const form = document.querySelector(selector);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const data = new FormData(form);
    const ask = { matrix_id: data.get("matrix_id"), ...body(data) };
    const [job, problem] = await post(form, path, ask);
    if (problem) return refuse(form.querySelector("output"), problem);
    location.href = `/jobs/${job.id}/report`;
  });
}

function comparison(form) {
  const models = () => fillModels(form);
  form.elements.matrix_id.addEventListener("change", models);
  if (form.elements.matrix_id.value) models();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const data = new FormData(form);
    const ask = { matrix_id: data.get("matrix_id"), baseline: data.get("baseline"), candidate: data.get("candidate") };
    if (data.get("margin")) ask.margin = Number(data.get("margin")) / 100;
    const [answer, problem] = await post(form, "/compare", ask);
    const output = form.querySelector("output");
    if (problem) return refuse(output, problem);
    tell(output, answer.comparisons[0]);
  });
}

async function fillModels(form) {
  const list = form.querySelector("datalist");
  list.replaceChildren();
  let cursor = "";
  do {
    const [page, problem] = await call(`/matrices/${form.elements.matrix_id.value}/models?limit=1000${cursor}`);
    if (problem) return;
    list.append(...page.items.map((item) => new Option(item.model)));
    cursor = page.next_cursor && `&cursor=${encodeURIComponent(page.next_cursor)}`;
  } while (cursor);
}

async function refreshJobs() {
  const rows = [...document.querySelectorAll("tr[data-job]")].filter((row) => !finished(row.dataset));
  if (!rows.length) return;
  for (const row of rows) {
    const [job] = await call(`/jobs/${row.dataset.job}`);
    if (!job) continue;
    row.dataset.status = job.status;
    const status = row.querySelector(".status");
    status.className = `status ${job.status}`;
    status.textContent = job.status;
    const bar = row.querySelector("progress");
    if (bar) { bar.value = job.progress.fraction; bar.hidden = finished(job); }
  }
  setTimeout(refreshJobs, 1000);
}

// ---- the API

async function call(path, options) {
  try {
    const response = await fetch(path, options);
    const body = await response.json();
    return response.ok ? [body, null] : [null, body];
  } catch (error) {
    return [null, { title: "The service does not answer", detail: String(error), errors: [] }];
  }
}

async function post(form, path, ask) {
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  const headers = { "content-type": "application/json" };
  const answer = await call(path, { method: "POST", headers, body: JSON.stringify(ask) });
  button.disabled = false;
  return answer;
}

function say(place, kind, lines) {
  place.hidden = false;
  place.className = kind;
  place.replaceChildren(...lines.map((line) => {
    const paragraph = document.createElement("p");
    paragraph.textContent = line;
    return paragraph;
  }));
}

function refuse(place, problem) {
  const errors = (problem.errors || []).slice(0, 5).map((error) => `${error.pointer} ${error.message}`.trim());
  say(place, "problem", [problem.title, problem.detail, ...errors.filter((line) => !problem.detail.includes(line))]);
}

function tell(place, verdict) {
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  say(place, `answer ${verdict.verdict}`, [
    `${verdict.verdict[0].toUpperCase()}${verdict.verdict.slice(1)}. ${verdict.reason}`,
    `Baseline ${percent(verdict.baseline_score)}, candidate ${percent(verdict.candidate_score)}, on ${verdict.n_common} examples; ` +
      `${verdict.b} only the baseline gets right, ${verdict.c} only the candidate.`,
    ...verdict.warnings,
  ]);
}

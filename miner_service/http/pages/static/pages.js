"use strict";

// A job that runs is followed: its progress, the time left, and the lines of its log as they come.
function follow(job) {
  const at = (id) => document.getElementById(id);
  const source = new EventSource(job.dataset.follow);
  let first = true;
  source.addEventListener("job", (event) => {
    const told = JSON.parse(event.data);
    if (!["queued", "running"].includes(told.state)) {
      source.close();
      location.reload();
      return;
    }
    at("state").textContent = told.state;
    at("state").className = `state ${told.state}`;
    at("progress").value = told.progress;
    at("percent").textContent = Math.round(100 * told.progress);
    at("left").textContent =
      told.seconds_left === null ? "" : `; about ${Math.round(told.seconds_left)} s left`;
    const log = at("log");
    if (!log) return;
    if (first) log.replaceChildren();
    first = false;
    for (const line of told.log) {
      const item = document.createElement("li");
      const words = document.createElement("code");
      words.textContent = line.line;
      item.append(`${line.at.slice(0, 16).replace("T", " ")} UTC `, words);
      log.append(item);
    }
    at("no-log").hidden = log.children.length > 0;
  });
  source.addEventListener("error", () => {
    // Closed for good where the session has ended: the page then leads to the way in.
    if (source.readyState === EventSource.CLOSED) location.reload();
  });
}

// A model's own page is as high as what is in it, so that there is one scroll bar.
// It grows and shrinks where a part of it is unfolded, or the window becomes narrower.
function fit(frame) {
  const measure = () => {
    const root = frame.contentDocument && frame.contentDocument.documentElement;
    if (root) frame.style.height = `${Math.min(Math.ceil(root.offsetHeight) + 8, 6000)}px`;
  };
  const begin = () => {
    measure();
    if (frame.contentDocument) new ResizeObserver(measure).observe(frame.contentDocument.body);
  };
  frame.addEventListener("load", begin);
  if (frame.contentDocument && frame.contentDocument.readyState === "complete") begin();
}

const running = document.querySelector("[data-follow]");
if (running) follow(running);
document.querySelectorAll("iframe.model").forEach(fit);

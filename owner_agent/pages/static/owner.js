"use strict";

// Shows the progress of a running publication: its stage, and the parts that have arrived.
async function follow(publication) {
  const at = (id) => document.getElementById(id);
  const pause = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));
  for (;;) {
    await pause(1000);
    let progress;
    try {
      const answer = await fetch(publication.dataset.follow, { credentials: "same-origin" });
      if (!answer.ok) {
        location.reload();
        return;
      }
      progress = await answer.json();
    } catch {
      // The command was stopped. Publishing again after a restart continues the publication.
      at("doing").textContent = "The agent does not answer. Start it again, then publish again.";
      return;
    }
    if (progress.state !== "running") {
      location.reload();
      return;
    }
    at("doing").textContent = progress.doing;
    if (progress.total !== null) {
      at("progress").max = progress.total;
      at("progress").value = progress.done;
    }
  }
}

const running = document.querySelector("[data-follow]");
if (running) follow(running);

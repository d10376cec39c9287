"use strict";

// A publication that runs is followed: what is being done, and how many parts have arrived.
async function follow(publication) {
  const at = (id) => document.getElementById(id);
  const pause = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));
  for (;;) {
    await pause(1000);
    let told;
    try {
      const answer = await fetch(publication.dataset.follow, { credentials: "same-origin" });
      if (!answer.ok) {
        location.reload();
        return;
      }
      told = await answer.json();
    } catch {
      // The command was stopped: what it was doing goes on when it is started and asked again.
      at("doing").textContent = "The agent does not answer. Start it again, and publish again.";
      return;
    }
    if (told.state !== "running") {
      location.reload();
      return;
    }
    at("doing").textContent = told.doing;
    if (told.total !== null) {
      at("progress").max = told.total;
      at("progress").value = told.done;
    }
  }
}

const running = document.querySelector("[data-follow]");
if (running) follow(running);

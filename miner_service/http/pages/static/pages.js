"use strict";

// The page of a job that runs is read again every second: its state, progress and log.
async function follow() {
  const answer = await fetch(location.href);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const job = page.getElementById("job");
  if (answer.redirected || !job || !("follow" in job.dataset)) {
    location.reload(); // It has ended, or so has the session.
    return;
  }
  for (const id of ["job", "log"]) {
    const part = document.getElementById(id);
    if (part) part.replaceChildren(...page.getElementById(id).childNodes);
  }
}

function followAgain() {
  setTimeout(() => follow().catch(() => {}).then(followAgain), 1000);
}

if (document.querySelector("[data-follow]")) followAgain();

// The file of an invitation or a token is downloaded at once; its button stays.
document.querySelectorAll("a[data-once]").forEach((file) => file.click());

// An access file signs in as its text does, pasted into the field.
const byFile = document.getElementById("by-file");
if (byFile) {
  byFile.hidden = false;
  const chosen = document.getElementById("file");
  chosen.addEventListener("change", async () => {
    const field = document.getElementById(chosen.dataset.into);
    field.value = await chosen.files[0].text();
    field.form.requestSubmit();
  });
}

"use strict";

// Every second, the page of a running job is read again for its state, progress and log.
async function follow() {
  const answer = await fetch(location.href);
  if (answer.status === 429 || answer.status >= 500) return; // The service is busy or restarts.
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const job = page.getElementById("job");
  if (answer.redirected || !job || !("follow" in job.dataset)) {
    location.reload(); // The job or the session has ended.
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

// The file of an invitation or a token is downloaded immediately; its button stays.
document.querySelectorAll("a[data-once]").forEach((file) => file.click());

// Choosing an access file signs in like pasting its text into the field.
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
